"""The flying spaghetti of Hante's thesis: convergence in time and space, methods, multipliers, variable steps (section 5.3).

Errors are those of the thesis: the largest over the common times of the discrete L2 norm, configurations compared as numbers of their
group. The reference is RATTLie with a far shorter step, its multipliers computed separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics import System
from kreisel.methods import Method, RATTLie
from kreisel.studies.base import Result, end_of_run, error_axes, fitted_order, largest, last, study
from kreisel.studies.heavy_top import multipliers
from kreisel.studies.words import further, method_of, model_of
from kreisel.view import plot_snapshots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution

Array = NDArray[np.float64]

#: Errors are compared at multiples of this fraction of a second.
GRID = 128
MODEL = "flying_spaghetti"
NAME = "spaghetti"


def run(system: System, t_end: float, step: float | Array, method: Method) -> Solution:
    """A run that must not fail."""
    from kreisel.simulation import simulate

    solution = simulate(system, t_end, step, method)
    if not solution.success:
        raise ValueError(f"{method}: {solution.message}")
    return solution


def best(solution: Solution) -> Array:
    """Multipliers of order 2: those of the method, for RATTLie the separate ones."""
    return multipliers(solution, "separate" if isinstance(solution.method, RATTLie) else "raw")


def steps_of(coarsest: int, finest: int, t_end: float) -> Array:
    """h = 2^-coarsest .. 2^-finest, all of which must hit the times of the grid."""
    if not 7 <= coarsest < finest:
        raise ValueError(f"coarsest must be at least 7 and finest greater than it, got {coarsest} and {finest}")
    if t_end * GRID != int(t_end * GRID) or t_end <= 0:
        raise ValueError(f"t_end must be a positive multiple of 1/{GRID}, got {t_end}")
    return np.array([2.0**-k for k in range(coarsest, finest + 1)])


def on_grid(values: Array, step: float) -> Array:
    """The rows at multiples of 1/GRID, of a run with a constant step."""
    return values[:: round(1 / (GRID * step))]


def convergence(
    solutions: Sequence[Solution], steps: Array, exact: dict[str, Array], lam: dict[str, Callable[[Solution], Array]]
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Errors of q, v and multipliers of several kinds, and fitted orders."""
    table: dict[str, list[float]] = {"h": steps.tolist()}
    for solution, h in zip(solutions, steps, strict=True):
        for name, value in (("q", solution.q), ("v", solution.v), *((k, f(solution)) for k, f in lam.items())):
            if value.shape[1]:  # a Cosserat beam has no multipliers
                table.setdefault(name, []).append(largest(on_grid(value, float(h)) - exact["lam" if name in lam else name]))
    return table, {name: fitted_order(steps, np.array(errors)) for name, errors in table.items() if name != "h"}


def reference(system: System, t_end: float, step: float) -> tuple[Solution, dict[str, Array]]:
    """The finest run, and its values at the times of the grid."""
    solution = run(system, t_end, step, RATTLie())
    return solution, {"q": on_grid(solution.q, step), "v": on_grid(solution.v, step), "lam": on_grid(best(solution), step)}


def key_figures(solution: Solution) -> dict[str, Any]:
    """What can be compared with the source: momentum, centre of mass, energy after the load."""
    from kreisel.mechanics.element import Inertia

    beam = solution.beam(NAME)
    masses = np.array([e.parameters["entries"][-1] for e in solution.system.elements if isinstance(e, Inertia)])
    centre = np.einsum("m,nmi->ni", masses, beam.position()) / masses.sum()
    numbers = {**end_of_run(solution), "momentum_end": solution.momentum[-1].tolist(), "centre_end": centre[-1].tolist()}
    after = solution.t >= 5.0
    if np.count_nonzero(after) > 1:
        numbers["energy_after_load"] = [float(solution.energy[after].min()), float(solution.energy[after].max())]
        spread = np.ptp(solution.angular_momentum[after], axis=0)
        numbers["angular_momentum_spread_after_load"] = float(spread.max())
    return numbers


def draw_errors(figure: Any, tables: dict[str, tuple[dict[str, list[float]], dict[str, float]]]) -> None:
    """One panel per method or mesh: errors over steps."""
    axes = np.atleast_1d(figure.subplots(1, len(tables), sharey=True))
    for ax, (title, (table, orders)) in zip(axes, tables.items(), strict=True):
        h = np.array(table["h"])
        for name, order in orders.items():
            ax.plot(h, table[name], "o-", label=f"{name}: order {order:.2f}")
        ax.plot(h, table["q"][0] * (h / h[0]) ** 2, "k:", linewidth=1, label="order 2")
        error_axes(ax)
        ax.set_title(title, fontsize=9)
        ax.legend(fontsize=7)
    axes[0].set_ylabel("error")


