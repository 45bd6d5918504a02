"""The oscillators of Sadłowski's thesis: Newmark's method and weighted residuals (section 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import Newmark, WeightedResidual
from kreisel.studies.base import Result, end_of_run, fitted_order, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution

Array = NDArray[np.float64]


@study("sadlowski/oscillators", source="Sadłowski, section 4.1, Figures 4.1-4.5")
def oscillators(
    *,
    beta: float = 0.25,
    gamma: float = 0.5,
    step: float = 0.05,
    halvings: int = 2,
    t_end: float = 10.0,
    quadratic: float = 0.5,
    stiffness: float = 0.95**2,
    load: tuple[tuple[float, float], ...] = ((-1.0, 1.0), (-10.0, 100.0)),
    forced_steps: tuple[float, ...] = (0.1, 0.05, 0.01, 0.001),
    forced_end: float = 100.0,
) -> Result:
    """Newmark on the harmonic and the quadratic oscillator; weighted residuals on the forced one: exact impulses help at large steps.

    Of ``harmonic`` x'' + x = 0 and ``quadratic`` x'' + x + c x^2 = 0, from x = 0 with x' = 1: largest errors for the step and its halves,
    their order, the range of x, the largest change of the energy, iterations of Newton's method per step. ``frequency``: of the harmonic
    one, numerically, (2/h) atan(h/2) for average acceleration. Of ``forced`` x'' + K x = sum A sin(w t), from rest, with
    alpha = theta = 1/2: largest errors for each of ``forced_steps``, with the exact impulse of the load and with the load in the middle.
    The thesis gives neither its step nor its end nor its start.
    """
    from kreisel.models import oscillator
    from kreisel.simulation import simulate

    method = Newmark(beta, gamma)
    lengths = step / 2.0 ** np.arange(halvings + 1)

    def run(system: Any, until: float, h: float, with_method: Any) -> Solution:
        sol = simulate(system, until, h, with_method)
        if not sol.success:
            raise ValueError(f"h = {h}: {sol.message}")
        return sol

    numbers: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for name, c in (("harmonic", 0.0), ("quadratic", quadratic)):
        system = oscillator(mass=1, stiffness=1, position=0, velocity=1, quadratic=c)
        sols = [run(system, t_end, h, method) for h in lengths]
        errors = [float(np.abs(s.q[:, 0] - (np.sin(s.t) if c == 0 else quadratic_motion(s.t, c))).max()) for s in sols]
        first = sols[0]
        numbers[name] = {
            "step": lengths.tolist(),
            "error": errors,
            "order": fitted_order(lengths, np.array(errors)),
            "position_end": float(first.q[-1, 0]),
            "range": [float(first.q.min()), float(first.q.max())],
            "energy_change": float(np.abs(first.energy - first.energy[0]).max()),
            "iterations": first.stats.newton_iterations_mean,
        }
        arrays |= {f"t_{name}": first.t, f"x_{name}": first.q[:, 0], f"energy_{name}": first.energy}
    eigenvalues = np.linalg.eigvals(run(oscillator(mass=1, stiffness=1, position=0, velocity=1), step, step, method).step_matrix(0))
    numbers["harmonic"]["frequency"] = float(np.abs(np.angle(eigenvalues)).max() / step)

    waves = [(float(a), float(w)) for a, w in load]
    system = oscillator(mass=1, stiffness=stiffness, position=0, velocity=0, load=waves)
    steps = list(forced_steps) if isinstance(forced_steps, tuple | list) else [forced_steps]
    table: dict[str, list[float]] = {"impulse": [], "sampled": []}
    for h in steps:
        for kind, X in (("impulse", "uniform"), ("sampled", 0.5)):
            sol = run(system, forced_end, h, WeightedResidual(X=X))
            table[kind].append(float(np.abs(sol.q[:, 0] - forced_motion(sol.t, stiffness, waves)).max()))
            if kind == "impulse":
                arrays |= {"t_forced": sol.t, "x_forced": sol.q[:, 0], "energy_forced": sol.energy}
    numbers["forced"] = {
        "step": steps,
        **table,
        "position_max": float(np.abs(arrays["x_forced"]).max()),
        "energy_max": float(arrays["energy_forced"].max()),
    }
    numbers |= end_of_run(sol)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, 2)
        for name in ("harmonic", "quadratic"):
            t = arrays[f"t_{name}"]
            line = axes[0, 0].plot(t, np.sin(t) if name == "harmonic" else quadratic_motion(t, quadratic), linewidth=0.9)[0]
            axes[0, 0].plot(t[::5], arrays[f"x_{name}"][::5], "o", markersize=3, color=line.get_color(), label=name)
            axes[0, 1].plot(t, arrays[f"energy_{name}"] - arrays[f"energy_{name}"][0], color=line.get_color(), label=name)
        axes[0, 0].set(xlabel="t", ylabel="x")
        axes[0, 0].set_title(f"Newmark({beta:g}, {gamma:g}), h = {step:g} (dots), and exact", fontsize=9)
        axes[0, 1].set(xlabel="t")
        axes[0, 1].set_title("change of the energy", fontsize=9)
        axes[1, 0].plot(arrays["t_forced"], arrays["x_forced"], linewidth=0.9)
        energy = axes[1, 0].twinx()
        energy.plot(arrays["t_forced"], arrays["energy_forced"], color="C1", linewidth=0.5, alpha=0.7)
        energy.set_ylabel("energy", color="C1", fontsize=8)
        axes[1, 0].set(xlabel="t")
        axes[1, 0].set_ylabel("x", color="C0")
        axes[1, 0].set_title(f"forced, weighted residuals, h = {steps[-1]:g}", fontsize=9)
        for kind, label in {"impulse": "exact impulse", "sampled": "load in the middle"}.items():
            axes[1, 1].loglog(steps, table[kind], "o-", label=label)
        axes[1, 1].set(xlabel="step h", ylabel="largest error")
        axes[1, 1].set_title("forced", fontsize=9)
        for ax in (axes[0, 0], axes[0, 1], axes[1, 1]):
            ax.legend(fontsize=7)
        for ax in axes.flat:
            ax.tick_params(labelsize=8)

    return Result(numbers, arrays, draw)


def quadratic_motion(t: Array, c: float) -> Array:
    """x'' + x + c x^2 = 0 from x = 0, x' = 1, to about 1e-13."""
    from scipy.integrate import solve_ivp

    solved = solve_ivp(lambda _, y: [y[1], -y[0] - c * y[0] ** 2], (0.0, t[-1]), [0.0, 1.0], "DOP853", t, rtol=2.3e-14, atol=1e-14)
    return np.asarray(solved.y[0])


def forced_motion(t: Array, K: float, load: list[tuple[float, float]]) -> Array:
    """x'' + K x = sum A sin(w t) from rest: sum c (sin w t - w sin(k t)/k), c = A/(K - w^2), k = sqrt(K)."""
    k = np.sqrt(K)
    return np.asarray(sum(A / (K - w**2) * (np.sin(w * t) - w / k * np.sin(k * t)) for A, w in load) + 0 * t)
