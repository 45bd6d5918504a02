"""The rolling disk of Hante's thesis: orders of convergence with a nonholonomic constraint (Remark 5.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.studies.base import Result, end_of_run, error_axes, fitted_order, largest, study
from kreisel.studies.words import further, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution

Array = NDArray[np.float64]

LABELS = {"q": "configuration", "v": "velocity", "lam": "multiplier of contact", "mu": "multipliers of rolling"}


def seen(solution: Solution, every: int) -> dict[str, Array]:
    """What is compared: q, v, and lam and mu computed separately (Hante, Algorithm 4)."""
    from kreisel.simulation.multipliers import separate

    lam, _, mu = separate(solution)
    return {"q": solution.q[::every], "v": solution.v[::every], "lam": lam[::every], "mu": mu[::every]}


@study("hante/rolling-disk", source="Hante, Remark 5.8, Figure 11", further=further("rolling_disk"))
def rolling_disk(
    *, steps: int = 4096, halvings: int = 4, refinement: int = 8, t_end: float = 2.0, formulation: str = "S3R3", **parameters: Any
) -> Result:
    """Nonholonomic RATTLie is of order 2 in q, v, lam and mu, and keeps contact and rolling to round-off.

    ``steps``: of the finest run; the others have half as many, a quarter, ..., ``halvings`` times. The reference is RATTLie itself with
    ``refinement`` times as many. The thesis: h = 2^-8 to 2^-21 with the reference 2^-21, t_end = 2. Errors are taken at 256 times, in the
    numbers of the formulation (S3R3: quaternion and position). The shorter the reference's step, the less it bends the orders: a
    refinement r makes the last error too small by 1/r^2. Further options: the parameters of the model.
    """
    from kreisel.simulation import simulate

    system = model_of("rolling_disk", dict(parameters) | {"formulation": formulation})
    if halvings < 1 or refinement < 2:
        raise ValueError(f"halvings must be at least 1 and refinement at least 2, got {halvings} and {refinement}")
    if steps < 2**halvings * 2 or steps % 2**halvings:
        raise ValueError(f"steps must be a multiple of 2**halvings = {2**halvings}, at least twice that, got {steps}")
    counts = [steps // 2**k for k in range(halvings, -1, -1)]
    points = int(np.gcd(256, counts[0]))

    def run(n: int) -> Solution:
        solution = simulate(system, t_end, t_end / n)
        if not solution.success:
            raise ValueError(f"{n} steps: {solution.message}")
        return solution

    exact = seen(run(steps * refinement), steps * refinement // points)
    h = t_end / np.array(counts, dtype=float)
    table: dict[str, list[float]] = {name: [] for name in (*LABELS, "energy", "constraint", "rolling")}
    for n in counts:
        solution = run(n)
        for name, value in seen(solution, n // points).items():
            # At t = 0 both have the multipliers of the consistent start.
            table[name].append(largest(value - exact[name]))
        table["energy"].append(float(np.abs(solution.energy - solution.energy[0]).max()))
        table["constraint"].append(float(solution.constraint_violation.max()))
        table["rolling"].append(float(solution.velocity_violation.max()))
    fitted = {name: fitted_order(h, np.array(table[name])) for name in (*LABELS, "energy")}
    numbers = {
        "error_table": {"h": h.tolist(), **table},
        "orders": fitted,
        "lam_start": solution.lam[0].tolist(),
        "mu_start": solution.mu[0].tolist(),
        **end_of_run(solution),
    }
    arrays = {"t": solution.t, "position": solution.position("disk"), "energy": solution.energy, "h": h}
    arrays |= {f"error_{name}": np.array(table[name]) for name in LABELS}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name, label in LABELS.items():
            left.plot(h, table[name], "o-", label=f"{label}: order {fitted[name]:.2f}")
        left.plot(h, 0.3 * table["q"][0] * (h / h[0]) ** 2, "k:", linewidth=1, label="order 2")
        error_axes(left)
        left.set(ylabel="error", title="convergence")
        left.legend(fontsize=8)
        x = arrays["position"]
        line = right.scatter(x[:, 0], x[:, 1], c=x[:, 2], s=3)
        right.plot(*x[0, :2], "k^", label="start")
        right.plot(*x[-1, :2], "ks", label="end")
        right.set(xlabel="x1 in m", ylabel="x2 in m", title=f"path of the centre up to t = {t_end:g} s", aspect="equal")
        figure.colorbar(line, ax=right, label="height x3 in m", shrink=0.7)
        right.legend(fontsize=8)

    return Result(numbers, arrays, draw)