@study("hante/flying-spaghetti-time", source="Hante, Remark 5.5, Figure 7", further=further(MODEL))
def flying_spaghetti_time(
    *, coarsest: int = 9, finest: int = 11, refinement: int = 3, t_end: float = 4.0, segments: int = 8, **parameters: Any
) -> Result:
    """RATTLie on the flying spaghetti: order 2 in q, v and the separate multipliers; momenta and energy after the load are kept.

    Steps 2^-coarsest .. 2^-finest; the reference 2^-(finest + refinement). The thesis: 16 segments, t_end = 15, 2^-8 to 2^-20. The step
    must resolve the extensional waves, h < length / segments / 100. Further options: the parameters of the model.
    """
    system = model_of(MODEL, dict(parameters) | {"segments": segments})
    steps = steps_of(coarsest, finest, t_end)
    _, exact = reference(system, t_end, steps[-1] / 2**refinement)
    solutions = [run(system, t_end, float(h), RATTLie()) for h in steps]
    table, orders = convergence(solutions, steps, exact, {"lam": best})
    numbers = {"error_table": table, "orders": orders, **key_figures(solutions[-1])}
    beam = solutions[-1].beam(NAME)
    arrays = {"t": solutions[-1].t, "energy": solutions[-1].energy, "position": beam.position(), "s": beam.s}

    def draw(figure: Figure) -> None:
        left, right = np.ravel(np.array(figure.subfigures(1, 2)))
        draw_errors(left, {f"{segments} segments": (table, orders)})
        plot_snapshots(solutions[-1], ax=right.add_subplot(projection="3d"))

    return Result(numbers, arrays, draw)


@study("hante/flying-spaghetti-methods", source="Hante, Remarks 5.6 and 5.9, Figures 8 and 9", further=further(MODEL))
def flying_spaghetti_methods(
    *,
    methods: tuple[str, ...] = ("RATTLie", "SHAKELie", "GeneralizedAlpha(0.9, 'stabilised-2')", "BLieDF(2)"),
    coarsest: int = 9,
    finest: int = 11,
    refinement: int = 3,
    t_end: float = 2.0,
    segments: int = 8,
    **parameters: Any,
) -> Result:
    """RATTLie, SHAKELie, generalized-alpha and BLieDF on the flying spaghetti: all of order 2, RATTLie the most accurate in q.

    Options as for the study of RATTLie alone. The multipliers of RATTLie are the separate ones, those of the others their own.
    """
    system = model_of(MODEL, dict(parameters) | {"segments": segments})
    steps = steps_of(coarsest, finest, t_end)
    names = [methods] if isinstance(methods, str) else list(methods)
    _, exact = reference(system, t_end, steps[-1] / 2**refinement)
    tables = {}
    for name in names:
        solutions = [run(system, t_end, float(h), method_of(name)) for h in steps]
        tables[name] = convergence(solutions, steps, exact, {"lam": best})
    numbers = {
        "error_table": {"h": steps.tolist(), **{k: tables[names[0]][0].get(k, [0.0] * len(steps)) for k in ("q", "v", "lam")}},
        "orders": tables[names[0]][1],
        "methods": {name: {"errors": table, "orders": orders} for name, (table, orders) in tables.items()},
        **key_figures(solutions[-1]),
    }
    return Result(numbers, {"h": steps}, lambda figure: draw_errors(figure, tables))


@study("hante/flying-spaghetti-multipliers", source="Hante, Remark 5.10, Figure 12", further=further(MODEL))
def flying_spaghetti_multipliers(
    *, coarsest: int = 9, finest: int = 11, refinement: int = 3, t_end: float = 2.0, segments: int = 8, **parameters: Any
) -> Result:
    """One-sided multipliers of RATTLie are of order 1; interpolated and separately computed ones of order 2.

    Options as for ``hante/flying-spaghetti-time``. "plus" and "minus" are the two one-sided ones.
    """
    system = model_of(MODEL, dict(parameters) | {"segments": segments})
    steps = steps_of(coarsest, finest, t_end)
    _, exact = reference(system, t_end, steps[-1] / 2**refinement)
    solutions = [run(system, t_end, float(h), RATTLie()) for h in steps]
    kinds: dict[str, Callable[[Solution], Array]] = {
        "plus": lambda s: multipliers(s, "plus"),
        "minus": lambda s: multipliers(s, "raw"),
        "interpolated": lambda s: multipliers(s, "interpolated"),
        "lam": best,
    }
    table, orders = convergence(solutions, steps, exact, kinds)
    numbers = {"error_table": table, "orders": orders, **key_figures(solutions[-1])}
    return Result(numbers, {"h": steps}, lambda figure: draw_errors(figure, {"multipliers; lam: separate": (table, orders)}))


