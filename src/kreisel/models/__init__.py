"""Ready-made systems, with the parameters of their sources."""

from kreisel.models.beams import bend, flexible_arm, flying_spaghetti, roll_up
from kreisel.models.benchmark import bricard, governor, n_four_bar, squeezer
from kreisel.models.disk import rolling_disk
from kreisel.models.hamiltonians import mathematical_pendulum, particle
from kreisel.models.machines import cart_pole, overhead_crane, three_link
from kreisel.models.mechanisms import brick_pendulum, chain, double_pendulum, four_bar, pendulum, slider_crank
from kreisel.models.mueller import natural_body, natural_brick, point_four_bar
from kreisel.models.oscillator import oscillator
from kreisel.models.rotations import intermediate_axis, steered_body, symmetric_top
from kreisel.models.satellite import satellite
from kreisel.models.shells import flying_plate, strip
from kreisel.models.tops import extended_top, gyro_top, heavy_top

__all__ = [
    "bend",
    "bricard",
    "brick_pendulum",
    "cart_pole",
    "chain",
    "double_pendulum",
    "extended_top",
    "flexible_arm",
    "flying_plate",
    "flying_spaghetti",
    "four_bar",
    "governor",
    "gyro_top",
    "heavy_top",
    "intermediate_axis",
    "mathematical_pendulum",
    "n_four_bar",
    "natural_body",
    "natural_brick",
    "oscillator",
    "overhead_crane",
    "particle",
    "pendulum",
    "point_four_bar",
    "roll_up",
    "rolling_disk",
    "satellite",
    "slider_crank",
    "squeezer",
    "steered_body",
    "strip",
    "symmetric_top",
    "three_link",
]
