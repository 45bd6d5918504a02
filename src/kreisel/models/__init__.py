"""Ready-made systems, with the parameters of their sources."""

from kreisel.models.disk import rolling_disk
from kreisel.models.oscillator import oscillator
from kreisel.models.tops import extended_top, heavy_top

__all__ = ["extended_top", "heavy_top", "oscillator", "rolling_disk"]
