"""The satellite of Siebert's thesis, turned with the least effort."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import S3, SO3, R, convert
from kreisel.mechanics import System
from kreisel.methods import GC, Method
from kreisel.models.satellite import EULER, MASS, OFFSETS, ROTOR_EULER, ROTOR_MASS, satellite
from kreisel.rotations import EulerAngles
from kreisel.studies.base import Result, study
from kreisel.studies.direct_control import compare, costs, solver_of
from kreisel.studies.words import method_of

if TYPE_CHECKING:
    from kreisel.control import OptimalControl
    from kreisel.control import Result as Optimum
    from kreisel.simulation import Solution

Array = NDArray[np.float64]

WHEELS = ("wheel 1", "wheel 2", "wheel 3")
_STEPS = (10, 20, 40, 80)
#: By friction, of an independent computation; the thesis has figures only. REM comes to rest with all bodies, GC with its rotors.
REFERENCES: dict[float, dict[str, Any]] = {
    0.0: {
        "REM": costs(_STEPS, "1968627.80 1514753.05 1452798.50 1438774.74"),
        "GC": costs(_STEPS, "1443859.04 1436642.35 1434823.55 1434367.92"),
        "limit": "1434215.9609",
    },
    100.0: {
        "REM": costs(_STEPS, "3031059.33 2496894.98 2410019.49 2389389.61"),
        "GC": costs(_STEPS, "2386525.24 2383633.29 2382861.11 2382664.94"),
        "limit": "2382599.2735",
    },
}


def locked() -> tuple[Array, Array, Array]:
    """Centre of mass c in the axes of the main body, moments I of the whole satellite about it with its rotors held, and their moments
    about their axes, J_s: (3,), (3, 3), (3, 3)."""
    bodies = [(MASS, np.zeros(3), sum(EULER) - np.array(EULER))]
    for i, axis in enumerate(np.eye(3)):
        E = np.where(axis == 1, *ROTOR_EULER[:2])
        bodies.append((ROTOR_MASS, OFFSETS[i] * axis, E.sum() - E))
    c = np.sum([m * x for m, x, _ in bodies], axis=0) / sum(m for m, _, _ in bodies)
    shifted = [m * ((x - c) @ (x - c) * np.eye(3) - np.outer(x - c, x - c)) for m, x, _ in bodies]
    I = np.sum([np.diag(J) for _, _, J in bodies] + shifted, axis=0)
    return c, I, np.diag([J[i] for i, (_, _, J) in enumerate(bodies[1:])])


def reduced(turn: ArrayLike, horizon: float, steps: int, friction: float = 0.0) -> OptimalControl:
    r"""The same manoeuvre without positions: rotation and rotor angles on S3 x R(3), with constant mass.

    .. math:: T = \tfrac12 \Omega\cdot I\Omega + \Omega\cdot J_s\dot\alpha + \tfrac12 \dot\alpha\cdot J_s\dot\alpha, \qquad
              I\Omega + J_s\dot\alpha = 0

    From rest to rest the momentum stays zero. So any smooth turn is a motion of it; the guess is that about a fixed axis, with the time law
    of least effort. ``turn``: rotation vector from start to end.

    >>> problem = reduced((0.0, 0.0, 1.0), horizon=5.0, steps=10)
    >>> problem.solve().iterations < 10
    True
    """
    from kreisel.control import Condition, OptimalControl, Target

    theta, T = np.asarray(turn, dtype=float), horizon
    _, I, J = locked()
    goal = ca.SX(S3.exp(theta))
    system = System(
        S3 * R(3),
        mass=np.block([[I, J], [J, J]]),
        force=(lambda t, q, v: ca.vertcat(ca.SX.zeros(3), -friction * v[3:])) if friction else None,
        controls=("u1", "u2", "u3"),
        inputs=np.vstack([np.zeros((3, 3)), np.eye(3)]),
    )
    end = [
        Condition.equal("rotation", lambda s: S3.compose(S3.inverse(goal), s.node("q").q[:4])[1:]),
        Condition.equal("rates of the rotors", lambda s: s.node("q").v[3:]),
    ]
    wheels = -np.linalg.solve(J, I @ theta)
    inertia = J - J @ np.linalg.solve(I, J)

    def law(s: float) -> float:
        return s**2 * (3 - 2 * s)

    def torque(s: float) -> Array:
        return np.asarray(inertia @ wheels * (6 - 12 * s) / T**2 + friction * wheels * 6 * s * (1 - s) / T)

    guess: dict[Any, Any] = {"q": lambda s: np.concatenate([S3.exp(theta * law(s)), wheels * law(s)])}
    guess |= {f"u{i + 1}": lambda s, i=i: torque(s)[i] for i in range(3)}
    return OptimalControl(system, horizon, steps, Target(conditions=end), guess=guess)


@study("siebert/satellite-ocp", source="Siebert, section 6.3")
def satellite_ocp(
    *,
    steps: tuple[int, ...] = (20,),
    method: tuple[str, ...] = ("REM", "GC"),
    solver: str = "ipopt",
    friction: float = 0.0,
    horizon: float = 5.0,
    turn: tuple[float, ...] = tuple(np.pi / np.sqrt(14) * np.array([1.0, 2.0, 3.0])),
    angles: tuple[float, ...] = (2.0, 2.0, 2.0),
    at_rest: str = "fitting",
    via: Any = (),
) -> Result:
    """A satellite turned by its rotors with the least effort: REM keeps the zero momentum and the energy balance, GC does not.

    ``turn``: rotation vector from start to end, in axes of the main body. ``friction``: of the rotors, in Nms; 100 in her second example.
    ``angles``: Euler angles (Psi, Theta, Phi) of the start, zxz, for GC; the others start at the attitude I. ``at_rest``: what the end asks
    for: "all" nine rates, "rotors" alone (the others follow from the momentum, which GC does not keep: it cannot meet them all), or
    "fitting": rotors for GC, all for others.

    The guess is the optimum of the reduced problem (:func:`reduced`), ``reduced_cost``. ``via``: frictions with which the problem is solved
    before, one after the other, each from the solution before. With 10 steps the rotors turn by 2 rad and more in a step, and there are
    minima far from the continuous solution; [100, 50, 20] leads around them.

    ``table``, ``limit`` and others: as of ``siebert/three-link``; further columns: the largest component of the angular momentum about the
    origin, where the main body is at the end, and how far the rotors have turned.
    """
    from kreisel.control import OptimalControl, Target

    if at_rest not in ("fitting", "all", "rotors"):
        raise ValueError(f"at_rest must be 'fitting', 'all' or 'rotors', got {at_rest!r}")
    theta, euler = np.asarray(turn, dtype=float), EulerAngles("zxz")
    c, _, _ = locked()

    @cache
    def without_positions(n: int, k: float) -> Optimum:
        return reduced(theta, horizon, n, k).solve()

    def problem(m: Method, n: int) -> OptimalControl:
        guess: Any = None
        for k in np.atleast_1d(via).tolist():
            guess = with_friction(m, n, k, guess).solve(m, solver=solver_of(solver))
        return with_friction(m, n, friction, guess)

    def with_friction(m: Method, n: int, k: float, guess: Any) -> OptimalControl:
        minimal = isinstance(m, GC)
        start = euler.matrix(np.asarray(angles, dtype=float)) if minimal else np.eye(3)
        system = satellite("minimal", friction=k, attitude=start, rotation=euler) if minimal else satellite(friction=k)
        rotors = at_rest == "rotors" or (at_rest == "fitting" and minimal)
        attitude = start @ SO3.exp(theta).reshape(3, 3)
        target = Target(frames={"main": (None, attitude)}, rates=dict.fromkeys(WHEELS, 0.0) if rotors else "rest")
        if guess is None:
            optimum = without_positions(n, k)
            q = optimum.solution.q
            turned = start @ convert(q[:, :4], S3, SO3).reshape(-1, 3, 3)
            guess = {"main": ((start - turned) @ c, turned), **dict(zip(WHEELS, q[:, 4:].T, strict=True)), **optimum.controls}
        return OptimalControl(system, horizon, n, target, guess=guess)

    def rotor_angles(sol: Solution) -> dict[str, Array]:
        return {wheel: np.unwrap(sol.joint(wheel).angle) for wheel in WHEELS}

    def more(found: Optimum) -> dict[str, Any]:
        sol = found.solution
        return {
            "momentum": float(np.abs(sol.angular_momentum).max()),
            "main_end": sol.position("main")[-1].tolist(),
            "rotors_end": [float(a[-1]) for a in rotor_angles(sol).values()],
        }

    usual = horizon == 5.0 and np.allclose(theta, np.pi / np.sqrt(14) * np.arange(1, 4)) and at_rest == "fitting"
    several = [method] if isinstance(method, str | Method) else method
    counts = [int(n) for n in np.atleast_1d(steps)]
    result = compare(
        problem,
        [method_of(m) for m in several],
        counts,
        solver,
        rotor_angles,
        REFERENCES.get(friction, {}) if usual else {},
        more,
    )
    result.numbers["reduced_cost"] = without_positions(counts[-1], friction).cost
    return result