@study("hante/flying-spaghetti-variable-steps", source="Hante, Remark 5.11, Figure 13", further=further(MODEL))
def flying_spaghetti_variable_steps(
    *,
    coarsest: int = 9,
    finest: int = 12,
    refinement: int = 3,
    t_end: float = 2.0,
    segments: int = 8,
    seeds: int = 5,
    **parameters: Any,
) -> Result:
    """Random steps in [h/4, h]: RATTLie stays of order 2 in q, v and the separate multipliers.

    Errors at the end, mean over ``seeds`` random grids (two grids of one h may differ by a factor 2, so a single one shows no order).
    Otherwise as ``hante/flying-spaghetti-time``.
    """
    from kreisel.simulation import random_steps

    system = model_of(MODEL, dict(parameters) | {"segments": segments})
    steps = steps_of(coarsest, finest, t_end)
    _, exact = reference(system, t_end, steps[-1] / 2**refinement)
    table: dict[str, list[float]] = {"h": steps.tolist(), "q": [], "v": [], "lam": [], "interpolated": []}
    for h in steps:
        found: dict[str, list[float]] = {name: [] for name in table if name != "h"}
        for seed in range(seeds):
            solution = run(system, t_end, random_steps(t_end, float(h), seed=26031990 + seed), RATTLie())
            values = {"q": solution.q, "v": solution.v, "lam": best(solution), "interpolated": multipliers(solution, "interpolated")}
            for name, value in values.items():
                found[name].append(last(value[-1:] - exact["lam" if name == "interpolated" else name][-1:]))
        for name, errors in found.items():
            table[name].append(float(np.mean(errors)))
    orders = {name: fitted_order(steps, np.array(e)) for name, e in table.items() if name != "h"}
    numbers = {"error_table": table, "orders": orders, **key_figures(solution)}
    return Result(numbers, {"h": steps}, lambda figure: draw_errors(figure, {"largest step h; errors at the end": (table, orders)}))


@study("hante/flying-spaghetti-space", source="Hante, Remark 5.13, Figure 15", further=further(MODEL))
def flying_spaghetti_space(
    *, meshes: tuple[int, ...] = (4, 8, 16, 32), refinement: int = 2, step: float = 2**-11, t_end: float = 4.0, **parameters: Any
) -> Result:
    """The flying spaghetti on finer and finer meshes: order 2 in space, for positions, frames and velocities.

    Compared at 17 places, interpolated, at ``t_end``, with a mesh ``refinement`` times halved beyond the finest one. ``step``: below
    length / segments / 100 of that. The thesis: up to 256 segments, t_end = 15, h = 2^-15.
    """
    counts = sorted(meshes) if isinstance(meshes, tuple | list) else [meshes]
    if len(counts) < 2 or counts[0] < 1:
        raise ValueError(f"meshes must be at least two numbers of segments, got {meshes}")
    finest = counts[-1] * 2**refinement
    found = {}
    for M in (*counts, finest):
        solution = run(model_of(MODEL, dict(parameters) | {"segments": M}), t_end, step, RATTLie())
        beam = solution.beam(NAME)
        places = np.linspace(0, beam.beam.length, 17)
        twist = np.stack([np.interp(places, beam.s, c) for c in beam.twist()[-1].T], axis=1)
        found[M] = {"q": beam.at(places, t_end)[0], "v": twist, "tip": beam.position()[-1, 0]}
        if counts[-1] == M:
            numbers = key_figures(solution)
    size = 1.0 / np.array(counts)
    table: dict[str, list[float]] = {
        "segments": [float(M) for M in counts],
        **{k: [last((found[M][k] - found[finest][k])[None]) for M in counts] for k in ("q", "v")},
    }
    tips = np.array([found[M]["tip"][0] for M in counts])
    orders = {k: fitted_order(size, np.array(table[k])) for k in ("q", "v")}
    differences = np.abs(np.diff(tips))
    numbers |= {"mesh_table": table, "orders": orders, "tip_differences": differences.tolist()}
    numbers["tip_ratios"] = (differences[:-1] / differences[1:]).tolist()

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for k in ("q", "v"):
            ax.loglog(counts, table[k], "o-", base=2, label=f"{k}: order {orders[k]:.2f}")
        ax.loglog(counts, table["q"][0] * (size / size[0]) ** 2, "k:", base=2, label="order 2")
        ax.set(xlabel="segments", ylabel=f"error at t = {t_end:g} s")
        ax.legend()

    return Result(numbers, {"segments": np.array(counts)}, draw)
