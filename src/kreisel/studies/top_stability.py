r"""The stability of the equilibria of Klemps's tops (chapter 4): equilibria, Lyapunov function, linearisation, and what is wrong in print.

The plain top turns about a fixed point under its weight; the extended one has a spring about its axis and friction besides.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.groups import SO3
from kreisel.methods import RATTLie
from kreisel.studies.base import Result, study
from kreisel.studies.extended_top import J11, listed
from kreisel.studies.words import model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

FORMS = ("SO3", "SE3", "SO3xR3")
#: Moment of inertia across the axis about the fixed point; mass times gravity times length.
J22, WEIGHT = 15.234375, 147.15


def quadratic(j: float, d: float, k: float) -> list[complex]:
    """The roots of j s^2 + d s + k = 0."""
    root = np.sqrt(complex(d * d - 4 * j * k))
    return [complex((-d + root) / (2 * j)), complex((-d - root) / (2 * j))]


def closed_form(stiffness: float, damping: float, inverted: bool = False) -> NDArray[np.complex128]:
    """The spectrum of the extended top: of the axis once, across the axis twice."""
    across = quadratic(J22, damping, -WEIGHT if inverted else WEIGHT)
    return np.array([*quadratic(J11, damping, stiffness), *across, *across])


def apart(a: Any, b: Any) -> float:
    """The distance of two spectra: the largest of the distances of the eigenvalues, matched as well as can be."""
    from scipy.optimize import linear_sum_assignment

    cost = np.abs(np.asarray(a)[:, None] - np.asarray(b)[None])
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].max())


@study("klemps/equilibria", source="Klemps, section 4.2, (4.21) to (4.24)")
def equilibria_of_tops(
    *, stiffness: float = 100.0, damping: float = 1.0, formulation: str | tuple[str, ...] = FORMS, tries: int = 20, seed: int = 0
) -> Result:
    """The plain top has two families of equilibria, hanging and inverted, turned about the axis; the extended top has one of each.

    They are found from random configurations. ``family``: the dimension of the family, by the rank of the equations; ``axis``: where the
    axis points, in space; ``twist``: the angle about it.
    """
    from kreisel.stability import equilibria, linearise

    table: list[dict[str, Any]] = []
    for f in listed(formulation):
        for top, k, d in (("plain", 0.0, 0.0), ("extended", stiffness, damping)):
            for e in equilibria(model_of("extended_top", {"formulation": f, "stiffness": k, "damping": d}), tries, seed):
                R = e.solution.rotation("top")[-1]
                row = {"top": top, "formulation": f, "family": e.family, "energy": e.energy, "axis": (R[:, 0] + 0.0).round(9).tolist()}
                twist = float(np.arctan2(R[2, 1], R[2, 2]))
                table.append(row | {"twist": twist if top == "extended" else None, "stability": linearise(e).stability})
    numbers = {"table": table, "count": {top: sum(r["top"] == top for r in table) for top in ("plain", "extended")}}

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        angle = np.linspace(-pi, pi, 121)
        for ax, (top, k) in zip(axes, (("plain top", 0.0), (f"extended top, k = {stiffness:g} N m", stiffness)), strict=True):
            G, A = np.meshgrid(angle, angle)
            V = WEIGHT * np.sin(G) + k / 2 * A**2
            shown = ax.contourf(G, A, V, 24, cmap="cividis")
            figure.colorbar(shown, ax=ax, label="potential energy in J", shrink=0.8)
            if k:
                ax.plot([-pi / 2], [0], "wo", label="hanging", markersize=8)
                ax.plot([pi / 2], [0], "w^", label="inverted", markersize=8)
            else:
                ax.axvline(-pi / 2, color="w", linewidth=2, label="hanging, a family")
                ax.axvline(pi / 2, color="w", linestyle="--", linewidth=2, label="inverted, a family")
            ax.set(xlabel=r"inclination $\gamma$ of the axis in rad", title=top)
            ax.title.set_fontsize(9)
            ax.legend(fontsize=8, facecolor="0.35", labelcolor="w", loc="upper left")
        axes[0].set(ylabel=r"angle $\alpha$ about the axis in rad")

    return Result(numbers, {}, draw)


@study("klemps/lyapunov", source="Klemps, section 4.2, Lemma 4.2.3, Sätze 4.2.5 and 4.2.6")
def lyapunov(
    *,
    stiffness: float = 100.0,
    damping: float = 2.0,
    formulation: str | tuple[str, ...] = FORMS,
    radius: float = 0.5,
    count: int = 500,
    seed: int = 0,
) -> Result:
    """The energy is a Lyapunov function of both tops: its orbital derivative is 0 for the plain one, -d |Omega|^2 for the extended one.

    At random states around the hanging equilibrium, on the constraints. ``derivative_error``: largest distance of the orbital derivative
    from that; ``least_value``: smallest energy above the equilibrium; ``definiteness``: of the second derivative of the energy on the
    tangent space. The first fundamental matrix on SO(3) is 2 I: ``fundamental_error``. Not a strict Lyapunov function: the derivative is
    zero wherever the top is at rest; asymptotic stability needs LaSalle's principle, or the linearisation.
    """
    from kreisel.stability import Lyapunov, equilibrium, first_fundamental

    table: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for f in listed(formulation):
        for top, k, d in (("plain", 0.0, 0.0), ("extended", stiffness, damping)):
            system = model_of("extended_top", {"formulation": f, "stiffness": k, "damping": d, "alpha": 0.0, "gamma": -pi / 2})
            e, V = equilibrium(system), Lyapunov(system)
            s = V.sample(e, radius, count, seed)
            omega = np.sum(s.v[:, :3] ** 2, axis=1)
            row = {
                "top": top,
                "formulation": f,
                "definiteness": V.definiteness(e),
                "derivative_error": float(np.abs(s.rate + d * omega).max()),
                "largest_derivative": float(s.rate.max()),
                "least_value": float(s.value.min()),
            }
            table.append(row)
            arrays |= {f"{name} [{top}, {f}]": getattr(s, name) for name in ("distance", "value", "rate")}
            arrays[f"omega [{top}, {f}]"] = omega
    q = SO3.random(seed, 10)
    numbers = {"table": table, "fundamental_error": float(max(np.abs(first_fundamental(SO3, x) - 2 * np.eye(3)).max() for x in q))}

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        f = listed(formulation)[0]
        for n, top in enumerate(("plain", "extended")):
            left.plot(arrays[f"distance [{top}, {f}]"], arrays[f"value [{top}, {f}]"], ".", color=f"C{n}", markersize=3, label=f"{top} top")
            right.plot(arrays[f"omega [{top}, {f}]"], arrays[f"rate [{top}, {f}]"], ".", color=f"C{n}", markersize=3, label=f"{top} top")
        most = max(arrays[f"omega [extended, {f}]"])
        right.plot([0, most], [0, -damping * most], "k:", linewidth=1, label="-d |Ω|²", zorder=0)
        left.set(xlabel="distance from the equilibrium in the Hilbert space", ylabel="V - V* in J")
        right.set(xlabel="|Ω|² in rad²/s²", ylabel="orbital derivative of V in W")
        left.legend(fontsize=8)
        right.legend(fontsize=8)

    return Result(numbers, arrays, draw)


CASES = ((100.0, 0.0, False), (100.0, 1.0, False), (1e5, 100.0, False), (100.0, 1.0, True))


@study("klemps/linearisation", source="Klemps, section 4.2, (4.35) to (4.43)")
def linearisation(
    *,
    formulation: str | tuple[str, ...] = ("SO3", "S3", "SE3", "S3R3", "UDQ", "SO3xR3", "S3xR3"),
    stiffness: float = 100.0,
    damping_end: float = 120.0,
    count: int = 80,
) -> Result:
    r"""The eigenvalues of the tops are the same in all coordinates, and those of :math:`J_{11}s^2 + ds + k`, :math:`J_{22}s^2 + ds \pm mg`.

    The thesis prints no spectrum. Cases: (k, d) = (100, 0), (100, 1), (1e5, 100), hanging, and (100, 1) inverted; ``closed_form_error``:
    largest distance from the closed form, in all formulations together. The plain top has a double eigenvalue 0: not hyperbolic. Root
    locus: over the damping, from 0 to ``damping_end``.
    """
    from kreisel.stability import equilibrium, linearise, root_locus

    table: list[dict[str, Any]] = []
    for k, d, inverted in CASES:
        exact = closed_form(k, d, inverted)
        worst = 0.0
        for f in listed(formulation):
            gamma = pi / 2 if inverted else -pi / 2
            found = linearise(equilibrium(model_of("extended_top", {"formulation": f, "stiffness": k, "damping": d, "gamma": gamma})))
            worst = max(worst, apart(found.eigenvalues, exact))
        row = {"stiffness": k, "damping": d, "place": "inverted" if inverted else "hanging", "stability": found.stability}
        pairs = [[z.real, z.imag] for z in found.eigenvalues]
        table.append(row | {"eigenvalues": pairs, "closed_form_error": worst})
    plain = linearise(equilibrium(model_of("extended_top", {"stiffness": 0.0, "damping": 0.0})))
    zeros = int(np.sum(np.abs(plain.eigenvalues) < 1e-6))
    locus = root_locus(
        lambda damping: model_of("extended_top", {"formulation": "SO3", "damping": damping, "stiffness": stiffness}),
        "damping",
        damping_end * np.linspace(0.01, 1, count) ** 2,
    )
    numbers = {
        "table": table,
        "plain_top": {"zero_eigenvalues": zeros, "hyperbolic": plain.hyperbolic, "stability": plain.stability},
        "critical_damping": {"axis": 2 * np.sqrt(J11 * stiffness), "across": 2 * np.sqrt(J22 * WEIGHT)},
    }

    def draw(figure: Figure) -> None:
        from kreisel.view import plot_root_locus

        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        plot_root_locus(locus, left)
        left.set_title(f"hanging top, k = {stiffness:g} N m: damping from 0 (o) to {damping_end:g} N m s (x)", fontsize=9)
        reach = 1.2 * np.sqrt(stiffness / J11)
        left.set(xlim=(-2.5 * reach, 0.25 * reach), ylim=(-reach, reach))
        for n, (k, d, inverted) in enumerate(CASES):
            if k > 1e4:
                continue
            z = closed_form(k, d, inverted)
            right.plot(z.real, z.imag, "osd^"[n], mfc="none", label=f"d = {d:g}" + (", inverted" if inverted else ", hanging"))
        right.axvline(0, color="0.6", lw=0.8, zorder=0)
        right.set(xlabel="real part [1/s]", title=f"spectra, k = {CASES[0][0]:g} N m")
        right.title.set_fontsize(9)
        right.legend(fontsize=8)

    return Result(numbers, {"damping": locus.values, "eigenvalues": locus.eigenvalues}, draw)


@study("klemps/corollary-counterexample", source="Klemps, Korollar 4.2.7")
def corollary_counterexample(*, spin: float = 0.01, t_end: float = 314.0, step: float = 0.1, formulation: str = "SO3") -> Result:
    """The single hanging equilibrium of the plain top is not stable, as printed: a spin, however small, turns it away about its axis.

    The spin Omega_1 is conserved, alpha = spin t leaves every neighbourhood; only the set of all hanging equilibria is stable.
    ``distance``: from the single equilibrium in the Hilbert space, at most; ``distance_from_set``: from the nearest of all. The spring of
    the extended top cures it: with the same start it stays within ``distance_extended``.
    """
    from kreisel.simulation import simulate
    from kreisel.stability import hilbert_distance

    runs = {}
    for top, k in (("plain", 0.0), ("extended", 100.0)):
        system = model_of("extended_top", {"formulation": formulation, "stiffness": k, "damping": 0.0, "alpha": 0.0, "gamma": -pi / 2})
        node = system.nodes[0]
        v = np.zeros(node.group.dim)
        v[0] = spin
        runs[top] = simulate(system, t_end, step, RATTLie(), initial={"top": (node.q, v)})
    hanging = SO3.exp([0, 0, -pi / 2])
    still = np.zeros(3)

    def distance(sol: Any, to: Array) -> Array:
        return hilbert_distance(SO3, sol.rotation("top").reshape(-1, 9), sol.velocity("top")[:, :3], to, still)

    sol = runs["plain"]
    R = sol.rotation("top")
    alpha = np.unwrap(np.arctan2(R[:, 2, 1], R[:, 2, 2]))
    nearest = SO3.compose(hanging, SO3.exp(np.stack([alpha, 0 * alpha, 0 * alpha], axis=1)))
    arrays = {"t": sol.t, "alpha": alpha, "distance": distance(sol, hanging), "from_set": distance(sol, nearest)}
    arrays["extended"] = distance(runs["extended"], hanging)
    numbers = {
        "alpha_end": float(alpha[-1]),
        "spin_change": float(np.abs(sol.velocity("top")[:, 0] - spin).max()),
        "distance": float(arrays["distance"].max()),
        "distance_from_set": float(arrays["from_set"].max()),
        "distance_extended": float(arrays["extended"].max()),
        "status": sol.status.name,
    }

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        ax.semilogy(sol.t[1:], arrays["distance"][1:], label="plain top, from the single equilibrium")
        ax.semilogy(sol.t[1:], arrays["from_set"][1:], label="plain top, from the set of all hanging equilibria")
        ax.semilogy(runs["extended"].t[1:], arrays["extended"][1:], linewidth=0.5, label="extended top, from its equilibrium")
        ax.axhline(2 * np.sqrt(2), color="0.6", linestyle=":", label=r"$2\sqrt{2}$: turned by $\pi$")
        ax.set(xlabel="t in s", ylabel="distance in the Hilbert space", title=f"start: hanging, spin {spin:g} rad/s")
        ax.legend(fontsize=8)

    return Result(numbers, arrays, draw)
