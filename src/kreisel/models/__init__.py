"""Ready-made systems, with the parameters of their sources."""

from kreisel.models.beams import bend, flying_spaghetti, roll_up
from kreisel.models.disk import rolling_disk
from kreisel.models.mueller import natural_body, natural_brick, point_four_bar
from kreisel.models.oscillator import oscillator
from kreisel.models.rotations import intermediate_axis, symmetric_top
from kreisel.models.shells import flying_plate, strip
from kreisel.models.tops import extended_top, heavy_top

__all__ = [
    "bend",
    "extended_top",
    "flying_plate",
    "flying_spaghetti",
    "heavy_top",
    "intermediate_axis",
    "natural_body",
    "natural_brick",
    "oscillator",
    "point_four_bar",
    "roll_up",
    "rolling_disk",
    "strip",
    "symmetric_top",
]
