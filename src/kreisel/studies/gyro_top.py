"""The top of Siebert's thesis in steady precession."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.names import parameters_of
from kreisel.studies.base import Result, end_of_run, error_axes, fitted_order, study
from kreisel.studies.words import MODELS, further, method_of, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.methods import Method


@study("siebert/gyro-top", source="Siebert, section 5.5", further=further("gyro_top"))
def gyro_top(
    *, steps: tuple[float, ...] = (0.01, 0.005, 0.0025, 0.001), t_end: float = 1.0, method: str | Method = "BEM", **parameters: Any
) -> Result:
    """A cone on its tip that precesses steadily: error of the centre of mass against the exact motion, energy and momentum.

    ``error``: |x - x_exact| / |x_exact| at the end. Further options: the parameters of the model.
    """
    from kreisel.simulation import simulate

    lengths = [float(h) for h in np.atleast_1d(steps)]
    values = parameters_of(MODELS["gyro_top"]) | parameters
    table: dict[str, list[float]] = {name: [] for name in ("h", "error", "energy_drift", "J3_drift")}
    for h in lengths:
        solution = simulate(model_of("gyro_top", parameters), t_end, h, method_of(method))
        if not solution.success:
            raise ValueError(f"h = {h}: {solution.message}")
        l, a, w = 0.75 * values["height"], values["inclination"], values["precession"] * solution.t
        exact = l * np.stack([np.sin(a) * np.sin(w), -np.sin(a) * np.cos(w), np.full(len(w), np.cos(a))], axis=1)
        table["h"].append(h)
        table["error"].append(float(np.linalg.norm(solution.position("top")[-1] - exact[-1]) / l))
        table["energy_drift"].append(float(np.abs(solution.energy - solution.energy[0]).max() / solution.energy[0]))
        table["J3_drift"].append(float(np.ptp(solution.angular_momentum[:, 2]) / solution.angular_momentum[0, 2]))
    numbers = {
        "table": table,
        "order": fitted_order(np.array(table["h"]), np.array(table["error"])),
        "J3": float(solution.angular_momentum[0, 2]),
        **end_of_run(solution),
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(table["h"], table["error"], "o-")
        error_axes(left)
        left.set_ylabel("relative error of the centre of mass")
        right.plot(exact[:, 0], exact[:, 1], "k:", label="exact")
        right.plot(*solution.position("top")[:, :2].T, label=f"h = {lengths[-1]:g}")
        right.set(xlabel="x1 in m", ylabel="x2 in m", aspect="equal")
        right.legend(fontsize=8)

    return Result(numbers, {"t": solution.t, "position": solution.position("top"), "exact": exact}, draw)
