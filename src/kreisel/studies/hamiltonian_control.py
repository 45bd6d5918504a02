"""Optimal control of Hamiltonian systems in Siebert's thesis: what direct and indirect transcription conserve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.methods import Gonzalez, Greenspan, Midpoint
from kreisel.methods.legendre import hamiltonian_of
from kreisel.names import parameters_of
from kreisel.studies.base import Result, end_of_run, fitted_order, study
from kreisel.studies.words import MODELS, further, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.control.indirect import Extremal
    from kreisel.methods.midpoint import HamiltonianMethod
    from kreisel.simulation import Solution


def _compare(
    system: Hamiltonian,
    methods: Sequence[HamiltonianMethod],
    horizon: float,
    steps: Sequence[int] | np.ndarray,
    end: tuple[Any, Any],
    hessian: str | None,
) -> tuple[Result, list[Extremal]]:
    """Both transcriptions by all methods and numbers of steps; and the indirect solutions by the first method."""
    from kreisel.control import indirect

    columns: dict[str, list[Any]] = {}
    first: list[Extremal] = []
    for method in methods:
        for n in steps:
            found = indirect.solve(system, method, horizon, int(n), *end, hessian=hessian)
            direct = found.start
            assert direct is not None
            for what, result in (("direct", direct), ("indirect", found)):
                if not result.success:
                    raise ValueError(f"{method}, {n} steps, {what} transcription: {result.message}")
            row = {
                "method": str(method),
                "N": int(n),
                "cost_direct": direct.cost,
                "cost": found.cost,
                "hamiltonian_direct": [float(direct.hamiltonian.min()), float(direct.hamiltonian.max())],
                "hamiltonian": float(found.hamiltonian.mean()),
                "hamiltonian_spread": found.hamiltonian_spread,
                "balance_drift_direct": _drift(direct.solution),
                "balance_drift": _drift(found.solution),
                "iterations_direct": direct.iterations,
                "iterations": found.iterations,
                "solve_seconds_direct": direct.solve_seconds,
                "solve_seconds": found.solve_seconds,
            }
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
            if method is methods[0]:
                first.append(found)
    finest = first[-1]
    direct = finest.start
    assert direct is not None
    sol, n = finest.solution, system.dim
    numbers = {
        "table": columns,
        **end_of_run(sol),
        **finest.summary(),
        "direct": direct.summary(),
        "average_costates": finest.average_costates,
        "controls": finest.controls,
        "states": {"t": finest.t, "q": finest.x[:, :n], "p": finest.x[:, n:]},
    }
    arrays = {
        "t": finest.t,
        "states": finest.x,
        "costates": finest.costates,
        "controls": np.stack(list(finest.controls.values()), axis=1),
        "hamiltonian": finest.hamiltonian,
        "hamiltonian_direct": direct.hamiltonian,
        "balance": sol.balance,
    }

    def draw(figure: Figure) -> None:
        (states, controls), (hamiltonian, balance) = figure.subplots(2, 2)
        for i in range(n):
            states.plot(finest.t, finest.x[:, i], label=f"q{i + 1}")
        states.set(xlabel="t in s", ylabel="coordinates")
        for name, u in finest.controls.items():
            controls.stairs(u, finest.t, label=name, baseline=None)
        controls.set(xlabel="t in s", ylabel="inputs")
        hamiltonian.stairs(direct.hamiltonian, finest.t, label="direct", baseline=None)
        hamiltonian.stairs(finest.hamiltonian, finest.t, label="indirect", baseline=None)
        hamiltonian.set(xlabel="t in s", ylabel="Hamiltonian of the problem")
        for quantity, name in ((sol.energy, "energy"), (sol.work, "work"), (sol.balance, "energy - work")):
            balance.plot(finest.t, quantity, label=name)
        balance.set(xlabel="t in s", ylabel="in J")
        for axes in (states, controls, hamiltonian, balance):
            axes.legend(fontsize=7)

    return Result(numbers, arrays, draw), first


def _drift(solution: Solution) -> float:
    """The largest change of energy minus work."""
    return float(np.abs(solution.balance - solution.balance[0]).max())


def _hamiltonian(name: str, parameters: dict[str, Any]) -> Hamiltonian:
    system = model_of(name, parameters)
    assert isinstance(system, Hamiltonian)
    return system


@study("siebert/pendulum", source="Siebert, section 8.1", further=further("mathematical_pendulum"))
def pendulum(
    *,
    steps: tuple[int, ...] = (10, 20, 40, 80, 160),
    horizon: float = 3.0,
    end_angle: float = np.pi / 2,
    end_momentum: float = 0.0,
    **parameters: Any,
) -> Result:
    """A pendulum moved with the least effort: indirect transcription conserves the Hamiltonian of the problem, Greenspan the energy.

    ``table``: costs, Hamiltonians and the drift of energy minus work, of direct and indirect transcription, by Greenspan and by the
    midpoint rule. The other numbers are those of Greenspan with the most steps. Further options: the parameters of the model.
    """
    system = _hamiltonian("mathematical_pendulum", parameters)
    result, _ = _compare(system, (Greenspan(), Midpoint()), horizon, np.atleast_1d(steps), (end_angle, end_momentum), None)
    return result


@study("siebert/particle", source="Siebert, section 8.2", further=further("particle"))
def particle(
    *,
    steps: tuple[int, ...] = (10, 20, 40, 80, 160),
    reference: int = 1280,
    horizon: float = np.pi,
    end_position: tuple[float, ...] = (0.0, 0.0, 1.5),
    end_momentum: tuple[float, ...] = (0.0, -1.0, 0.0),
    gradient: str = "midpoint",
    hessian: str = "node",
    **parameters: Any,
) -> Result:
    """A particle in a central field, moved with the least effort: costates and the Hamiltonian of the problem are of second order.

    ``gradient``, ``hessian``: "midpoint" and "node", or "average" (8.37), (8.53). ``table``: as of ``siebert/pendulum``. ``errors``: of the
    averages of the costates of the third coordinate and momentum, and of the Hamiltonian, against those with ``reference`` steps;
    ``orders``: of these. Further options: the parameters of the model.
    """
    from kreisel.control import indirect

    system, method, end = _hamiltonian("particle", parameters), Gonzalez(gradient), (end_position, end_momentum)
    counts = np.atleast_1d(steps)
    result, found = _compare(system, (method, Midpoint()), horizon, counts, end, hessian)
    best = indirect.solve(system, method, horizon, reference, *end, hessian=hessian, guess=found[-1])
    if not best.success:
        raise ValueError(f"{method}, {reference} steps: {best.message}")

    def key(r: Extremal) -> dict[str, float]:
        return {"costate_q3": r.average_costates[2], "costate_p3": r.average_costates[5], "hamiltonian": r.hamiltonian.mean()}

    exact = key(best)
    errors = {name: [abs(key(r)[name] - value) for r in found] for name, value in exact.items()}
    result.numbers["reference"] = exact | {"N": reference, "cost": best.cost}
    result.numbers["errors"] = errors
    result.numbers["orders"] = {name: fitted_order(1 / counts, np.array(e)) for name, e in errors.items()}
    return result


@study("siebert/three-link-indirect", source="Siebert, section 8.2", further=further("three_link"))
def three_link_indirect(
    *,
    steps: tuple[int, ...] = (20, 40, 80),
    horizon: float = 3.0,
    end_angles: tuple[float, ...] = (np.pi / 2, 0.0, 0.0),
    end_momentum: tuple[float, ...] = (0.0, 0.0, 0.0),
    hessian: str = "node",
    **parameters: Any,
) -> Result:
    """The manipulator by angles and momenta: Gonzalez keeps energy minus work, indirect transcription the Hamiltonian of the problem.

    Angles are of each link against the one before; ``end_angles`` as the model's ``angles``. ``table``: as of ``siebert/pendulum``, by
    Gonzalez and by the midpoint rule; with less than 17 steps Newton's method found no indirect solution by Gonzalez. Coordinates
    q in the numbers count from the start. Further options: the parameters of the model.
    """
    system = hamiltonian_of(model_of("three_link", parameters | {"formulation": "minimal"}))
    start = parameters.get("angles", parameters_of(MODELS["three_link"])["angles"])
    end = np.subtract(end_angles, start), end_momentum
    result, _ = _compare(system, (Gonzalez(), Midpoint()), horizon, np.atleast_1d(steps), end, hessian)
    return result
