"""Solutions as labelled arrays and as self-describing files."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import PivotNode, PointNode, RigidNode
from kreisel.mechanics.quaternions import QuaternionNode

if TYPE_CHECKING:
    import xarray

    from kreisel.simulation.solution import Solution


def to_xarray(solution: Solution) -> xarray.Dataset:
    """All of a solution: coordinates, velocities, multipliers, poses of the bodies, monitors; with units, conventions and options as
    attributes."""
    import xarray

    s = solution
    time = ("time",)
    data: dict[str, Any] = {
        "q": (("time", "coordinate"), s.q, {"long_name": "coordinates of all nodes in their own groups"}),
        "v": (("time", "velocity"), s.v, {"long_name": "left-trivialised velocities"}),
        "energy": (time, s.energy, {"units": "J"}),
        "constraint_violation": (time, s.constraint_violation),
    }
    if s.lam.shape[1]:
        data["lam"] = (("time", "multiplier"), s.lam, {"long_name": "multipliers of holonomic constraints"})
    if s.mu.shape[1]:
        data["mu"] = (("time", "nonholonomic_multiplier"), s.mu, {"long_name": "multipliers of nonholonomic constraints"})
    for node in s.system.bodies:
        if isinstance(node, (RigidNode, PivotNode, NaturalNode, QuaternionNode, PointNode)):
            data[f"position_{node.name}"] = (("time", "axis"), s.position(node.name), {"units": "m", "long_name": "in space axes"})
        if isinstance(node, (RigidNode, PivotNode, NaturalNode, QuaternionNode)):
            data[f"rotation_{node.name}"] = (
                ("time", "space_axis", "body_axis"),
                s.rotation(node.name),
                {"long_name": "rotation matrix, body to space"},
            )
    attributes = {
        "title": "a motion computed with Kreisel",
        "kreisel_version": version("kreisel"),
        "method": repr(s.method),
        "status": s.status.name,
        "message": s.message,
        "nodes": ", ".join(f"{n.name}: {n.group!r}" for n in s.system.nodes),
        "steps": s.stats.steps,
        "newton_iterations": s.stats.newton_iterations,
    }
    return xarray.Dataset(data, coords={"time": (time, s.t, {"units": "s"})}, attrs=attributes)


def save(solution: Solution, path: str | Path) -> None:
    """Writes NetCDF."""
    to_xarray(solution).to_netcdf(path, engine="h5netcdf")


def load(path: str | Path) -> xarray.Dataset:
    """What :meth:`Solution.save` wrote, as an xarray Dataset.

    >>> import tempfile, pathlib, kreisel as kr
    >>> sol = kr.simulate(kr.models.heavy_top("SE3"), until=0.01, step=0.001)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "top.nc"
    >>> sol.save(file)
    >>> bool((kr.load(file)["position_top"].values == sol.position("top")).all())
    True
    """
    import xarray

    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}")
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        return data.load()
