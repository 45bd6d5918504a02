"""The overhead crane of Siebert's thesis, moved with the least effort."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.methods import BEM, GC, Method
from kreisel.names import parameters_of
from kreisel.studies.base import Result, study
from kreisel.studies.direct_control import compare, costs
from kreisel.studies.words import MODELS, further, method_of, model_of

if TYPE_CHECKING:
    from kreisel.control import OptimalControl
    from kreisel.control import Result as Optimum
    from kreisel.control.guess import Course
    from kreisel.simulation import Solution

#: Of an independent computation; the thesis has figures only.
_REDUNDANT = costs((10, 20, 40, 80, 160), "84256.5809 83965.9295 83387.2705 83281.2083 83256.6769")
REFERENCE = {
    "BEM": _REDUNDANT,
    "REM": _REDUNDANT,
    "GC": costs((40, 80, 160), "83355.8863 83271.1676 83253.8996"),
    "limit": "83248.672",
}
#: The same with three of four velocities at the end.
REFERENCE_THREE = {"REM": {40: "83265.03"}}


@study("siebert/crane", source="Siebert, section 7.2", further=[name for name in further("overhead_crane") if name != "formulation"])
def crane(
    *,
    steps: tuple[int, ...] = (40, 80),
    method: tuple[str, ...] = ("BEM", "REM", "GC"),
    solver: str = "ipopt",
    horizon: float = 3.0,
    end_trolley: float = 5.0,
    end_length: float = 1.0,
    end_angle: float = 0.0,
    end_rates: tuple[float, ...] = (0.0, 0.0, 0.0),
    full_velocity: bool = True,
    shortest: float = 0.2,
    guess: str = "optimum",
    **parameters: Any,
) -> Result:
    """A crane with less inputs than freedoms, moved with the least effort: BEM and REM agree and keep the energy balance, GC does not.

    The end: way of the trolley, length of the rope, its angle, and their rates. ``full_velocity``: whether BEM and REM get all four
    velocities of their coordinates (s, beta, x, z) as conditions of the end, or only the first three; their velocities are not quite
    tangent, so that the fourth matters. ``shortest``: lower bound of the rope's length for GC, which else finds motions through l = 0.
    With less than 40 steps it still finds motions far from any of the continuous problem: look at its drift of energy.

    ``guess``: "course", straight on in (s, l, alpha); or "optimum", for BEM and REM: the optimum of GC with 40 steps. With 10 steps there
    are several minima; REM finds that of the table of references from "course".

    ``table``, ``limit`` and others: as of ``siebert/three-link``, and what velocity of the load is left at the end. Further options: the
    parameters of the model.
    """
    from kreisel.control import Condition, OptimalControl, Target

    if guess not in ("optimum", "course"):
        raise ValueError(f"guess must be 'optimum' or 'course', got {guess!r}")
    defaults = parameters_of(MODELS["overhead_crane"])
    given = {name: parameters.get(name, default) for name, default in defaults.items()}
    r, (ds, dl, da), (sin, cos) = given["winch_radius"], end_rates, (np.sin(end_angle), np.cos(end_angle))
    q = [end_trolley, end_length / r, end_trolley + end_length * sin, end_length * cos]
    v = [ds, dl / r, ds + dl * sin + end_length * da * cos, dl * cos - end_length * da * sin]

    def problem(m: Method, n: int, first: Any = None) -> OptimalControl:
        system = model_of("overhead_crane", parameters | {"formulation": "directors" if isinstance(m, BEM) else "minimal"})
        path: list[Condition] = []
        if isinstance(m, GC):
            target = Target(q=[end_trolley, end_length, end_angle], v=end_rates)
            path = [Condition("length of the rope", lambda s: s.node("crane").q[1], lower=shortest)]
        elif full_velocity:
            target = Target(q=q, v=v)
        else:
            target = Target(q=q, conditions=[Condition.equal("velocities of s, beta and x", lambda s: s.v[:3], v[:3])])
        return OptimalControl(system, horizon, n, target, path=path, guess=guess_of(m, n) if first is None else first)

    def guess_of(m: Method, n: int) -> Course | Optimum:
        return (
            optimum() if guess == "optimum" and not isinstance(m, GC) else _course(given, parameters, horizon, n, end_trolley, end_length)
        )

    @cache
    def optimum() -> Optimum:
        return problem(GC(), 40).solve(GC())

    def coordinates(sol: Solution) -> dict[str, Any]:
        s, beta, load = (sol.configuration(name) for name in ("trolley", "winch", "load"))
        return {"trolley": s[:, 0], "rope": r * beta[:, 0], "load": load[:, 0], "depth": load[:, 1]}

    changed = any(np.any(value != np.asarray(defaults[name])) for name, value in parameters.items())
    ends = (horizon, end_trolley, end_length, end_angle, *end_rates)
    usual = ends == (3.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0) and not changed
    several = [method] if isinstance(method, str | Method) else method
    return compare(
        problem,
        [method_of(m) for m in several],
        [int(n) for n in np.atleast_1d(steps)],
        solver,
        coordinates,
        {} if not usual else REFERENCE if full_velocity else REFERENCE_THREE,
        lambda found: {"load_velocity_end": found.solution.velocity("load")[-1].tolist()},
    )


def _course(given: dict[str, Any], parameters: dict[str, Any], T: float, n: int, trolley: float, length: float) -> Course:
    """Straight on with the time law of least effort, the load below the trolley, with the force and torque that a stiff rope would need."""
    from kreisel.control.guess import Course

    system = model_of("overhead_crane", parameters | {"formulation": "minimal"})
    t = np.linspace(0, T, n + 1)
    s, middle = t / T, (t[1:] + t[:-1]) / (2 * T)
    way, acceleration = s**2 * (3 - 2 * s), (6 - 12 * middle) / T**2
    ds, dl = trolley - given["trolley"], length - given["length"]
    q = np.stack([given["trolley"] + ds * way, given["length"] + dl * way, given["angle"] * (1 - way)], axis=1)
    course = Course.of_nodes(system.nodes, t, {"crane": q})
    m, r = given["load_mass"], given["winch_radius"]
    course.controls = {
        "force": (given["trolley_mass"] + m) * ds * acceleration,
        "winch": (m * r + given["winch_inertia"] / r) * dl * acceleration - m * given["gravity"] * r,
    }
    return course
