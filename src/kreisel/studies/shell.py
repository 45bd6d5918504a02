"""The micropolar shell of Hante's appendix D: momenta, energy, order in time, and a strip against the beam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.mechanics import Mechanism, Section, straight
from kreisel.studies.base import Result, end_of_run, error_axes, fitted_order, largest, study
from kreisel.studies.words import further, method_of, model_of
from kreisel.view import plot_snapshots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@study("hante/shell", source="Hante, appendix D", further=further("flying_plate"))
def shell(
    *,
    method: str = "RATTLie",
    steps: tuple[float, ...] = (2**-11, 2**-12, 2**-13),
    refinement: int = 4,
    t_end: float = 1.0,
    meshes: tuple[int, ...] = (8, 16, 32),
    **parameters: Any,
) -> Result:
    """A free plate pushed at a corner: momenta to round-off, energy without drift, order 2 in time; a clamped strip bends like a beam.

    ``steps``: compared with one ``refinement`` times shorter than the last. ``meshes``: of the strip, whose end and first frequency stand
    beside those of a beam with as many segments. Further options: the parameters of the plate.
    """
    from kreisel.simulation import simulate

    system = model_of("flying_plate", parameters)
    hs = np.array(steps, dtype=float)
    points = round(t_end / float(hs[0]))

    def run(h: float) -> Any:
        solution = simulate(system, t_end, h, method_of(method), every=max(1, round(hs[0] / h)))
        if not solution.success:
            raise ValueError(solution.message)
        return solution

    exact = run(float(hs[-1]) / refinement)
    solutions = [run(float(h)) for h in hs]
    table = {"h": hs.tolist()}
    table |= {k: [largest((getattr(s, k) - getattr(exact, k))[:points]) for s in solutions] for k in ("q", "v")}
    orders = {k: fitted_order(hs, np.array(table[k])) for k in ("q", "v")}
    finest = solutions[-1]
    after = finest.t > 0.5 + 1e-9
    strips = _strips(list(meshes) if isinstance(meshes, tuple | list) else [meshes])
    numbers = {
        "errors": table,
        "orders": orders,
        "momentum_end": finest.momentum[-1].tolist(),
        "momentum_drift": float(np.ptp(finest.momentum[after], axis=0).max()) if after.any() else None,
        "angular_momentum_drift": float(np.ptp(finest.angular_momentum[after], axis=0).max()) if after.any() else None,
        "energy_after_push": [float(finest.energy[after].min()), float(finest.energy[after].max())] if after.any() else None,
        "strips": strips,
        **end_of_run(finest),
    }
    x = finest.shell("plate").position()
    arrays = {"t": finest.t, "position": x, "energy": finest.energy}

    def draw(figure: Figure) -> None:
        left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
        for k in ("q", "v"):
            left.plot(hs, table[k], "o-", label=f"{k}: order {orders[k]:.2f}")
        error_axes(left)
        left.set_ylabel("error")
        left.legend(fontsize=8)
        plot_snapshots(finest, 4, right)

    return Result(numbers, arrays, draw)


def _strips(meshes: list[int]) -> dict[str, Any]:
    """A clamped strip one cell wide and the beam of the same section: place of the loaded end, and the lowest frequency."""
    from kreisel.simulation import equilibrium, modes

    L, b, h, E, rho, load = 1.0, 0.05, 0.01, 70e9, 2700.0, 100.0
    out: dict[str, Any] = {"segments": meshes, "shell_end": [], "beam_end": [], "shell_hertz": [], "beam_hertz": []}
    for M in meshes:
        shell_at_rest = equilibrium(model_of("strip", {"cells": (M, 1), "load": load}), loads=4)
        out["shell_end"].append(shell_at_rest.shell("strip").position()[-1, -2:].mean(axis=0).tolist())
        out["shell_hertz"].append(float(modes(model_of("strip", {"cells": (M, 1), "load": 0.0}), count=1).frequencies[0]))
        for key, force in (("beam_end", load), ("beam_hertz", 0.0)):
            m = Mechanism()
            # Axis 1 of the section along the strip's second axis: the load bends about it.
            curve = straight(origin=(0, b / 2, 0), direction=(1, 0, 0), normal=(0, 1, 0))
            beam = m.beam("beam", L, M, Section.rectangle(b, h, E=E, nu=0.0, rho=rho, shear=5 / 6), curve=curve, start="clamped")
            beam.load(force=(0, 0, force), at=L, name="load")
            if force:
                out[key].append(equilibrium(m.system(), loads=4).position(f"beam[{M}]")[-1].tolist())
            else:
                out[key].append(float(modes(m.system(), count=1).frequencies[0]))
    gap = np.array(out["shell_end"]) - np.array(out["beam_end"])
    out["gap"] = np.linalg.norm(gap, axis=1).tolist()
    return out
