"""Parameter studies: many simulations over a design of parameters, in threads or on a cluster, resumable."""

from kreisel.sweeps.design import Design
from kreisel.sweeps.run import sweep

__all__ = ["Design", "sweep"]
