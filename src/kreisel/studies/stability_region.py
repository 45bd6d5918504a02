"""Where the runs of Klemps are stable: amplification of linear oscillations (4.1), regions over damping, stiffness and step (5.2.3)."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import BLieDF, Composition, GeneralizedAlpha, RATTLie
from kreisel.models import extended_top, oscillator
from kreisel.studies.base import Result, study
from kreisel.studies.extended_top import GAMMA, J11, NAMES, listed, newton_of_thesis, twist

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

#: The energy of the hanging top, m g |X|.
LEAST = -147.15


def amplification_matrix(method: GeneralizedAlpha, h_omega: float) -> Array:
    """Klemps, (4.3), for z = (omega^2 q, v/h, a)."""
    m, x = method, h_omega
    plus = np.array([[1 / x**2, 0, -m.beta], [0, 1, -m.gamma], [1 - m.alpha_f, 0, 1 - m.alpha_m]])
    zero = np.array([[1 / x**2, 1, 0.5 - m.beta], [0, 1, 1 - m.gamma], [-m.alpha_f, 0, -m.alpha_m]])
    return np.asarray(np.linalg.solve(plus, zero))


def in_states_of_thesis(T: Array, h_omega: float) -> Array:
    """The amplification matrix in own states (q, v, v', (a - v')/h), h = 1, as one of (omega^2 q, v/h, a), on consistent states."""
    x2 = h_omega**2
    into = np.array([[1 / x2, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 1]])  # v' = -omega^2 q
    out = np.array([[x2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    return np.asarray(out @ T @ into)


@study("klemps/amplification", source="Klemps, section 4.1, (4.3)")
def amplification(
    *, rho_inf: float | tuple[float, ...] = (0.0, 0.5, 0.8, 0.9, 1.0), h_omega: float | tuple[float, ...] = (1.0, 10.0, 100.0, 1e6)
) -> Result:
    """The spectral radius of generalized-alpha falls from 1 for slow to rho_inf for fast oscillations (not to 0, as printed).

    From the method's own step; ``matrix_error``: largest distance from the matrix of the thesis, entries relative to the largest. Beside
    it, in the figure, other methods, and the map over h omega and damping.
    """
    from kreisel.stability import amplification as own
    from kreisel.stability import spectral_radius

    x = np.logspace(-2, 5, 400)
    rhos, places = [float(r) for r in listed(rho_inf)], [float(p) for p in listed(h_omega)]
    table: dict[str, list[float]] = {"h_omega": places}
    arrays: dict[str, Array] = {"h_omega": x}
    worst, monotone = 0.0, {}
    for rho in rhos:
        method = GeneralizedAlpha(rho_inf=rho)
        for p in places:
            exact = amplification_matrix(method, p)
            worst = max(worst, float(np.abs(in_states_of_thesis(own(method, p), p) - exact).max() / np.abs(exact).max()))
        table[f"rho_inf = {rho:g}"] = [float(r) for r in spectral_radius(method, places)]
        arrays[f"rho_inf = {rho:g}"] = spectral_radius(method, x)
        # Where the eigenvalue is double, at both ends, its modulus has errors of the square root of the rounding.
        monotone[f"{rho:g}"] = bool(np.all(np.diff(arrays[f"rho_inf = {rho:g}"]) < 1e-5))
    numbers = {"spectral_radius": table, "matrix_error": worst, "monotone": monotone}
    others = {"RATTLie": RATTLie(), "Composition, order 4": Composition(order=4), "BLieDF(1)": BLieDF(1), "BLieDF(2)": BLieDF(2)}
    zeta = np.linspace(0, 1.5, 61)

    def draw(figure: Figure) -> None:
        (a, b), (c, d) = figure.subplots(2, 2)
        for rho in rhos:
            a.semilogx(x, arrays[f"rho_inf = {rho:g}"], label=rf"$\rho_\infty$ = {rho:g}")
        a.set(xlabel="h ω", ylabel="spectral radius", title="generalized-alpha, no damping")
        z = np.logspace(-1.5, 2, 500)
        for name, method in others.items():
            b.semilogx(z, np.minimum(spectral_radius(method, z), 3), label=name)
        b.set(xlabel="h ω", ylim=(0, 1.5), title="other methods, no damping")
        for ax, method, name in ((c, GeneralizedAlpha(0.9), r"generalized-alpha, $\rho_\infty$ = 0.9"), (d, RATTLie(), "RATTLie")):
            y = np.logspace(-1, 1.5, 160)
            radius = spectral_radius(method, y[:, None], zeta[None])
            shown = ax.pcolormesh(y, zeta, np.minimum(radius, 2).T, cmap="RdBu_r", vmin=0, vmax=2, shading="nearest", rasterized=True)
            if radius.max() > 1.001:
                ax.contour(y, zeta, radius.T, levels=[1.0 + 1e-6], colors="k", linewidths=0.8)
            ax.set(xscale="log", xlabel="h ω", ylabel="damping ratio ζ", title=f"spectral radius, {name}")
            figure.colorbar(shown, ax=ax)
        for ax in (a, b, c, d):
            ax.title.set_fontsize(9)
        a.legend(fontsize=7)
        b.legend(fontsize=7)

    return Result(numbers, arrays, draw)


def critical_step(stiffness: Any, alpha: float) -> Any:
    """Beyond this step the first guess of Newton's method leaves the branch of the angle, whatever the damping."""
    return np.sqrt(2 * J11 * (1 + pi / abs(alpha)) / stiffness)


