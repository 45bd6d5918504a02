"""Optimal control by direct transcription in Siebert's thesis: what its studies have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.names import check_names
from kreisel.studies.base import Result, end_of_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.control import OptimalControl
    from kreisel.control import Result as Optimum
    from kreisel.methods import Method
    from kreisel.simulation import Solution

Array = NDArray[np.float64]
#: Costs by method and number of steps, as printed, and those of the continuous problem, ``{"REM": {20: "3987882.0165"}, "limit": "..."}``.
Reference = Mapping[str, Any]


def costs(steps: Sequence[int], printed: str) -> dict[int, str]:
    """Printed costs by the number of steps."""
    return dict(zip(steps, printed.split(), strict=True))


def solver_of(word: Any) -> Any:
    """A solver by its name, "ipopt" or "structured"; or one that is given."""
    from kreisel.control import Ipopt
    from kreisel.control.structured import Structured

    if not isinstance(word, str):
        return word
    known = {"ipopt": Ipopt, "structured": Structured}
    check_names([word.lower()], known, "there is no solver")
    return known[word.lower()]()


def compare(
    problem: Callable[[Method, int], OptimalControl],
    methods: Sequence[Method],
    steps: Sequence[int],
    solver: Any,
    coordinates: Callable[[Solution], Mapping[str, Array]],
    reference: Reference,
    more: Callable[[Optimum], Mapping[str, Any]] = lambda found: {},
) -> Result:
    """Solves a problem by all methods with all numbers of steps.

    ``coordinates``: what is to be seen of the motion, by name. ``more``: further columns of the table.
    """
    columns: dict[str, list[Any]] = {}
    first: Optimum | None = None
    limits: dict[str, float] = {}
    for method in methods:
        series: list[tuple[int, float]] = []
        for n in steps:
            found = problem(method, n).solve(method, solver=solver_of(solver))
            if not found.success:
                raise ValueError(f"{method}, {n} steps: {found.message}")
            for name, value in (_row(found, reference) | dict(more(found))).items():
                columns.setdefault(name, []).append(value)
            series.append((n, found.cost))
            if method is methods[0]:
                first = found
        if len(series) > 1:
            limits[str(method)] = extrapolated(*series[-2:])
    assert first is not None
    sol, H, seen = first.solution, first.hamiltonian, coordinates(first.solution)
    numbers = {
        "table": columns,
        "limit": limits | ({"reference": float(reference["limit"])} if "limit" in reference else {}),
        **end_of_run(sol),
        **first.summary(),
        "controls": first.controls,
        "states": {"t": first.t, "q": sol.q, "v": sol.v},
        "coordinates": dict(seen),
    }
    arrays = {
        "t": first.t,
        "q": sol.q,
        "v": sol.v,
        "controls": np.stack(list(first.controls.values()), axis=1),
        "hamiltonian": H,
        "balance": sol.balance,
    }

    def draw(figure: Figure) -> None:
        (motion, inputs), (energies, hamiltonian) = figure.subplots(2, 2)
        for name, y in seen.items():
            motion.plot(first.t, y, label=name)
        motion.set(xlabel="t in s", ylabel="coordinates in rad or m", title=f"{first.discrete.method}, N = {first.discrete.steps}")
        for name, u in first.controls.items():
            inputs.stairs(u, first.t, label=name, baseline=None)
        inputs.set(xlabel="t in s", ylabel="controls in Nm or N")
        shown = {"kinetic": sol.kinetic_energy, "potential": sol.potential_energy, "work of controls": sol.work, "balance": sol.balance}
        for name, y in shown.items():
            energies.plot(first.t, y, label=name)
        energies.set(xlabel="t in s", ylabel="energies in J")
        hamiltonian.stairs(H, first.t, baseline=None)
        hamiltonian.set(xlabel="t in s", ylabel="Hamiltonian of the problem")
        for axes in (motion, inputs, energies):
            axes.legend(fontsize=7)

    return Result(numbers, arrays, draw)


def _row(found: Optimum, reference: Reference) -> dict[str, Any]:
    sol, H, u = found.solution, found.hamiltonian, np.stack(list(found.controls.values()), axis=1)
    method, n = str(found.discrete.method), found.discrete.steps
    printed = reference.get(method, {}).get(n)
    return {
        "method": method,
        "N": n,
        "cost": found.cost,
        "reference": None if printed is None else float(printed),
        "deviation": None if printed is None else found.cost / float(printed) - 1,
        "hamiltonian": [float(H.min()), float(H.max())],
        "balance_drift": float(np.ptp(sol.balance)),
        "T_max": float(sol.kinetic_energy.max()),
        "T_end": float(sol.kinetic_energy[-1]),
        "u_start": u[0].tolist(),
        "u_end": u[-1].tolist(),
        "iterations": found.iterations,
        "solve_seconds": found.solve_seconds,
    }


def extrapolated(coarse: tuple[int, float], fine: tuple[int, float]) -> float:
    """The limit of a quantity of second order, from its values with two numbers of steps (Richardson).

    >>> extrapolated((10, 1 + 1 / 10**2), (20, 1 + 1 / 20**2))
    1.0
    """
    (n, a), (m, b) = coarse, fine
    return (m**2 * b - n**2 * a) / (m**2 - n**2) if n != m else b
