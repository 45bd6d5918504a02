r"""The heavy top of Hante's thesis: orders of convergence, energy, multipliers, cost of the groups (section 5.3).

The reference is the Euler equation of the top about its fixed point, solved to about 1e-12,

.. math:: J\dot\Omega + \Omega\times J\Omega = m X\times R^T\gamma, \qquad \dot R = R\tilde\Omega, \qquad
          \lambda = m (R^T\gamma - \dot\Omega\times X - \Omega\times(\Omega\times X)) .

Errors are those of the thesis: the largest over the common times of the discrete L2 norm; configurations are compared as R and x, 12
numbers, velocities as Omega.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import BLieDF, Composition, Method, RATTLie
from kreisel.names import check_names, parameters_of
from kreisel.studies.base import Result, end_of_run, error_axes, fitted_order, largest, last, study
from kreisel.studies.words import FORMULATIONS, further, method_of, model_of, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution

Array = NDArray[np.float64]

#: Errors are compared at multiples of this fraction of a second.
GRID = 256
#: Errors below these shares of the largest value show rounding, of run and reference (about 1e-12 in R), and no order.
FLOORS = {"q": 3e-12, "v": 1e-13, "lam": 1e-13, "energy": 1e-13}
#: Errors of multipliers, which may have a transient of a few steps, are taken at every step of runs up to h = 2^-this, else as the others.
FINEST_COMPARED = 16


@dataclass(frozen=True)
class Reference:
    """The motion at some times: rotations (n, 3, 3), angular velocities in body axes and multipliers, (n, 3)."""

    t: Array
    R: Array
    omega: Array
    lam: Array
    centre: Array

    def at(self, t: Array) -> Reference:
        """The motion at some of these times."""
        i = np.searchsorted(self.t, t - 1e-12)
        return Reference(t, self.R[i], self.omega[i], self.lam[i], self.centre)

    @property
    def q(self) -> Array:
        """R and x, (n, 12)."""
        return np.concatenate([self.R.reshape(-1, 9), self.R @ self.centre], axis=1)


def reference(times: Array, parameters: Mapping[str, Any]) -> Reference:
    """The motion of the top with the given parameters of the model, by an explicit method of order 8."""
    from scipy.integrate import solve_ivp

    from kreisel.models.tops import SPINS

    p = parameters_of_top(parameters)
    m, X, gamma = float(p["mass"]), np.asarray(p["centre"], dtype=float), np.asarray(p["gravity"], dtype=float)
    W0 = np.asarray(SPINS[p["spin"]] if p["omega"] is None else p["omega"], dtype=float)
    J = np.asarray(p["inertia"], dtype=float)
    J = (np.diag(J) if J.ndim == 1 else J) + m * (X @ X * np.eye(3) - np.outer(X, X))
    inverse, arm = np.linalg.inv(J), m * skew(*X)

    def rate(t: float, y: Array) -> Array:
        R, W = y[:9].reshape(3, 3), y[9:]
        spin = skew(*W)
        return np.concatenate([(R @ spin).ravel(), inverse @ (arm @ (gamma @ R) - spin @ (J @ W))])

    solved = solve_ivp(rate, (0.0, times[-1]), np.concatenate([np.eye(3).ravel(), W0]), "DOP853", times, rtol=2.3e-14, atol=1e-13)
    R, W = solved.y[:9].T.reshape(-1, 3, 3), solved.y[9:].T
    # gamma @ R: the rows R^T gamma
    A = (m * np.cross(X, gamma @ R) - np.cross(W, W @ J)) @ inverse
    lam = m * (gamma @ R - np.cross(A, X) - np.cross(W, np.cross(W, X)))
    return Reference(times, R, W, lam, X)


def skew(a: float, b: float, c: float) -> Array:
    """The matrix of the cross product with (a, b, c)."""
    return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def parameters_of_top(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of the model: the given ones, else the defaults."""
    from kreisel.models import heavy_top

    return parameters_of(heavy_top) | dict(parameters)


