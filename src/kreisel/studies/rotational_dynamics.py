r"""The rigid bodies of Sadłowski's thesis under A1, A2, A3 and A4: about the intermediate axis, and a heavy symmetric top (chapter 5).

The reference is the equation of Euler, solved to about 1e-12,

.. math:: J\dot W + W\times J W = R^T m, \qquad \dot R = R \tilde W .

Its results are known only as figures that are lost and a few sentences; the numbers to compare with are those of an independent program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.names import parameters_of
from kreisel.studies.base import Result, end_of_run, study
from kreisel.studies.heavy_top import skew
from kreisel.studies.words import further, method_of, model_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution

Array = NDArray[np.float64]
#: The torque in body axes, from the rotation.
Torque = Callable[[Array], Array]


@dataclass(frozen=True)
class Motion:
    """Rotations (n, 3, 3) and angular velocities in body axes (n, 3) at some times."""

    t: Array
    R: Array
    W: Array

    def at(self, t: Array) -> Motion:
        """The motion at some of these times."""
        i = np.searchsorted(self.t, t - 1e-12)
        return Motion(t, self.R[i], self.W[i])

    def momentum(self, J: Array) -> Array:
        """pi = R J W, (n, 3)."""
        return np.asarray(np.einsum("nij,nj->ni", self.R, self.W @ J))


def motion(times: Array, J: Array, R0: Array, W0: Array, pieces: Sequence[tuple[float, Torque]]) -> Motion:
    """The motion at the given times, of which the last is the end. ``pieces``: until when which torque acts; the integration starts anew
    at each."""
    from scipy.integrate import solve_ivp

    inverse = np.linalg.inv(J)
    t, y, found = 0.0, np.concatenate([R0.ravel(), W0]), []
    for end, torque in pieces:
        if end <= t:
            continue
        # Times of steps are rounded: those at a jump belong to the piece after it.
        slack = 1e-9 * (end - t)
        inside = times[(times > t - slack) & (times < end - slack)]

        def rate(_: float, y: Array, torque: Torque = torque) -> Array:
            R, W = y[:9].reshape(3, 3), y[9:]
            spin = skew(*W)
            return np.concatenate([(R @ spin).ravel(), inverse @ (torque(R) - spin @ (J @ W))])

        # Dense output would be good to 1e-10 only.
        points = np.append(np.maximum(inside, t), end)
        solved = solve_ivp(rate, (t, end), y, "DOP853", points, rtol=2.3e-14, atol=1e-13)
        found.append(solved.y.T[: len(inside)])
        t, y = end, solved.y[:, -1]
    table = np.concatenate([*found, y[None]])
    return Motion(times, table[:, :9].reshape(-1, 3, 3), table[:, 9:])


def angles(directions: Array, to: Array) -> Array:
    """Angles between vectors (n, 3) and another one, in degrees."""
    return np.asarray(np.degrees(np.arctan2(np.linalg.norm(np.cross(directions, to), axis=1), directions @ to)))


def crossings(t: Array, y: Array) -> list[float]:
    """Where y changes its sign, by linear interpolation."""
    i = np.flatnonzero(y[:-1] * y[1:] < 0)
    return [float(x) for x in t[i] - y[i] * (t[i + 1] - t[i]) / (y[i + 1] - y[i])]


def monitored(solution: Solution, body: str) -> dict[str, Array]:
    """What the thesis plots: E_k, pi, |pi|, pi/|pi|, chi, W, A, and the centre of mass (item by item over time)."""
    pi = solution.angular_momentum
    length = np.linalg.norm(pi, axis=1)
    return {
        "t": solution.t,
        "kinetic_energy": solution.kinetic_energy,
        "momentum": pi,
        "momentum_length": length,
        "momentum_direction": pi / np.where(length == 0, 1, length)[:, None],
        "rotation_vector": solution.rotation_vector(body),
        "angular_velocity": solution.velocity(body)[:, :3],
        "angular_acceleration": solution.acceleration(body)[:, :3],
        "position": solution.position(body),
    }


@study("sadlowski/intermediate-axis", source="Sadłowski, section 5.1, Figures 5.1-5.7", further=further("intermediate_axis"))
def intermediate_axis(
    *,
    methods: tuple[str, ...] = ("A1", "A2", "A3", "A4"),
    step: float = 0.01,
    explicit_step: float | None = None,
    t_end: float = 10.0,
    compared_until: float = 5.0,
    formulation: str = "SO3",
    **parameters: Any,
) -> Result:
    """Unstable rotation: A2, A3 keep the energy, A2, A3, A4 the length of the momentum, A3, A4 the momentum; none of it makes W right.

    ``step``: of the implicit methods; the thesis has 0.01 and 0.1, and a tenth of it for A4 (``explicit_step``). The push lasts one step,
    so each step has its own motion; ``pulse`` sets it for all. Per method, in the free phase: ``energy``, ``momentum``: at its beginning;
    ``energy_range``, ``momentum_range``: largest minus smallest, relative; ``turn``: of the momentum from its first direction, in
    degrees; ``omega``: W at its beginning; ``crossings``: of W1 through zero; ``omega_error``: largest error in W, up to
    ``compared_until`` and up to the end; ``iterations``: of Newton's method per step, to round-off. Further options: the parameters of
    the model.
    """
    from kreisel.simulation import simulate

    words = list(methods) if isinstance(methods, tuple | list) else [methods]
    p = parameters_of(_model("intermediate_axis")) | dict(parameters)
    J = _inertia(p["inertia"])
    free = float(p["loaded_until"])
    runs: dict[str, Solution] = {}
    exact: dict[str, Motion] = {}
    table: dict[str, dict[str, Any]] = {}
    for word in words:
        method = method_of(word)
        h = (step / 10 if explicit_step is None else explicit_step) if word.startswith("A4") else step
        pulse = float(parameters.get("pulse", h))
        system = model_of("intermediate_axis", dict(parameters) | {"formulation": formulation, "pulse": pulse})
        sol = simulate(system, t_end, h, method)
        if not sol.success:
            raise ValueError(f"{word}: {sol.message}")

        def spun(R: Array) -> Array:
            return np.asarray(R.T[:, 0] * p["torque"])

        def pushed(R: Array, pulse: float = pulse) -> Array:
            return np.asarray(R.T[:, 1] * p["impulse"] / pulse)

        pieces: list[tuple[float, Torque]] = [(free - pulse, spun), (free, pushed), (t_end, lambda R: np.zeros(3))]
        there = motion(sol.t, J, np.eye(3), np.asarray(p["omega"], dtype=float), pieces)
        runs[word], exact[word] = sol, there
        table[word] = {"step": float(sol.t[1]), **_free_phase(sol, there, free, compared_until)}
    shown = "A3" if "A3" in runs else words[0]
    numbers = {"table": table, **end_of_run(runs[shown])}
    arrays = {f"{name}_{word}": a for word, sol in runs.items() for name, a in monitored(sol, "body").items()}
    arrays |= {"t_exact": exact[shown].t, "angular_velocity_exact": exact[shown].W}

    def draw(figure: Figure) -> None:
        parts: Any = figure.subfigures(2, 1, height_ratios=[3, 1])
        top, bottom = parts
        axes = top.subplots(2, 3, sharex=True)
        for k, (word, sol) in enumerate(runs.items()):
            m, late = monitored(sol, "body"), sol.t >= free - 1e-9
            axes[0, 0].plot(sol.t, m["kinetic_energy"], label=f"{word}, h = {table[word]['step']:g}", color=f"C{k}")
            axes[0, 1].plot(sol.t, m["momentum_length"], color=f"C{k}")
            axes[0, 2].plot(sol.t[late], angles(m["momentum"][late], m["momentum"][late][0]), color=f"C{k}")
            axes[1, 0].plot(sol.t, m["angular_velocity"][:, 0], color=f"C{k}", linewidth=0.9)
        axes[1, 0].plot(exact[shown].t, exact[shown].W[:, 0], "k:", linewidth=1)
        m = monitored(runs[shown], "body")
        for i in range(3):
            axes[1, 1].plot(m["t"], _unbroken(m["rotation_vector"])[:, i], linewidth=0.9, label=rf"$\chi_{i + 1}$")
            axes[1, 2].plot(m["t"], m["angular_acceleration"][:, i], linewidth=0.9, label=f"$A_{i + 1}$")
        for ax, title in zip(
            axes.flat,
            [
                "kinetic energy",
                r"length of the momentum $|\pi|$",
                r"turn of $\pi$ in degrees",
                f"$W_1$ (dotted: exact, with the push of {shown})",
                f"rotation vector, {shown}",
                f"acceleration, {shown}",
            ],
            strict=True,
        ):
            ax.set_title(title, fontsize=9)
            ax.tick_params(labelsize=8)
        for ax in axes[1]:
            ax.set_xlabel("t", fontsize=8)
        axes[0, 0].legend(fontsize=7, loc="lower right")
        for ax in axes[1, 1:]:
            ax.margins(y=0.25)
            ax.legend(fontsize=7, loc="upper center", ncols=3, frameon=False)
        snapshots(bottom, runs[shown], "body", PLANE, np.linspace(0, min(3.78, t_end), 8))

    return Result(numbers, arrays, draw)


def _unbroken(chi: Array) -> Array:
    """Rotation vectors with a gap wherever they change over to the opposite side of the ball of radius pi."""
    out = chi.copy()
    out[1:][np.linalg.norm(np.diff(chi, axis=0), axis=1) > np.pi] = np.nan
    return out


def _free_phase(sol: Solution, exact: Motion, begin: float, until: float) -> dict[str, Any]:
    k = int(np.searchsorted(sol.t, begin - 1e-9))
    E, pi, W = sol.kinetic_energy[k:], sol.angular_momentum[k:], sol.velocity("body")[:, :3]
    length = np.linalg.norm(pi, axis=1)
    gap = np.linalg.norm(W - exact.W, axis=1)[k:]
    return {
        "energy": float(E[0]),
        "energy_min": float(E.min()),
        "energy_max": float(E.max()),
        "energy_range": float(np.ptp(E) / E[0]),
        "momentum": float(length[0]),
        "momentum_range": float(np.ptp(length) / length[0]),
        "turn": float(angles(pi, pi[0]).max()),
        "omega": W[k].tolist(),
        "crossings": crossings(sol.t[k:], W[k:, 0]),
        "crossings_exact": crossings(exact.t[k:], exact.W[k:, 0]),
        "omega_error": [float(gap[sol.t[k:] <= until + 1e-9].max()), float(gap.max())],
        "iterations": float(sol.newton_iterations[k + 1 :].mean()),
    }


@study("sadlowski/heavy-top", source="Sadłowski, section 5.2, Figures 5.9-5.17", further=further("symmetric_top"))
def heavy_top(
    *,
    methods: tuple[str, ...] = ("A1", "A2", "A3"),
    steps: tuple[float, ...] = (0.001, 0.02, 0.04),
    t_end: float = 10.0,
    consistent_start: bool = False,
    formulation: str = "SO3",
    **parameters: Any,
) -> Result:
    """A fast symmetric top: at large steps A1 and A2 damp the nutation and lose the precession, A3 keeps pi_3 and follows it.

    ``consistent_start``: A_0 from the equations of motion; the thesis starts with A_0 = 0. Per method and step, the largest over the run:
    ``position_error`` of the axis t_3, ``momentum_error`` of |pi|, ``direction_error`` of pi/|pi|, ``vertical_drift`` of pi_3,
    ``energy_drift`` of E_k + V, relative, ``spin_drift`` of W_3; the range of the ``nutation`` angle, the largest ``kinetic_energy``;
    ``iterations`` of Newton's method per step, to round-off. Fast-top formulas (5.3): ``precession`` Mgl/(J3 W3), ``nutation_frequency``
    J3 W3/J1. Further options: the parameters of the model.
    """
    from kreisel.groups import SO3
    from kreisel.simulation import simulate

    words = list(methods) if isinstance(methods, tuple | list) else [methods]
    lengths = list(steps) if isinstance(steps, tuple | list) else [steps]
    p = parameters_of(_model("symmetric_top")) | dict(parameters)
    J, Mgl, W0 = _inertia(p["inertia"]), float(p["Mgl"]), np.asarray(p["omega"], dtype=float)
    system = model_of("symmetric_top", dict(parameters) | {"formulation": formulation})
    R0 = np.asarray(SO3.matrix(SO3.exp(np.asarray(p["rotation_vector"], dtype=float))))

    def torque(R: Array) -> Array:
        return np.asarray(-Mgl * np.cross([0.0, 0.0, 1.0], R[2]))

    runs: dict[tuple[str, float], Solution] = {}
    for h in lengths:
        for word in words:
            given = None if consistent_start else {"top": np.zeros(3)}
            sol = simulate(system, t_end, h, method_of(word), acceleration=given)
            if not sol.success:
                raise ValueError(f"{word}, h = {h}: {sol.message}")
            runs[word, h] = sol
    exact = motion(np.unique(np.concatenate([sol.t for sol in runs.values()])), J, R0, W0, [(t_end, torque)])
    table = {f"{word}, h = {h:g}": _errors_of_top(sol, exact.at(sol.t), J) for (word, h), sol in runs.items()}
    angle = np.arccos(np.clip(exact.R[:, 2, 2], -1, 1))
    shown = (words[-1], min(lengths))
    numbers = {
        "table": table,
        "exact": {
            "nutation": [float(angle.min()), float(angle.max())],
            "kinetic_energy": float((np.einsum("ni,ni->n", exact.W, exact.W @ J) / 2).max()),
            "vertical_momentum": float(exact.momentum(J)[0, 2]),
        },
        "precession": Mgl / (J[2, 2] * W0[2]),
        "nutation_frequency": J[2, 2] * W0[2] / J[0, 0],
        **end_of_run(runs[shown]),
    }
    arrays = {f"{name}_{w}_{h:g}": a for (w, h), sol in runs.items() for name, a in monitored(sol, "top").items()}
    arrays |= {"t_exact": exact.t, "axis_exact": exact.R[:, :, 2]}

    def draw(figure: Figure) -> None:
        parts: Any = figure.subfigures(2, 1, height_ratios=[3, 1])
        upper, lower = parts
        axes = upper.subplots(1, 3)
        h = sorted(lengths)[min(1, len(lengths) - 1)]
        r, pi = exact.R[:, :, 2], exact.momentum(J)
        axes[0].plot(r[:, 0], r[:, 1], "k", linewidth=0.8, label="exact")
        axes[1].plot(exact.t, angle, "k", linewidth=0.8)
        axes[2].plot(exact.t, np.linalg.norm(pi, axis=1), "k", linewidth=0.8)
        for k, word in enumerate(words):
            m = monitored(runs[word, h], "top")
            x = m["position"] / np.linalg.norm(m["position"][0])
            axes[0].plot(x[:, 0], x[:, 1], color=f"C{k}", linewidth=0.8, label=f"{word}, h = {h:g}")
            axes[0].plot(*x[-1, :2], "o", color=f"C{k}", markersize=4)
            axes[1].plot(m["t"], np.arccos(np.clip(x[:, 2], -1, 1)), color=f"C{k}", linewidth=0.8)
            axes[2].plot(m["t"], m["momentum_length"], color=f"C{k}", linewidth=0.8)
        axes[0].plot(*r[-1, :2], "ko", markersize=4)
        axes[0].set(aspect="equal")
        axes[0].set_title("tip of the axis (dot: at the end)", fontsize=9)
        axes[0].legend(fontsize=7, loc="center")
        axes[1].set_title("nutation angle", fontsize=9)
        axes[2].set_title(r"length of the momentum $|\pi|$", fontsize=9)
        for ax in axes:
            ax.tick_params(labelsize=8)
        for ax in axes[1:]:
            ax.set_xlabel("t", fontsize=8)
        snapshots(lower, runs[shown], "top", CONE, np.linspace(0, t_end, 8))

    return Result(numbers, arrays, draw)


def _errors_of_top(sol: Solution, exact: Motion, J: Array) -> dict[str, Any]:
    pi, there = sol.angular_momentum, exact.momentum(J)
    length, length_there = np.linalg.norm(pi, axis=1), np.linalg.norm(there, axis=1)
    axis = sol.rotation("top")[:, :, 2]
    nutation = np.arccos(np.clip(axis[:, 2], -1, 1))
    return {
        "position_error": float(np.linalg.norm(axis - exact.R[:, :, 2], axis=1).max()),
        "momentum_error": float(np.abs(length - length_there).max()),
        "direction_error": float(np.linalg.norm(pi / length[:, None] - there / length_there[:, None], axis=1).max()),
        "nutation": [float(nutation.min()), float(nutation.max())],
        "kinetic_energy": float(sol.kinetic_energy.max()),
        "vertical_drift": float(np.abs(pi[:, 2] - pi[0, 2]).max()),
        "energy_drift": float(np.abs(sol.energy / sol.energy[0] - 1).max()),
        "spin_drift": float(np.abs(sol.velocity("top")[:, 2] - sol.velocity("top")[0, 2]).max()),
        "iterations": float(sol.newton_iterations[1:].mean()),
    }


def _model(name: str) -> Any:
    from kreisel import models

    return getattr(models, name)


def _inertia(inertia: Any) -> Array:
    J = np.asarray(inertia, dtype=float)
    return np.diag(J) if J.ndim == 1 else J


# Pictures of a body: polygons in body axes, with their colours

#: Long along the third axis, wide along the first: the moments are smallest about the third, largest about the second.
PLANE: list[tuple[Any, str]] = [
    ([(0.0, 0, -1.0), (0.12, 0, -0.8), (0.12, 0, 0.8), (0.0, 0, 1.1), (-0.12, 0, 0.8), (-0.12, 0, -0.8)], "0.55"),
    ([(-0.9, 0, -0.05), (0.0, 0, 0.4), (0.9, 0, -0.05), (0.9, 0, -0.2), (-0.9, 0, -0.2)], "C0"),
    ([(-0.35, 0, -0.95), (0.0, 0, -0.7), (0.35, 0, -0.95)], "C0"),
    ([(0, 0, -1.0), (0, 0.4, -1.0), (0, 0, -0.6)], "C3"),
]


def _cone() -> list[tuple[Any, str]]:
    turn = np.linspace(0, 2 * np.pi, 13)
    rim = np.stack([0.45 * np.cos(turn), 0.45 * np.sin(turn), np.ones(13)], axis=1)
    edges = [(tuple(a), tuple(b)) for a, b in pairwise(rim)]
    sides = [([(0, 0, 0), *edge], f"C{k % 2}") for k, edge in enumerate(edges)]
    wedges = [([(0, 0, 1), *edge], ("0.9", "0.7")[k // 3 % 2]) for k, edge in enumerate(edges)]
    return [*sides, *wedges]


CONE = _cone()


def snapshots(figure: Any, sol: Solution, body: str, shape: list[tuple[Any, str]], times: Array) -> None:
    """The body at some times, one picture each, seen from above at an angle."""
    axes = figure.subplots(1, len(times))
    for ax, t in zip(np.atleast_1d(axes), times, strict=True):
        draw_body(ax, sol.rotation(body)[int(np.argmin(np.abs(sol.t - t)))], shape)
        ax.set_title(f"t = {t:.2f}", fontsize=8)


def draw_body(ax: Axes, R: Array, shape: list[tuple[Any, str]]) -> None:
    """Polygons, turned, in parallel projection, the farther ones first; and the axes of space."""
    # Right, up and towards the eye: the second axis to the right, the third up, the first towards the eye and a little down.
    view = np.array([[-0.5, 0.866, 0.0], [-0.30, -0.173, 0.938], [0.812, 0.469, 0.346]])
    for axis, name in zip(view[:2].T, "123", strict=True):
        ax.plot([0, 1.2 * axis[0]], [0, 1.2 * axis[1]], color="0.8", linewidth=0.8, zorder=0)
        ax.text(1.32 * axis[0], 1.32 * axis[1], name, fontsize=6, color="0.6", ha="center", va="center")
    seen = [(np.asarray(points, dtype=float) @ R.T @ view.T, colour) for points, colour in shape]
    for points, colour in sorted(seen, key=lambda s: float(s[0][:, 2].mean())):
        ax.fill(points[:, 0], points[:, 1], facecolor=colour, edgecolor="k", linewidth=0.5, alpha=0.9)
    ax.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal")
    ax.axis("off")
