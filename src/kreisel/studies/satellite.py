"""The satellite of Siebert's thesis: balances with torques and with friction, at step sizes from far too coarse to fine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.mechanics.element import Inertia
from kreisel.methods import BEM, Composition
from kreisel.studies.base import Result, end_of_run, study
from kreisel.studies.words import model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution


def _runs(steps: tuple[int, ...], t_end: float, controls: dict[str, float], parameters: dict[str, Any]) -> Result:
    """Both rules for inputs at all step sizes, beside an exact value of another scheme in other coordinates."""
    from kreisel.simulation import simulate

    counts = [int(n) for n in np.atleast_1d(steps)]
    system = model_of("satellite", parameters | {"formulation": "directors"})
    exact = simulate(
        model_of("satellite", parameters | {"formulation": "S3R3"}), t_end, t_end / 200, Composition(order=6), controls=controls
    )
    table: dict[str, list[Any]] = {
        name: [] for name in ("N", "T_end", "J_end", "J_drift", "balance_drift", "T_end_covariant", "J_end_covariant")
    }
    last: dict[str, Solution] = {}
    for n in counts:
        for covariant in (False, True):
            solution = simulate(system, t_end, t_end / n, BEM(covariant), controls=controls)
            if not solution.success:
                raise ValueError(f"{n} steps: {solution.message}")
            J, kind = solution.angular_momentum, "_covariant" if covariant else ""
            table["T_end" + kind].append(float(solution.kinetic_energy[-1]))
            table["J_end" + kind].append(J[-1].tolist())
            last[f"{n}{kind}"] = solution
            if not covariant:
                table["N"].append(n)
                balance, size = solution.balance, _largest_momentum(solution)
                table["J_drift"].append(float(np.abs(J - J[0]).max() / size))
                table["balance_drift"].append(float(np.abs(balance - balance[0]).max() / solution.energy.max()))
    finest = last[str(counts[-1])]
    numbers = {
        "table": table,
        "T_start": float(finest.kinetic_energy[0]),
        "J_start": finest.angular_momentum[0].tolist(),
        "T_exact": float(exact.kinetic_energy[-1]),
        **end_of_run(finest),
    }
    arrays = {"t": finest.t, "kinetic_energy": finest.kinetic_energy, "angular_momentum": finest.angular_momentum}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name, solution in last.items():
            style = "--" if name.endswith("covariant") else "-"
            left.plot(solution.t, solution.kinetic_energy, style, label=f"N = {name.replace('_', ', ')}")
            right.plot(solution.t, solution.angular_momentum[:, 2], style)
        left.plot(exact.t, exact.kinetic_energy, "k:", label="exact")
        left.set(xlabel="t in s", ylabel="kinetic energy in J")
        left.legend(fontsize=7)
        right.set(xlabel="t in s", ylabel="angular momentum about the third axis in Nms")

    return Result(numbers, arrays, draw)


def _largest_momentum(solution: Solution) -> float:
    """The largest angular momentum of a single body about the origin: of what the sum is made."""
    largest = 0.0
    for node in solution.system.nodes:
        e = next(e for e in solution.system.elements if e.name == f"inertia of {node.name}")
        assert isinstance(e, Inertia)
        M = np.zeros((e.n, e.n))
        M[e.pattern] = e.parameters["entries"]
        q, p = solution.configuration(node.name), solution.velocity(node.name) @ (np.triu(M) + np.triu(M, 1).T)
        L = sum(np.cross(q[:, k : k + 3], p[:, k : k + 3]) for k in range(0, 12, 3))
        largest = max(largest, float(np.linalg.norm(L, axis=1).max()))
    return largest


@study("siebert/satellite-forward", source="Siebert, section 4.3")
def satellite_forward(*, steps: tuple[int, ...] = (5, 10, 20, 40, 80, 160), torque: float = 200.0, t_end: float = 5.0) -> Result:
    """Constant torques on three rotors: BEM keeps the angular momentum at zero and the energy balance, at any step size.

    ``torque``: as in the source, where it acts backwards. ``table``: kinetic energy and angular momentum at the end, the largest drifts of
    angular momentum (in parts of the largest of a body) and of energy minus work (in parts of the largest energy); and the same with
    inputs through the covariant directors. ``T_exact``: by a composition of order 6 on S3R3.
    """
    return _runs(steps, t_end, {f"u{i}": -torque for i in (1, 2, 3)}, {})


@study("siebert/satellite-friction", source="Siebert, section 4.4")
def satellite_friction(*, steps: tuple[int, ...] = (5, 10, 20, 40, 80, 160), friction: float = 100.0, t_end: float = 5.0) -> Result:
    """Viscous friction at the rotors: BEM keeps the angular momentum and energy plus losses, at any step size.

    It starts with the angular velocity (0.2, 0.3, 0.4) and rotor rates 1, 2, 3 rad/s. Numbers as of ``siebert/satellite-forward``.
    """
    return _runs(steps, t_end, {}, {"friction": friction, "omega": (0.2, 0.3, 0.4), "rates": (1.0, 2.0, 3.0)})