def kinds_of_multipliers(method: Method) -> tuple[str, ...]:
    """Which multipliers a method has, apart from its own."""
    return ("plus", "interpolated", "separate") if isinstance(method, RATTLie) else ()


def multipliers(solution: Solution, kind: str) -> Array:
    """Multipliers of a kind; "plus": lam^+ of the step that begins at a time (what RATTLie shows as its own is lam^-)."""
    if kind != "plus":
        return solution.multipliers(kind)
    records = np.concatenate([solution._records, solution._beyond])[1:]
    return solution._multipliers(solution._layout.lam, solution.system.rows, "plus", records)[: len(solution.t)]


def common_times(finest: int, t_end: float) -> Array:
    """The times of all steps of the finest run; if they are too many, the times of the grid."""
    n = 2**finest if finest <= FINEST_COMPARED else GRID
    return np.asarray(np.arange(round(t_end * n) + 1) / n, dtype=float)


def errors(solution: Solution, exact: Reference, grid: Array) -> dict[str, float]:
    """Errors of q and v, the largest on the grid; of all multipliers, the largest of all steps, and (``..._end``) the one at the end."""
    i = np.searchsorted(solution.t, grid - 1e-12)
    x = np.concatenate([solution.rotation("top").reshape(-1, 9), solution.position("top")], axis=1)
    there = exact.at(grid)
    found = {"q": x[i] - there.q, "v": solution.velocity("top")[i, :3] - there.omega}
    if solution.lam.shape[1]:
        every = max(1, round((len(solution.t) - 1) / (len(exact.t) - 1)))
        lam = exact.at(solution.t[::every]).lam
        found["lam"] = solution.lam[::every] - lam
        for kind in kinds_of_multipliers(solution.method):
            found[f"lam_{kind}"] = multipliers(solution, kind)[::every] - lam
    out = {name: largest(d) for name, d in found.items()}
    out |= {f"{name}_end": last(d) for name, d in found.items() if name.startswith("lam")}
    out["energy"] = float(np.abs(solution.energy - solution.energy[0]).max())
    return out


def local_errors(solution: Solution, exact: Reference) -> dict[str, float]:
    """Errors after one step from exact data."""
    x = np.concatenate([solution.rotation("top")[1].ravel(), solution.position("top")[1]])
    return {"q": last((x - exact.q[0])[None]), "v": last(solution.velocity("top")[1:2, :3] - exact.omega)}


def orders(h: Array, table: dict[str, list[float]], scales: Mapping[str, float]) -> dict[str, float]:
    """Fitted orders of all columns, from errors above the floor of rounding."""
    fitted = {}
    for name, column in table.items():
        e = np.array(column)
        kind = name.split("_")[0]
        seen = e > FLOORS[kind] * scales.get(kind, 1.0)
        fitted[name] = fitted_order(h[seen], e[seen])
    return fitted


def coarsest_exponent(method: Method) -> int:
    """Where the method is in its asymptotic range on the fast top: h = 2^-this."""
    if isinstance(method, BLieDF):
        return {1: 15, 2: 12}[method.k]
    if isinstance(method, Composition):
        return {4: 7, 6: 5, 8: 4}[method.order]
    return 9