def region(
    formulation: str,
    damping: Array,
    stiffness: Array,
    steps: Array,
    *,
    alpha: float,
    gamma: float,
    inertia: str,
    t_end: float,
    rho_inf: float,
    newton: Any,
    **options: Any,
) -> xarray.Dataset:
    """The sweep over (damping, stiffness, step), each run to the last multiple of its step within ``t_end``. ``options``: of
    :func:`kreisel.sweep`."""
    import xarray

    from kreisel.sweeps import Design, sweep

    axes = {"damping": damping, "stiffness": stiffness, "step": steps}
    model = partial(extended_top, formulation, alpha=alpha, gamma=gamma, inertia=inertia)
    d, k, h = (a.ravel() for a in np.meshgrid(*axes.values(), indexing="ij"))
    design = Design.table(damping=d, stiffness=k, step=h, until=h * np.floor(t_end / h + 1e-9))
    data = sweep(model, design, method=GeneralizedAlpha(rho_inf=rho_inf), newton=newton, **options)
    grid = tuple(map(len, axes.values()))
    arrays = {name: (tuple(axes), a.values.reshape(grid), a.attrs) for name, a in data.data_vars.items()}
    return xarray.Dataset(arrays, coords=axes, attrs=data.attrs)


@study("klemps/stability-region", source="Klemps, section 5.2.3, Figures 5.12 to 5.14")
def stability_region(
    *,
    points: int = 10,
    damping: tuple[float, ...] | None = None,
    stiffness: tuple[float, ...] | None = None,
    formulation: str | tuple[str, ...] = ("SO3", "SE3", "SO3xR3"),
    alpha: float = pi / 20,
    gamma: float = GAMMA,
    inertia: str = "corrected",
    t_end: float = 5.0,
    rho_inf: float = 0.9,
    atol: float = 1e-8,
    rtol: float = 1e-6,
    max_iterations: int = 20,
    start: str = "extrapolated",
    limit: float = 500.0,
) -> Result:
    """The stable region is bounded by the first guess of Newton's method, not by the formulation: SO(3) and SE(3) coincide.

    ``points`` values each of d in [0, 500] and k in [1e4, 1e5], or given ``damping`` and ``stiffness``; h = 0.0100, 0.0125, ..., 0.1000.
    ``first_unstable``: the smallest unstable h per pair, None if there is none, by the criterion of the thesis (Newton's method fails, or
    |E(t_end)| > ``limit``); ``first_unstable_strict``: by a criterion that passes no wrong motion (the energy exceeds that of the start).
    The claim of the thesis, SO(3) more stable than the others, is not reproduced with the corrected moments of inertia.
    ``inertia="printed"`` takes those that are printed, ``start="zero"`` the first guess that cures the failure.
    """
    from kreisel.stability import bounded, confined, first_unstable

    d = np.linspace(0, 500, points) if damping is None else np.array(listed(damping), dtype=float)
    k = np.linspace(1e4, 1e5, points) if stiffness is None else np.array(listed(stiffness), dtype=float)
    h = np.round(0.01 + 0.0025 * np.arange(37), 10)
    newton = newton_of_thesis(atol, rtol, max_iterations, start)
    first, strict, wrong, runs = {}, {}, {}, 0
    for f in listed(formulation):
        common: dict[str, Any] = {"alpha": alpha, "gamma": gamma, "inertia": inertia, "t_end": t_end, "rho_inf": rho_inf, "newton": newton}
        data = region(f, d, k, h, **common)
        loose, tight = bounded(data, limit), confined(data, LEAST)
        first[f], strict[f] = (first_unstable(stable).values for stable in (loose, tight))
        wrong[f] = int((loose & ~tight).sum())
        runs += loose.size
    # The first step of the grid at or beyond h_c, to the rounding of the grid.
    h_c = critical_step(k, alpha)
    expected = np.array([np.append(h, np.nan)[int(np.searchsorted(h, c))] for c in h_c])
    at_threshold = {f: float(np.mean(strict[f] == expected[None])) for f in first}
    numbers: dict[str, Any] = {
        "damping": d.tolist(),
        "stiffness": k.tolist(),
        "critical_step": h_c.tolist(),
        "first_unstable": {f: a.tolist() for f, a in first.items()},
        "first_unstable_strict": {f: a.tolist() for f, a in strict.items()},
        "trajectories": runs,
        "passed_wrongly": wrong,
        "at_critical_step": at_threshold,
    }
    if len(first) > 1:
        a, *others = first
        numbers["compared"] = [_compare(a, b, first[a], first[b]) for b in others]
    arrays = {"damping": d, "stiffness": k} | {f"first_unstable_{f}": a for f, a in first.items()}
    arrays |= {f"first_unstable_strict_{f}": a for f, a in strict.items()}

    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, len(first), squeeze=False, sharey="row")
        for (f, values), (top, bottom) in zip(first.items(), axes.T, strict=True):
            shown = top.pcolormesh(d, k / 1e3, values.T, vmin=0.01, vmax=0.06, cmap="viridis", shading="nearest", rasterized=True)
            top.set(xlabel="d in N m s", title=NAMES.get(f, f))
            top.title.set_fontsize(9)
            D, K = np.meshgrid(d, k / 1e3, indexing="ij")
            dots = bottom.scatter(K, values, c=D, s=14, cmap="plasma", zorder=2)
            bottom.scatter(K, strict[f], c=D, s=22, marker="x", linewidths=0.7, cmap="plasma", zorder=3)
            fine = np.linspace(k[0], k[-1], 200)
            bottom.plot(fine / 1e3, critical_step(fine, alpha), "k:", linewidth=1.2, label="$h_c$: the first guess leaves the branch")
            bottom.set(xlabel="k in kN m")
        axes[0, 0].set(ylabel="k in kN m")
        axes[1, 0].set(ylabel="smallest unstable h in s\n(x: strict criterion)")
        axes[1, -1].legend(fontsize=7)
        figure.colorbar(shown, ax=axes[0].tolist(), label="smallest unstable h in s")
        figure.colorbar(dots, ax=axes[1].tolist(), label="d in N m s")

    return Result(numbers, arrays, draw)


