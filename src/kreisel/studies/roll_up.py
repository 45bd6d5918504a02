"""The roll-up of Hante's thesis: a clamped beam that a moment bends into a circle (Remark 5.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.studies.base import Result, end_of_run, study
from kreisel.studies.words import further, method_of, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: When the thesis shows the beam (Figure 4).
SNAPSHOTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 30.0)


@study("hante/roll-up", source="Hante, Remark 5.14, Figures 4, 16 and 17", further=further("roll_up"))
def roll_up(
    *,
    method: str = "GeneralizedAlpha(0.9)",
    step: float = 2**-8,
    t_end: float = 30.0,
    meshes: tuple[int, ...] = (4, 8, 16, 32),
    **parameters: Any,
) -> Result:
    """A moment 2 pi EI / L rolls a damped beam up to a full circle, on any mesh: the discrete circle is an equilibrium, nothing locks.

    ``circle_imbalance``: generalised forces left on the exact discrete circle, per number of segments in ``meshes``.
    ``static_distance``: of the end from the start in the equilibrium found by statics. ``distance_end``, ``velocity_end``: of the motion
    at ``t_end``, |x_0 - x_M| + |-p_0 - p_M| (the end has turned once, so its quaternion is the opposite) and |v_M|. The thesis: h = 2^-10
    and 2^-16, rho = 0.9 (0.8 in its program). Further options: the parameters of the model.
    """
    from kreisel.simulation import equilibrium, imbalance, simulate

    counts = list(meshes) if isinstance(meshes, tuple | list) else [meshes]
    left, static = [], []
    for M in counts:
        system = model_of("roll_up", dict(parameters) | {"segments": M, "rolled": True})
        left.append(float(np.abs(imbalance(system)).max()))
        found = equilibrium(model_of("roll_up", dict(parameters) | {"segments": M}), loads=8)
        static.append(float(np.linalg.norm(found.beam("strip").position()[-1, -1])) if found.success else float("nan"))
    solution = simulate(model_of("roll_up", parameters), t_end, step, method_of(method), every=max(1, round(2**-6 / step)))
    strip = solution.beam("strip")
    q, v = strip.configuration(), strip.twist()
    x, p = strip.position(), q[..., :4]
    distance = np.linalg.norm(x[:, 0] - x[:, -1], axis=1) + np.linalg.norm(p[:, 0] + p[:, -1], axis=1)
    speed = np.linalg.norm(v[:, -1], axis=1)
    numbers = {
        "meshes": counts,
        "circle_imbalance": left,
        "static_distance": static,
        "distance_end": float(distance[-1]),
        "velocity_end": float(speed[-1]),
        "out_of_plane": float(np.abs(x[..., 1]).max()),
        **end_of_run(solution),
    }
    arrays = {"t": solution.t, "position": x, "distance": distance, "velocity": speed}

    def draw(figure: Figure) -> None:
        left_ax, right_ax = figure.subplots(1, 2)
        s = np.linspace(0, strip.beam.length, 81)
        for t in (t for t in SNAPSHOTS if t <= solution.t[-1]):
            line = strip.position_at(s, t)[0]
            left_ax.plot(line[:, 0], line[:, 2], label=f"t = {t:g} s")
        left_ax.set(xlabel="x1 in m", ylabel="x3 in m", aspect="equal")
        left_ax.legend(fontsize=7)
        # At the start the end stands still, which a logarithm does not show.
        right_ax.semilogy(solution.t[1:], distance[1:], label="distance of the ends")
        right_ax.semilogy(solution.t[1:], speed[1:], label="velocity of the end", linewidth=0.8)
        right_ax.set(xlabel="t in s")
        right_ax.legend(fontsize=8)

    return Result(numbers, arrays, draw)