@study("hante/heavy-top-order", source="Hante, Remarks 5.5 and 5.7, Figures 5 and 6", further=further("heavy_top", methods=True))
def heavy_top_order(
    *,
    method: str | Method = "RATTLie",
    formulation: str = "S3R3",
    spin: str = "fast",
    coarsest: int | None = None,
    finest: int | None = None,
    t_end: float = 1.0,
    **parameters: Any,
) -> Result:
    """Errors of any method in any formulation over step sizes h = 2^-coarsest .. 2^-finest, and fitted orders of q, v and multipliers.

    The thesis: t_end = 10, h = 2^-9 to 2^-18. Default: where the method converges on the fast top, four halvings. Further options: the
    parameters of the model and method.

    Multipliers: ``lam`` as the method has them, for RATTLie lam^-; ``lam_plus``, ``lam_interpolated``, ``lam_separate``: see
    :mod:`kreisel.simulation.multipliers`. Names with ``_end``: the error at the end, not the largest. Errors of q and v are taken at
    multiples of 1/256; those of multipliers at every step, since some methods have a transient of a few steps, unless finest > 16.
    """
    from kreisel.simulation import simulate

    of_model, of_method = share(parameters, "heavy_top", method)
    chosen = method_of(method, of_method)
    of_model |= {"formulation": formulation, "spin": spin}
    system = model_of("heavy_top", of_model)
    first = coarsest_exponent(chosen) if coarsest is None else int(coarsest)
    final = first + 4 if finest is None else int(finest)
    if final <= first:
        raise ValueError(f"finest must be greater than coarsest = {first}, got {final}")
    exponents = range(first, final + 1)
    grid = np.arange(round(t_end * min(GRID, 2**first)) + 1) / min(GRID, 2**first)
    if len(grid) < 2:
        raise ValueError(f"t_end must be at least the coarsest step 2^-{first}, got {t_end}")
    h = 0.5 ** np.array(exponents, dtype=float)
    exact = reference(common_times(final, grid[-1]), of_model)
    # One step from exact data: not at the start, where part of the error vanishes by symmetry, but from the middle of the run, with the
    # space turned so that the top has R = 1 there.
    begin = exact.at(grid[len(grid) // 2 :][:1])
    of_later = of_model | {
        "gravity": begin.R[0].T @ np.asarray(parameters_of_top(of_model)["gravity"], dtype=float),
        "omega": begin.omega[0],
    }
    later, exact_later = model_of("heavy_top", of_later), reference(np.sort(h), of_later)
    # With a step beyond the end, or multipliers from neighbours, all steps are needed.
    thin = not chosen.extra_steps
    table: dict[str, list[float]] = {}
    local: dict[str, list[float]] = {}
    for e in exponents:
        every = 2**e // GRID if thin and final > FINEST_COMPARED else 1
        solution = simulate(system, grid[-1], 0.5**e, chosen, every=every)
        if not solution.success:
            raise ValueError(f"h = 2^-{e}: {solution.message}")
        row = errors(solution, exact, grid)
        for name, value in row.items():
            table.setdefault(name, []).append(value)
        one = simulate(later, 0.5**e, 0.5**e, chosen)
        for name, value in local_errors(one, exact_later.at(np.array([0.5**e]))).items():
            local.setdefault(name, []).append(value)
    scales = {
        "q": 1.0,
        "v": float(np.abs(exact.omega).max()),
        "lam": float(np.abs(exact.lam).max()),
        "energy": float(np.abs(solution.energy[0])),
    }
    numbers = {
        "method": repr(chosen),
        "error_table": {"h": h.tolist(), **table},
        "orders": orders(h, table, scales),
        "local_error_table": {"h": h.tolist(), **local},
        "local_orders": orders(h, local, scales),
        **end_of_run(solution),
    }
    title = f"{chosen}, {formulation}, {spin} top"
    arrays = {"h": h} | {f"error_{k}": np.array(v) for k, v in table.items()}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name, label in {"q": "configuration", "v": "angular velocity in rad/s"}.items():
            left.plot(h, table[name], "o-", label=f"{label}: order {numbers['orders'][name]:.2f}")
        slope(left, h, table["q"], getattr(chosen, "order", 2))
        error_axes(left)
        left.set(ylabel="error", title=title)
        left.legend(fontsize=8)
        draw_multipliers(right, h, table, numbers["orders"])

    return Result(numbers, arrays, draw)


def slope(axes: Axes, h: Array, e: list[float], order: int) -> None:
    """A line of the given order below a curve."""
    axes.plot(h, 0.4 * e[0] * (h / h[0]) ** order, "k:", linewidth=1, label=f"order {order}")


LABELS_OF_KINDS = {"plus": "one-sided, +", "interpolated": "interpolated", "separate": "separate"}
LABELS = {"lam": "as the method has it"} | {f"lam_{kind}": label for kind, label in LABELS_OF_KINDS.items()}


def draw_multipliers(axes: Axes, h: Array, table: Mapping[str, list[float]], fitted: Mapping[str, float]) -> None:
    """Errors of multipliers over the steps: the largest solid, at the end dashed."""
    for k, (name, label) in enumerate(LABELS.items()):
        if name in table:
            axes.plot(h, table[name], "o-", color=f"C{k}", label=f"{label}: order {fitted[name]:.2f}")
            axes.plot(h, table[f"{name}_end"], "x--", color=f"C{k}", linewidth=1, label=f"  at the end: order {fitted[f'{name}_end']:.2f}")
    error_axes(axes)
    axes.set(
        ylabel="error of the multiplier in N",
        title="multipliers" if "lam" in table else "no constraints, no multipliers",
    )
    if "lam" in table:
        axes.legend(fontsize=8)


@study(
    "hante/multipliers-top",
    source="Hante, section 3.2.4 (multipliers) on the heavy top; compare Figure 12 and Remark 5.10",
    further=further("heavy_top"),
)
def multipliers_top(
    *,
    formulation: str = "S3R3",
    spin: str = "fast",
    coarsest: int = 8,
    finest: int = 12,
    t_end: float = 1.0,
    atol: float = 1e-12,
    rtol: float = 1e-12,
    **parameters: Any,
) -> Result:
    """One-sided multipliers of RATTLie are of order 1, interpolated and separately computed ones of order 2.

    ``atol``, ``rtol``: of Newton's method; the thesis has 1e-8 and 1e-6, with which the errors stop falling for small steps. Further
    options: the parameters of the model.
    """
    from kreisel.simulation import Newton, simulate

    check_names([formulation], [f for f in FORMULATIONS if f not in ("SO3", "S3")], "there is no formulation with multipliers called")
    of_model = dict(parameters) | {"formulation": formulation, "spin": spin}
    system = model_of("heavy_top", of_model)
    if finest <= coarsest:
        raise ValueError(f"finest must be greater than coarsest = {coarsest}, got {finest}")
    per_second = min(GRID, 2**coarsest)
    grid = np.arange(round(t_end * per_second) + 1) / per_second
    exact = reference(common_times(finest, grid[-1]), of_model)
    h = 0.5 ** np.arange(coarsest, finest + 1, dtype=float)
    table: dict[str, list[float]] = {}
    for step in h:
        solution = simulate(system, grid[-1], step, newton=Newton(atol=atol, rtol=rtol))
        if not solution.success:
            raise ValueError(f"h = {step}: {solution.message}")
        for name, value in errors(solution, exact, grid).items():
            table.setdefault(name, []).append(value)
    scales = {"v": float(np.abs(exact.omega).max()), "lam": float(np.abs(exact.lam).max())}
    numbers = {"error_table": {"h": h.tolist(), **table}, "orders": orders(h, table, scales), **end_of_run(solution)}
    arrays = {"t": solution.t, "lam_raw": solution.lam, "lam_exact": exact.lam, "t_exact": exact.t}
    arrays |= {f"lam_{kind}": multipliers(solution, kind) for kind in ("plus", "interpolated", "separate")}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        draw_multipliers(left, h, table, numbers["orders"])
        i = np.searchsorted(solution.t, grid - 1e-12)
        for name, label in {"raw": "one-sided, -", **LABELS_OF_KINDS}.items():
            gap = np.sqrt(np.mean((arrays[f"lam_{name}"][i] - exact.at(grid).lam) ** 2, axis=1))
            right.semilogy(grid, gap, linewidth=0.9, label=label)
        right.set(xlabel="t in s", ylabel="error of the multiplier in N", title=f"over time, h = {h[-1]:.3g} s")
        right.legend(fontsize=8)

    return Result(numbers, arrays, draw)


#: E(0) - E(1) on S3R3 for h = 2^-9 .. 2^-12, and the same for the first step, from an independent computation.
INDEPENDENT_LOSS = {"GeneralizedAlpha": [1.16, 0.239, 0.0547, 0.0132], "BLieDF": [185, 45.5, 7.1, 1.09]}
INDEPENDENT_DROP = {"BLieDF": [11.6, 3.07, 0.778, 0.195]}


@study("hante/heavy-top-energy", source="Hante, Remark 5.12, Figure 14", further=further("heavy_top"))
def heavy_top_energy(
    *,
    formulation: str = "S3R3",
    spin: str = "fast",
    coarsest: int = 9,
    finest: int = 12,
    t_end: float = 1.0,
    rho_inf: float = 0.9,
    k: int = 2,
    **parameters: Any,
) -> Result:
    """RATTLie's energy oscillates about its initial value; generalized-alpha and BLieDF lose energy, BLieDF at once in its first step.

    Losses up to t_end for h = 2^-coarsest .. 2^-finest. The thesis: t_end = 10, h = 2^-16 only. Generalized-alpha starts with the
    corrected a_0, as in the thesis's program. ``rattlie_range``: lowest and highest E - E(0) in each second, for each h. Further options:
    the parameters of the model.
    """
    from kreisel.simulation import simulate

    system = model_of("heavy_top", dict(parameters) | {"formulation": formulation, "spin": spin})
    if finest < coarsest:
        raise ValueError(f"finest must be at least coarsest = {coarsest}, got {finest}")
    methods = {
        "RATTLie": method_of("RATTLie"),
        "GeneralizedAlpha": method_of("GeneralizedAlpha", {"rho_inf": rho_inf, "corrected_start": True}),
        "BLieDF": method_of("BLieDF", {"k": k}),
    }
    exponents = np.arange(coarsest, finest + 1)
    h = 0.5 ** exponents.astype(float)
    loss: dict[str, list[float]] = {name: [] for name in methods}
    drop: dict[str, list[float]] = {name: [] for name in methods}
    ranges, amplitudes, arrays, runs = [], [], {}, {}
    for name, method in methods.items():
        for e, step in zip(exponents, h, strict=True):
            solution = simulate(system, t_end, step, method, every=max(1, 2 ** int(e - 12)))
            if not solution.success:
                raise ValueError(f"{method}, h = 2^-{e}: {solution.message}")
            E = solution.energy - solution.energy[0]
            one = simulate(system, step, step, method).energy
            loss[name].append(-float(E[-1]))
            drop[name].append(float(one[0] - one[1]))
            if name == "RATTLie":
                amplitudes.append(float(E.max() - E.min()))
                seconds = [E[(solution.t >= s) & (solution.t <= s + 1)] for s in range(max(1, int(np.ceil(t_end))))]
                ranges.append([[float(part.min()), float(part.max())] for part in seconds])
        arrays[f"t_{name}"], arrays[f"energy_{name}"] = solution.t, solution.energy
        runs[name] = end_of_run(solution)
    numbers = {
        "h": h.tolist(),
        "loss": loss,
        "first_step_drop": drop,
        "rattlie_range": ranges,
        "rattlie_amplitude": amplitudes,
        "rattlie_amplitude_order": fitted_order(h, np.array(amplitudes)),
        "runs": runs,
        **runs["RATTLie"],
    }
    if (
        (coarsest, finest, t_end, rho_inf, k, spin) == (9, 12, 1.0, 0.9, 2, "fast")
        and formulation in ("SE3", "S3R3", "UDQ")
        and not parameters
    ):
        numbers |= {"independent_loss": INDEPENDENT_LOSS, "independent_first_step_drop": INDEPENDENT_DROP}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name in methods:
            E = arrays[f"energy_{name}"]
            left.plot(arrays[f"t_{name}"], E - E[0], linewidth=0.8, label=name)
            if name != "RATTLie":
                right.plot(h, np.abs(loss[name]), "o-", label=f"{name}: loss")
        right.plot(h, amplitudes, "o-", label="RATTLie: amplitude")
        right.plot(h, np.abs(drop["BLieDF"]), "x--", label="BLieDF: first step")
        left.set_yscale("symlog", linthresh=max(3 * amplitudes[-1], 1e-12))
        left.set(xlabel="t in s", ylabel="E(t) - E(0) in J", title=f"{formulation}, {spin} top, h = {h[-1]:.3g} s")
        error_axes(right)
        right.set(ylabel="energy in J", title=f"up to t = {t_end:g} s")
        left.legend(fontsize=8)
        right.legend(fontsize=8)

    return Result(numbers, arrays, draw)


@study("hante/heavy-top-groups", source="Hante, Figure 10", further=further("heavy_top", methods=True))
def heavy_top_groups(
    *,
    formulations: tuple[str, ...] = ("SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"),
    spin: str = "fast",
    method: str | Method = "RATTLie",
    step: float = 2.0**-12,
    t_end: float = 4.0,
    repetitions: int = 9,
    **parameters: Any,
) -> Result:
    """Time per step of the heavy top in each group, relative to SE(3): median of repetitions (the thesis: mean of 100).

    The thesis finds direct products faster than semidirect ones, quaternions a little faster than matrices, S3R3 faster than dual
    quaternions. Times vary between runs and machines; only the order of the groups is to be compared. Further options: the parameters of
    the model and method.
    """
    from kreisel.simulation import simulate

    check_names(formulations, FORMULATIONS, "there is no formulation")
    of_model, of_method = share(parameters, "heavy_top", method)
    chosen = method_of(method, of_method)
    names = list(dict.fromkeys([*formulations, "SE3"]))
    systems = {f: model_of("heavy_top", of_model | {"formulation": f, "spin": spin}) for f in names}
    steps = max(1, round(t_end / step))
    seconds: dict[str, list[float]] = {f: [] for f in names}
    for _ in range(max(1, int(repetitions))):
        for f, system in systems.items():  # in turn, so that what slows the machine down for a while slows all
            solution = simulate(system, t_end, step, chosen, every=steps)
            if not solution.success:
                raise ValueError(f"{f}: {solution.message}")
            seconds[f].append(solution.stats.seconds)
    median = {f: float(np.median(s)) for f, s in seconds.items()}
    relative = {f: median[f] / median["SE3"] for f in names}
    numbers: dict[str, Any] = {
        "microseconds_per_step": {f: 1e6 * median[f] / steps for f in names},
        "relative_time": relative,
        "rank": sorted(names, key=lambda f: relative[f]),
    }
    for claim, (fast, slow) in {
        "direct_faster_than_semidirect": (("SO3xR3", "S3xR3"), ("SE3", "S3R3", "UDQ")),
        "s3r3_faster_than_udq": (("S3R3",), ("UDQ",)),
        "quaternions_faster_than_matrices": (("S3xR3",), ("SO3xR3",)),
    }.items():
        if set(fast + slow) <= set(names):
            numbers[claim] = max(relative[f] for f in fast) < min(relative[f] for f in slow)
    numbers |= end_of_run(simulate(systems["SE3"], t_end, step, chosen, every=steps))
    arrays = {f"seconds_{f}": np.array(s) for f, s in seconds.items()}

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.bar(names, [relative[f] for f in names], color="C0")
        axes.boxplot(
            [np.array(seconds[f]) / median["SE3"] for f in names], positions=range(len(names)), manage_ticks=False, showfliers=False
        )
        axes.axhline(1, color="k", linewidth=0.8, linestyle=":")
        axes.set(xlabel="group", ylabel="time relative to SE3", title=f"{chosen}, h = {step:.3g} s, {len(seconds['SE3'])} repetitions")
        for i, f in enumerate(names):
            axes.text(i, 0.03, f"{numbers['microseconds_per_step'][f]:.2f} µs", ha="center", color="w")

    return Result(numbers, arrays, draw)
