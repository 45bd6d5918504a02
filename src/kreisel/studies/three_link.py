"""The manipulator of Siebert's thesis, moved with the least effort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import GC, Method
from kreisel.names import parameters_of
from kreisel.studies.base import Result, study
from kreisel.studies.direct_control import compare, costs
from kreisel.studies.words import MODELS, further, method_of, model_of

Array = NDArray[np.float64]

JOINTS = ("shoulder", "elbow", "wrist")
_STEPS = (10, 20, 40, 80, 160)
#: Of an independent computation (the thesis has figures only): free, with her u3 >= 0 and <= 0, and with friction.
REFERENCES: dict[str, dict[str, Any]] = {
    "free": {
        "BEM": costs(_STEPS, "4012225.5038 3987882.0165 3982712.1254 3981447.92 3981133.15"),
        "REM": costs(_STEPS, "4012225.5038 3987882.0165 3982712.1254 3981447.92 3981133.15"),
        "GC": costs(_STEPS, "4004528.93 3987959.42 3982816.96 3981479.11 3981141.25"),
        "limit": "3981028.3252",
    },
    "u3 <= 0": {
        "REM": costs(_STEPS, "9884550.27 9832299.44 9817077.68 9813040.83 9812021.49"),
        "GC": costs(_STEPS, "9961229.74 9851572.95 9821875.36 9814242.57 9812321.85"),
        "limit": "9811681.75",
    },
    "u3 >= 0": {"REM": costs((20, 40), "6286152.79 6235029.28"), "limit": "6220820.60"},
    "friction": {
        "REM": costs(_STEPS, "4740210.35 4723744.60 4721375.81 4720819.30 4720680.05"),
        "GC": costs(_STEPS, "4737967.70 4724947.29 4721773.48 4720922.27 4720705.98"),
        "limit": "4720633.60",
    },
}


@study("siebert/three-link", source="Siebert, sections 6.2, 7.3", further=[name for name in further("three_link") if name != "formulation"])
def three_link(
    *,
    steps: tuple[int, ...] = (10, 20, 40),
    method: tuple[str, ...] = ("BEM", "REM", "GC"),
    solver: str = "ipopt",
    horizon: float = 3.0,
    end_angles: tuple[float, ...] = (np.pi / 2, 0.0, 0.0),
    end_rates: tuple[float, ...] = (0.0, 0.0, 0.0),
    lower: Any = None,
    upper: Any = None,
    middle: Any = None,
    **parameters: Any,
) -> Result:
    """A manipulator moved with the least effort: BEM and REM agree and keep the energy balance, GC does not keep it.

    ``lower``, ``upper``: bounds of the three torques, None for none. A positive torque drives; hers has the opposite sign, so her u3 >= 0
    is ``upper=[None, None, 0]``. Her friction: ``friction=300``. ``end_angles``, ``end_rates``: as the model's ``angles`` and ``rates``.
    ``middle``: angles in the middle of the first guess, by which one of several minima is chosen, as (1.5, -3.7, 6.2); else the guess goes
    straight on.

    ``table``: costs beside those of an independent computation, the ranges of the Hamiltonian of the problem and of energy minus work
    (``balance_drift``), kinetic energies, torques of the first and last step. ``limit``: costs extrapolated from the last two numbers of
    steps. The other numbers are those of the first method with the last number of steps. Further options: the parameters of the model.
    """
    from kreisel.control import OptimalControl, Target

    defaults = parameters_of(MODELS["three_link"])
    start = np.asarray(parameters.get("angles", defaults["angles"]), dtype=float)
    goal = np.asarray(end_angles, dtype=float) - start
    bounds: Any = {f"u{i + 1}": (low, high) for i, (low, high) in enumerate(zip(_three(lower), _three(upper), strict=True))}
    target = Target(dict(zip(JOINTS, goal, strict=True)), rates=dict(zip(JOINTS, end_rates, strict=True)))

    def problem(m: Method, n: int) -> OptimalControl:
        system = model_of("three_link", parameters | {"formulation": "minimal" if isinstance(m, GC) else "directors"})
        guess: Any = "linear" if middle is None else _through(np.asarray(middle, dtype=float) - start, goal)
        return OptimalControl(system, horizon, n, target, bounds=bounds, guess=guess)

    changed = {name for name, value in parameters.items() if np.any(value != np.asarray(defaults[name]))}
    usual = (horizon, *end_angles, *end_rates) == (3.0, np.pi / 2, 0, 0, 0, 0, 0) and middle is None
    limits = _three(lower), _three(upper)
    cases: dict[tuple[float | None, float | None], str] = {(None, None): "free", (None, 0): "u3 <= 0", (0, None): "u3 >= 0"}
    case = cases.get((limits[0][2], limits[1][2]))
    if any(limit is not None for three in limits for limit in three[:2]) or changed - {"friction"} or not usual:
        case = None
    elif changed:
        case = "friction" if case == "free" and parameters["friction"] == 300 else None
    several = [method] if isinstance(method, str | Method) else method
    return compare(
        problem,
        [method_of(m) for m in several],
        [int(n) for n in np.atleast_1d(steps)],
        solver,
        lambda sol: {joint: start[i] + np.unwrap(sol.joint(joint).angle) for i, joint in enumerate(JOINTS)},
        REFERENCES[case] if case else {},
    )


def _three(limits: Any) -> list[float | None]:
    three = [None] * 3 if limits is None else list(np.atleast_1d(limits))
    if len(three) != 3:
        raise ValueError(f"lower and upper take three numbers, None for no bound, got {limits}")
    return three


def _through(middle: Array, goal: Array) -> dict[str, Any]:
    """Parabolas of the joint coordinates from zero through the middle to the goal."""

    def course(i: int) -> Any:
        return lambda s: s * goal[i] + 4 * s * (1 - s) * (middle[i] - goal[i] / 2)

    return {joint: course(i) for i, joint in enumerate(JOINTS)}