def _compare(a: str, b: str, first: Array, second: Array) -> dict[str, Any]:
    """In how many pairs one is stable for longer steps than the other; none unstable counts as infinite."""
    x, y = np.nan_to_num(first, nan=np.inf), np.nan_to_num(second, nan=np.inf)
    count = {"equal": int(np.sum(x == y)), "first_more_stable": int(np.sum(x > y)), "second_more_stable": int(np.sum(x < y))}
    return {"first": a, "second": b, **count}


def with_oscillator(sol: Any) -> dict[str, Any]:
    """The largest distance of the twist from the linear oscillator of the same method and step, and the energy that is left of it."""
    from kreisel.simulation import Newton, simulate

    top = sol.system
    spring = next(e for e in top.elements if e.name == "spring").parameters["stiffness"][0]
    friction = [e.parameters["d"][0] for e in top.elements if e.name == "friction"]
    x = oscillator(mass=J11, damping=friction[0] if friction else 0.0, stiffness=spring, position=float(twist(sol)[0]))
    steps = len(sol.t) - 1
    if steps == 0:
        return {"difference": np.nan}
    linear = simulate(x, float(sol.t[-1]), float(sol.t[-1]) / steps, sol.method, newton=Newton())
    return {"difference": float(np.abs(twist(sol) - linear.q[: steps + 1, 0]).max())}


