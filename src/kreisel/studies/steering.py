"""Motions of least effort: a pole is swung up by its cart, a body is turned in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.names import parameters_of
from kreisel.studies.base import Result, end_of_run, fitted_order, study
from kreisel.studies.words import MODELS, further, method_of, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel import control


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
