"""Natural coordinates and the ways to integrate their equations, on the examples of the digest of Müller's work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ellipk

from kreisel.studies.base import Result, end_of_run, error_axes, fitted_order, study
from kreisel.studies.words import MODELS, further, model_of, parameters_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.methods import Method
    from kreisel.simulation import Solution

Array = NDArray[np.float64]


def run(name: str, parameters: dict[str, Any], t_end: float, step: float, method: Method) -> Solution:
    """A run that must get to its end."""
    from kreisel.simulation import simulate

    solution = simulate(model_of(name, parameters), t_end, step, method)
    if not solution.success:
        raise ValueError(f"{method}, step {step:g}: {solution.message}")
    return solution


def crossings(solution: Solution, coordinate: int) -> Array:
    """The times at which a coordinate changes its sign, by cubic interpolation of its values and velocities."""
    from scipy.interpolate import CubicHermiteSpline

    x, v, t = solution.q[:, coordinate], solution.v[:, coordinate], solution.t
    f = CubicHermiteSpline(t, x, v)
    return np.array([brentq(f, t[k], t[k + 1], xtol=1e-15) for k in np.flatnonzero(x[:-1] * x[1:] < 0)])


def period(solution: Solution, coordinate: int) -> float:
    """Twice the mean time between two changes of sign."""
    found = crossings(solution, coordinate)
    if len(found) < 2:
        raise ValueError(f"t_end = {solution.t[-1]:g} is too short for a period")
    return float(2 * (found[-1] - found[0]) / (len(found) - 1))


def pendulum_period(frequency: float, amplitude: float) -> float:
    """Of phi'' = -frequency^2 sin phi."""
    return float(4 * ellipk(np.sin(amplitude / 2) ** 2) / frequency)


@study("mueller/four-bar-baumgarte", source="Müller, (4.27), digest E4", further=further("point_four_bar"))
def four_bar_baumgarte(
    *,
    alphas: tuple[float, ...] = (0.0, 5.0, 20.0),
    solver: str = "RK45",
    rtol: float = 1e-5,
    atol: float = 1e-7,
    step: float = 0.01,
    t_end: float = 20.0,
    **parameters: Any,
) -> Result:
    """A four-bar linkage in point coordinates: how far the constraints drift with and without Baumgarte's stabilisation, and what it costs.

    ``alphas``: alpha = beta, zero being index reduction alone. ``solver``: one of scipy's, with ``rtol`` and ``atol``. ``step``: between
    outputs, and that of the methods beside it. ``drift``: of |B - A|^2 - length^2 at the end.
    """
    from kreisel.methods import BEM, Projection, SolveIvp

    name = "point_four_bar"
    values = parameters_of(MODELS[name]) | parameters
    length, amplitude = values["length"], values["angle"]
    runs: dict[str, Solution] = {
        f"alpha = {a:g}": run(name, parameters, t_end, step, SolveIvp(solver, rtol, atol, a, a)) for a in np.atleast_1d(alphas)
    }
    runs[f"{solver}, projected"] = run(name, parameters, t_end, step, SolveIvp(solver, rtol, atol, project=True))
    runs["Projection"] = run(name, parameters, t_end, step, Projection())
    runs["BEM"] = run(name, parameters, t_end, step, BEM())

    def gap(solution: Solution) -> Array:
        return np.asarray(np.abs(np.sum(solution.q[:, :2] ** 2, axis=1) - length**2))

    first = next(iter(runs.values()))
    table = {
        "run": list(runs),
        "drift": [float(gap(s)[-1]) for s in runs.values()],
        "largest_drift": [float(gap(s).max()) for s in runs.values()],
        "energy": [float(np.abs(s.energy - s.energy[0]).max()) for s in runs.values()],
        "evaluations": [s.stats.evaluations for s in runs.values()],
        "evaluations_relative": [s.stats.evaluations / first.stats.evaluations for s in runs.values()],
        "period": [period(s, 0) for s in runs.values()],
    }
    frequency = float(np.sqrt(1.2 * values["gravity"] / length))
    fine = run(name, parameters, min(t_end, 5.0), step / 4, Projection())
    numbers = {
        "table": table,
        "period": period(fine, 0),
        "period_exact": pendulum_period(frequency, amplitude),
        "period_small": 2 * np.pi / frequency,
        **end_of_run(runs["Projection"]),
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for label, s in runs.items():
            left.semilogy(s.t[1:], np.maximum(gap(s)[1:], 1e-17), linewidth=0.8, label=label)
            right.semilogy(s.t[1:], np.maximum(np.abs(s.energy - s.energy[0])[1:], 1e-17), linewidth=0.8, label=label)
        left.set(xlabel="t in s", ylabel="| |B - A|² - L² | in m²", title=f"constraint, {solver} with rtol = {rtol:g}")
        right.set(xlabel="t in s", ylabel="|E - E(0)| in J", title="energy")
        left.legend(fontsize=7, loc="center right", bbox_to_anchor=(1.0, 0.4))

    return Result(numbers, {"t": first.t, **{f"gap_{k}": gap(s) for k, s in enumerate(runs.values())}}, draw)


@study("mueller/brick-pendulum", source="Müller, (4.14), digest E5", further=further("natural_brick"))
def brick_pendulum(*, step: float = 0.02, halvings: int = 3, t_end: float = 6.0, **parameters: Any) -> Result:
    """A brick on a hinge in twelve natural coordinates, its frame at the hinge, not at the centre of mass: the period, by several methods.

    ``step``: the longest; then half of it, a quarter, ..., ``halvings`` times.
    """
    from kreisel.methods import BEM, Baumgarte, Projection, RATTLie

    name = "natural_brick"
    if halvings < 1:
        raise ValueError(f"halvings must be at least 1, got {halvings}")
    values = parameters_of(MODELS[name]) | parameters
    a, _, c = np.asarray(values["size"], dtype=float)
    # Moment of inertia about the hinge by the mass, and the arm
    frequency = float(np.sqrt(values["gravity"] * a / 2 / ((a**2 + c**2) / 12 + a**2 / 4)))
    exact = pendulum_period(frequency, values["angle"])
    steps = step / 2.0 ** np.arange(halvings + 1)
    methods: dict[str, Method] = {"Baumgarte": Baumgarte(), "Projection": Projection(), "BEM": BEM(), "RATTLie": RATTLie()}
    runs = {label: [run(name, parameters, t_end, h, method) for h in steps] for label, method in methods.items()}
    errors = {label: np.array([abs(period(s, 3) - exact) for s in several]) for label, several in runs.items()}
    numbers = {
        "period": period(runs["Projection"][-1], 3),
        "period_exact": exact,
        "period_small": 2 * np.pi / frequency,
        "period_errors": {"h": steps.tolist(), **{label: e.tolist() for label, e in errors.items()}},
        "orders": {label: fitted_order(steps, e) for label, e in errors.items()},
        "energy": {label: float(np.abs(s[0].energy - s[0].energy[0]).max()) for label, s in runs.items()},
        "constraint": {label: float(s[0].constraint_violation.max()) for label, s in runs.items()},
        **end_of_run(runs["Projection"][-1]),
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for label, e in errors.items():
            left.plot(steps, e, "o-", label=f"{label}: order {numbers['orders'][label]:.1f}")
            s = runs[label][0]
            right.semilogy(s.t[1:], np.maximum(np.abs(s.energy - s.energy[0])[1:], 1e-17), linewidth=0.8, label=label)
        error_axes(left)
        left.set(ylabel="error of the period in s")
        right.set(xlabel="t in s", ylabel="|E - E(0)| in J", title=f"energy, h = {step:g} s")
        left.legend(fontsize=8)

    solution = runs["Projection"][-1]
    return Result(numbers, {"t": solution.t, "axis": solution.q[:, 3:6]}, draw)


def newton_euler(values: dict[str, Any]) -> Array:
    """The second derivatives of (x, d1, d2, d3) of the free body at the start, where its axes are those of space, from the laws of Newton
    and Euler."""
    m, s, W = values["mass"], np.asarray(values["centre"]), np.asarray(values["omega"], dtype=float)
    J = np.asarray(values["inertia"], dtype=float)
    J = np.diag(J) if J.ndim == 1 else J
    F, r, M = (np.asarray(values[name], dtype=float) for name in ("force", "at", "moment"))
    turning = np.linalg.solve(J, np.cross(r - s, F) + M - np.cross(W, J @ W))

    def of(point: Array) -> Array:
        return np.asarray(np.cross(turning, point) + np.cross(W, np.cross(W, point)))

    return np.concatenate([F / m - of(s), *(of(e) for e in np.eye(3))])


@study("mueller/free-body", source="Müller, digest E6", further=further("natural_body"))
def free_body(*, step: float = 0.02, t_end: float = 50.0, seed: int = 3, **parameters: Any) -> Result:
    """A free body in twelve natural coordinates, its frame off the centre of mass: accelerations against Newton and Euler, and what
    Baumgarte's stabilisation, projection and the energy-momentum scheme keep over a long time.

    ``seed``: of a random body with random loads, for the accelerations. Further options: the parameters of the model, for the long run.
    """
    from kreisel.methods import BEM, Baumgarte, Projection

    name = "natural_body"
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((3, 3))
    E = E @ E.T
    loaded = {
        "mass": float(rng.uniform(0.5, 3)),
        "inertia": np.trace(E) * np.eye(3) - E,
        **{key: rng.standard_normal(3) for key in ("centre", "omega", "velocity", "force", "at", "moment")},
    }
    start = run(name, loaded, 1e-3, 1e-3, Projection())
    expected = newton_euler(loaded)
    methods: dict[str, Method] = {
        "index 1": Baumgarte(0.0, 0.0),
        "Baumgarte": Baumgarte(5.0, 5.0),
        "Projection": Projection(),
        "BEM": BEM(),
    }
    runs = {label: run(name, parameters, t_end, step, method) for label, method in methods.items()}
    M = np.asarray(_mass(parameters_of(MODELS[name]) | parameters))

    def momenta(s: Solution) -> Array:
        """Linear and angular momentum."""
        q, p = (a.reshape(len(a), 4, 3) for a in (s.q, s.v @ M))
        return np.concatenate([p[:, 0], np.cross(q, p).sum(axis=1)], axis=1)

    def off(a: Array) -> Array:
        return np.asarray(np.abs(a - a[:1]).reshape(len(a), -1).max(axis=1))

    kept = {label: {"energy": off(s.energy), "momenta": off(momenta(s)), "constraint": s.constraint_violation} for label, s in runs.items()}
    numbers = {
        "acceleration_error": float(np.abs(start.a[0] - expected).max() / np.abs(expected).max()),
        "largest": {label: {what: float(a.max()) for what, a in monitors.items()} for label, monitors in kept.items()},
        **end_of_run(runs["BEM"]),
    }

    def draw(figure: Figure) -> None:
        units = {"energy": "energy in J", "momenta": "momenta in kg m/s, Nms", "constraint": "constraints"}
        for axes, what in zip(figure.subplots(1, 3), units, strict=True):
            for label, monitors in kept.items():
                axes.semilogy(runs[label].t[1:], np.maximum(monitors[what][1:], 1e-17), linewidth=0.8, label=label)
            axes.set(xlabel="t in s", title=units[what])
        axes.legend(fontsize=8)

    return Result(numbers, {"t": runs["BEM"].t, **{f"energy_{k}": m["energy"] for k, m in enumerate(kept.values())}}, draw)


def _mass(values: dict[str, Any]) -> Array:
    from kreisel.mechanics import natural

    J = np.asarray(values["inertia"], dtype=float)
    return natural.mass_matrix(natural.pseudo_inertia(values["mass"], np.diag(J) if J.ndim == 1 else J, values["centre"]))
