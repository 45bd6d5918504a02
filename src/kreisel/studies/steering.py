"""Motions of least effort: a pole is swung up by its cart, a body is turned in space, a flexible arm is brought to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.names import parameters_of
from kreisel.studies.base import Result, end_of_run, fitted_order, study
from kreisel.studies.words import MODELS, further, method_of, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel import control
    from kreisel.simulation import Solution


def found(result: control.Result) -> dict[str, Any]:
    """What a study tells of the solution of an optimal control problem: its key figures, the end of the motion, controls and states."""
    sol = result.solution
    return {
        **end_of_run(sol),
        **result.summary(),
        "controls": result.controls,
        "states": {"t": result.t, "q": sol.q, "v": sol.v},
    }


def arrays(result: control.Result) -> dict[str, np.ndarray]:
    """The same as arrays: times, states, controls (step by step), Hamiltonian, energy."""
    sol = result.solution
    u = np.stack(list(result.controls.values()), axis=1)
    return {"t": result.t, "q": sol.q, "v": sol.v, "controls": u, "hamiltonian": result.hamiltonian, "energy": sol.energy}


def solved(problem: control.OptimalControl, method: Any, who: str) -> control.Result:
    """The solution; where there is none, the study ends with the reason."""
    result = problem.solve(method=method)
    if not result.success:
        raise ValueError(f"{who}: {result.message}")
    return result


def row(table: dict[str, list[Any]], result: control.Result, **more: Any) -> None:
    """Adds a line to a table of solutions."""
    summary = result.summary()
    keys = ("cost", "iterations", "solve_seconds", "derivative_seconds", "kkt_residual", "hamiltonian_spread")
    for name, value in (more | {"N": result.discrete.steps} | {key: summary[key] for key in keys}).items():
        table.setdefault(name, []).append(value)


def draw(figure: Figure, result: control.Result) -> None:
    """Controls, joints (or positions), energies and the Hamiltonian."""
    from kreisel.view import plot

    plot(result, axes=figure.subplots(2, 2).ravel().tolist())


@study(
    "control/cart-pole",
    source="Kelly, An introduction to trajectory optimization, SIAM Review 59 (2017), section 6",
    further=further("cart_pole"),
)
def cart_pole(
    *,
    methods: tuple[str, ...] = ("GC", "REM", "BEM", "RATTLie"),
    steps: tuple[int, ...] = (50, 100, 200),
    horizon: float = 2.0,
    distance: float = 1.0,
    end_angle: float = np.pi,
    force: float = 20.0,
    stroke: float = 2.0,
    **parameters: Any,
) -> Result:
    """A pole is swung up by its cart with the least integral of the squared force, by steps of several methods.

    ``distance``, ``end_angle``: of the cart and of the pole from where they start; both are at rest then. ``force``, ``stroke``: the
    largest ones, to both sides. GC works in minimal coordinates and starts from a straight line; the others work in directors and start
    from its solution, since from a straight line some end in another minimum (cost 309, say). ``table``: all solutions. ``orders``: of
    the costs, by the last three numbers of steps, if these are doubled. The other numbers are those of the first method with the most
    steps. Further options: the parameters of the model.
    """
    from kreisel.control import OptimalControl, Target, effort

    names = [methods] if isinstance(methods, str) else list(methods)
    table: dict[str, list[Any]] = {}
    shown: list[control.Result] = []
    costs: dict[str, list[float]] = {name: [] for name in names}
    for n in np.atleast_1d(steps).astype(int).tolist():
        guess: Any = "linear"
        for name in ["GC", *(name for name in names if name != "GC")]:
            formulation = "minimal" if name == "GC" else "directors"
            problem = OptimalControl(
                model_of("cart_pole", {"formulation": formulation} | parameters),
                horizon,
                n,
                end=Target({"rail": distance, "hinge": end_angle}, rates="rest"),
                cost=2 * effort(),
                bounds={"force": (-force, force), "rail": (-stroke, stroke)},
                guess=guess,
            )
            result = solved(problem, method_of(name), f"{name}, {n} steps")
            guess = result if name == "GC" else guess
            if name in names:
                row(table, result, method=name)
                costs[name].append(result.cost)
                shown += [result] if name == names[0] else []
    orders = {name: _order(np.atleast_1d(steps), np.array(c)) for name, c in costs.items()}
    return Result({"table": table, "orders": orders, **found(shown[-1])}, arrays(shown[-1]), lambda figure: draw(figure, shown[-1]))


def _order(steps: np.ndarray, costs: np.ndarray) -> float:
    """The order of convergence of three values with steps that are halved each time, without knowing the limit."""
    if len(steps) < 3 or not np.allclose(steps[-2:], 2 * steps[-3:-1]):
        return float("nan")
    return fitted_order(1 / steps[-3:-1], np.abs(np.diff(costs[-3:])))


@study(
    "control/reorientation",
    source="rest to rest on SO(3); about a principal axis the least effort is 6 J^2 theta^2 / T^3",
    further=further("steered_body"),
)
def reorientation(
    *,
    formulations: tuple[str, ...] = ("SO3", "S3", "directors"),
    steps: tuple[int, ...] = (10, 20, 40, 80),
    horizon: float = 2.0,
    axis: tuple[float, ...] = (1.0, 1.0, 1.0),
    angle: float = np.pi / 2,
    torque: float | None = None,
    **parameters: Any,
) -> Result:
    r"""A body is turned from rest to rest by three torques with the least effort, in several coordinates.

    ``axis``, ``angle``: of the turn as a whole, in body axes. ``torque``: the largest one about each axis, to both sides. "SO3", "S3" and
    others by RATTLie, "directors" by BEM. ``fixed_axis``: the effort of a turn about the axis n itself with the rate
    :math:`6\theta (t/T - t^2/T^2)/T`, which is

    .. math:: \int \tfrac12 u^2\,dt = \frac{6\theta^2 |J n|^2}{T^3} + \frac{36\,\theta^4 |n \times J n|^2}{35\,T^3}.

    About a principal axis that is a solution, and the limit of the costs. ``table``: all solutions; ``orders``: of the costs, by the last
    three numbers of steps, if these are doubled. The other numbers are those of the first coordinates with the most steps. Further
    options: the parameters of the model.
    """
    from kreisel.control import OptimalControl, Target
    from kreisel.groups import SO3
    from kreisel.methods import BEM, RATTLie

    n = np.asarray(axis, dtype=float)
    if n.shape != (3,) or not np.linalg.norm(n) > 0:
        raise ValueError(f"axis must be three numbers, not all zero, got {axis}")
    n = n / np.linalg.norm(n)
    J = np.array(parameters.get("inertia", parameters_of(MODELS["steered_body"])["inertia"]), dtype=float)
    J = np.diag(J) if J.shape == (3,) else J
    across = np.cross(n, J @ n)
    fixed_axis = float((6 * angle**2 * (J @ n) @ (J @ n) + 36 / 35 * angle**4 * across @ across) / horizon**3)
    goal = np.asarray(SO3.matrix(SO3.exp(angle * n)))
    names = [formulations] if isinstance(formulations, str) else list(formulations)
    counts = np.atleast_1d(steps).astype(int)
    table: dict[str, list[Any]] = {}
    shown: list[control.Result] = []
    costs: dict[str, list[float]] = {name: [] for name in names}
    for count in counts.tolist():
        for name in names:
            problem = OptimalControl(
                model_of("steered_body", {"formulation": name} | parameters),
                horizon,
                count,
                end=Target(frames={"body": (None, goal)}, rates="rest"),
                bounds={} if torque is None else {f"u{k}": (-torque, torque) for k in (1, 2, 3)},
            )
            result = solved(problem, BEM() if name == "directors" else RATTLie(), f"{name}, {count} steps")
            row(table, result, formulation=name)
            costs[name].append(result.cost)
            shown += [result] if name == names[0] else []
    orders = {name: _order(counts, np.array(c)) for name, c in costs.items()}
    numbers = {"table": table, "fixed_axis": fixed_axis, "orders": orders, **found(shown[-1])}
    return Result(numbers, arrays(shown[-1]), lambda figure: draw(figure, shown[-1]))


@study(
    "control/beam-tip",
    source="a geometrically exact beam (Hante, 4.2) as the plant of an optimal control problem",
    further=further("flexible_arm"),
)
def beam_tip(
    *,
    method: str = "GeneralizedAlpha(rho_inf=0.8)",
    steps: int = 40,
    horizon: float = 1.0,
    angle: float = np.pi / 3,
    points: int = 2,
    torque: float | None = None,
    **parameters: Any,
) -> Result:
    """The tip of a flexible arm is moved with the least effort such that nothing vibrates at the end, by one torque at its hub.

    At the end the hub has turned by ``angle`` and rests; so many ``points`` of the arm, evenly spread up to the tip, lie on the line of the
    hub and do not move across it: so many modes are at rest. More than a few are hardly to be reached by one torque.
    ``torque``: the largest one, to both sides. ``rigid_cost``: the effort 6 J^2 angle^2 / T^3 that a rigid arm takes. ``residual_energy``:
    what is left at the end, in parts of the largest energy of the motion; ``residual_energy_rigid``: the same, if the arm gets the torque
    that would bring a rigid one to rest. ``tip_error_rigid``: how far its tip is from the goal then. Further options: the parameters of
    the model.
    """
    import casadi as ca

    from kreisel.control import Condition, OptimalControl, Target
    from kreisel.simulation import simulate

    system, scheme = model_of("flexible_arm", parameters), method_of(method)
    data = parameters_of(MODELS["flexible_arm"]) | parameters
    length = float(data["length"])
    J = float(data["hub_inertia"]) + float(data["mass"]) * length**3 / 3
    across = ca.DM([-np.sin(angle), np.cos(angle), 0])
    nodes = [n.name for n in system.nodes if n.name != "hub"]
    if not 1 <= points <= len(nodes):
        raise ValueError(f"points must lie between 1 and the {len(nodes)} of the arm, got {points}")
    held = [nodes[round((k + 1) * len(nodes) / points) - 1] for k in range(points)]
    end = Target(
        {"hinge": angle},
        {"hinge": 0.0},
        conditions=[
            Condition.equal("the arm is straight", lambda s: ca.vertcat(*(ca.dot(across, s.position(p)) for p in held))),
            Condition.equal("the arm rests", lambda s: ca.vertcat(*(ca.dot(across, s.velocity(p)) for p in held))),
        ],
    )
    middle = (np.arange(steps) + 0.5) / steps
    straight = {"motor": 6 * J * angle / horizon**2 * (1 - 2 * middle)}
    rigid = simulate(system, horizon, horizon / steps, scheme, controls=straight)
    if not rigid.success:
        raise ValueError(f"the torque of a rigid arm: {rigid.message}")
    bounds: dict[Any, Any] = {} if torque is None else {"motor": (-torque, torque)}
    result = solved(OptimalControl(system, horizon, steps, end=end, bounds=bounds, guess=rigid), scheme, f"{method}, {steps} steps")
    goal = length * np.array([np.cos(angle), np.sin(angle), 0])
    tip, tip_rigid = (sol.position(nodes[-1]) for sol in (result.solution, rigid))
    numbers = {
        "rigid_cost": 6 * J**2 * angle**2 / horizon**3,
        "residual_energy": _left(result.solution),
        "residual_energy_rigid": _left(rigid),
        "tip_error": float(np.linalg.norm(tip[-1] - goal)),
        "tip_error_rigid": float(np.linalg.norm(tip_rigid[-1] - goal)),
        "segments": len(nodes),
        "preparation_seconds": result.preparation_seconds,
        **found(result),
    }

    def picture(figure: Figure) -> None:
        from kreisel.view import plot

        (a, b), (c, d) = figure.subplots(2, 2)
        plot(result, ("controls", "energy"), axes=[a, c])
        a.stairs(straight["motor"], result.t, baseline=None, ls="--", label="for a rigid arm")
        a.legend(fontsize="small")
        c.plot(rigid.t, rigid.energy, "k--", lw=1, label="total, torque for a rigid arm")
        c.legend(fontsize="small")
        for x, style in ((tip, "-"), (tip_rigid, "--")):
            b.plot(result.t, np.arctan2(x[:, 1], x[:, 0]), "C1" + style, label="tip" if style == "-" else "tip, torque for a rigid arm")
        b.plot(result.t, result.solution.joint("hinge").angle, "C0", label="hub")
        b.set(xlabel="time [s]", ylabel="angle [rad]")
        b.legend(fontsize="small")
        for k in np.linspace(0, steps, 8).astype(int):
            x = np.array([[0, 0, 0], *(result.solution.position(p)[k] for p in nodes)])
            d.plot(x[:, 0], x[:, 1], "C0", alpha=0.3 + 0.7 * k / steps)
        d.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")

    return Result(numbers, arrays(result) | {"tip": tip, "tip_rigid": tip_rigid}, picture)


def _left(sol: Solution) -> float:
    """The energy at the end, in parts of the largest one."""
    return float((sol.energy[-1] - sol.energy[0]) / np.ptp(sol.energy))