@study("klemps/oscillator-comparison", source="Klemps, sections 5.1 and 5.2, (5.5), Figures 5.3 and 5.9 to 5.11")
def oscillator_comparison(
    *,
    stiffness: float | tuple[float, ...] = tuple(np.logspace(2, 6, 41).round(3).tolist()),
    damping: float = 10.0,
    alpha: float = pi / 20,
    gamma: float = GAMMA,
    formulation: str = "SO3",
    step: float = 0.01,
    t_end: float = 2.0,
    rho_inf: float = 0.9,
    atol: float = 1e-8,
    rtol: float = 1e-6,
    max_iterations: int = 20,
) -> Result:
    r"""The twist of the top follows the linear oscillator, until the spring is so stiff that the first guess leaves its branch.

    ``difference``: largest distance of the angle from the oscillator, by the same method and step, over the stiffness; with the first
    guess of the thesis, with the guess "zero", and with an angle that is followed over full turns. The threshold is
    :math:`k_c = 2 J_{11} (1 + \pi/|\alpha|)/h^2`.
    """
    from kreisel.sweeps import sweep

    k = np.array(listed(stiffness), dtype=float)
    k_c = 2 * J11 * (1 + pi / abs(alpha)) / step**2
    arrays: dict[str, Array] = {"stiffness": k}
    reached: dict[str, NDArray[np.bool_]] = {}
    for name, start, angle in (
        ("printed", "extrapolated", "wrapped"),
        ("zero_start", "zero", "wrapped"),
        ("unwrapped", "extrapolated", "unwrapped"),
    ):
        model = partial(extended_top, formulation, damping=damping, alpha=alpha, gamma=gamma, angle=angle)
        newton = newton_of_thesis(atol, rtol, max_iterations, start)
        method = GeneralizedAlpha(rho_inf=rho_inf)
        data = sweep(model, {"stiffness": k}, until=t_end, step=step, method=method, newton=newton, measure=with_oscillator)
        reached[name] = (data["status"] == "REACHED_END").values
        arrays[name] = data["difference"].values
    below, above = k < k_c, k > k_c
    numbers = {
        "critical_stiffness": k_c,
        "largest_difference_below": {n: _most(arrays[n][below]) for n in ("printed", "zero_start", "unwrapped")},
        "least_difference_above": float(arrays["printed"][above & reached["printed"]].min(initial=np.inf)),
        "largest_difference_above": {n: _most(arrays[n][above]) for n in ("zero_start", "unwrapped")},
        "failed": {n: int(np.sum(~reached[n])) for n in ("printed", "zero_start", "unwrapped")},
    }

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for name, mark, label in (
            ("printed", "o-", "first guess of the thesis"),
            ("zero_start", "s-", 'first guess "zero"'),
            ("unwrapped", "x-", "angle followed over full turns"),
        ):
            ax.loglog(k, arrays[name], mark, markersize=4, linewidth=0.8, mfc="none", label=label)
        ax.axvline(k_c, color="k", linestyle=":", label="k_c")
        ax.set(xlabel="stiffness k in N m", ylabel="largest distance of the angle\nfrom the oscillator in rad")
        ax.legend(fontsize=8)

    return Result(numbers, arrays, draw)


def _most(a: Array) -> float:
    return float(np.nanmax(a)) if a.size else float("nan")
