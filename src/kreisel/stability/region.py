"""Numerical stability regions: which runs of a sweep count as stable, and where that ends.

A sweep over parameters and steps (:func:`kreisel.sweep`) gives status and energies of all runs; these functions judge them. Both criteria
are for motions that lose energy, or keep it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray


def bounded(data: xarray.Dataset, limit: float = 500.0) -> xarray.DataArray:
    """Klemps's criterion (5.2.3): Newton's method found its way to the end, and the energy there is at most ``limit`` in modulus.

    It passes wrong motions that happen to end with little energy.
    """
    stable: xarray.DataArray = (data["status"] == "REACHED_END") & (abs(data["energy_end"]) <= limit)
    return stable


def confined(data: xarray.Dataset, least: Any, slack: float = 0.05) -> xarray.DataArray:
    """A stricter one: the run reached the end, and its energy was never above that of the start, as a Lyapunov function demands.

    ``least``: the energy of the equilibrium; ``slack``: which part of the distance from it the energy may be above the start, since
    schemes keep energies only in the mean. A motion that has left the basin of its equilibrium needs more energy than it had, even if it
    loses it later.
    """
    above = data["energy_max"] - data["energy_start"]
    stable: xarray.DataArray = (data["status"] == "REACHED_END") & (above <= slack * (data["energy_start"] - least))
    return stable


def first_unstable(stable: xarray.DataArray, along: str = "step") -> xarray.DataArray:
    """The smallest value along a dimension that is not stable, nan if all are: scan upwards, stop at the first hit.

    >>> import xarray
    >>> stable = xarray.DataArray([True, True, False, True], coords={"step": [0.01, 0.02, 0.03, 0.04]}, dims="step")
    >>> float(first_unstable(stable))
    0.03
    """
    values = stable[along]
    if np.any(np.diff(values) <= 0):
        raise ValueError(f"the values of '{along}' must increase")
    return values.where(~stable).min(along)
