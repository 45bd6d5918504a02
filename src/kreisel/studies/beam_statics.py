"""Beams against published and closed-form values: the 45-degree bend, and the natural frequencies of a cantilever."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.optimize import brentq

from kreisel.mechanics import Mechanism, Section
from kreisel.studies.base import Result, end_of_run, fitted_order, study
from kreisel.studies.words import further, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

#: Published positions of the tip, at the loads 300 and 600, in the axes of the model.
PUBLISHED = {
    "Bathe and Bolourchi 1979": {300.0: (59.2, 22.5, 39.5), 600.0: (47.2, 15.9, 53.4)},
    "Simo and Vu-Quoc 1986, 8 elements": {300.0: (58.84, 22.33, 40.08), 450.0: (52.32, 18.62, 48.39), 600.0: (47.23, 15.79, 53.37)},
}


@study(
    "beam/45-degree-bend",
    source="Bathe and Bolourchi, Int. J. Numer. Meth. Eng. 14 (1979) 961; Simo and Vu-Quoc (1986)",
    further=further("bend"),
)
def bend(*, meshes: tuple[int, ...] = (4, 8, 16, 32, 64), factors: tuple[float, ...] = (0.5, 0.75, 1.0), **parameters: Any) -> Result:
    """The curved cantilever under an end load across its plane: position of the tip on finer and finer meshes, beside published ones.

    ``factors``: of the load. ``tips``: per mesh and factor. ``order``: of the differences of successive meshes. Further options: the
    parameters of the model; ``torsion`` says which of two torsional stiffnesses in circulation is used.
    """
    from kreisel.simulation import equilibrium

    counts = [int(M) for M in np.atleast_1d(meshes)]
    shares = [float(f) for f in np.atleast_1d(factors)]
    tips: dict[int, Array] = {}
    for M in counts:
        solution = equilibrium(model_of("bend", dict(parameters) | {"segments": M}), loads=np.array(shares, dtype=float))
        if not solution.success:
            raise ValueError(f"{M} segments: {solution.message}")
        tips[M] = solution.beam("bend").position()[:, -1]
    gaps = np.array([np.linalg.norm(tips[b][-1] - tips[a][-1]) for a, b in pairwise(counts)])
    numbers = {
        "meshes": counts,
        "factors": shares,
        "tips": {str(M): x.tolist() for M, x in tips.items()},
        "order": fitted_order(1 / np.array(counts[:-1], dtype=float), gaps),
        "published": {name: {f"{load:g}": list(x) for load, x in values.items()} for name, values in PUBLISHED.items()},
        **end_of_run(solution),
    }
    beam = solution.beam("bend")
    s = np.linspace(0, beam.beam.length, 60)
    lines = np.array([np.asarray(beam._poses(beam.at(s)))[k, :, 9:] for k in range(len(shares))])

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot(projection="3d")
        for share, line in zip(shares, lines, strict=True):
            ax.plot(*line.T, label=f"{share:g} of the load")
        for name, values in PUBLISHED.items():
            ax.scatter(*np.array(list(values.values())).T, s=20, label=name)
        ax.set(xlabel="x1", ylabel="x2", zlabel="x3")
        ax.legend(fontsize=7)

    return Result(numbers, {"centre_line": lines}, draw)


def euler_bernoulli(section: Section, length: float, count: int) -> Array:
    """Bending frequencies of a cantilever in rad/s: (beta_k / L)^2 sqrt(EI / rho A), cos(beta) cosh(beta) = -1."""
    roots = [brentq(lambda b: np.cos(b) + 1 / np.cosh(b), np.pi * (k + 0.5) - 1.5, np.pi * (k + 0.5) + 1.5) for k in range(count)]
    return np.asarray(np.array(roots) ** 2 / length**2 * np.sqrt(section.EI1 / section.mass))


def timoshenko(section: Section, length: float, count: int) -> Array:
    """Bending frequencies of a cantilever in rad/s, with shear and rotational inertia, from the exact transfer matrix.

    With deflection w, rotation p, moment M and shear force Q: w' = Q/GA + p, p' = M/EI, M' = -rI omega^2 p - Q, Q' = -rA omega^2 w; at the
    root w = p = 0, at the end M = Q = 0.
    """

    def determinant(omega: float) -> float:
        rA, rI = section.mass * omega**2, section.inertia[0] * omega**2
        A = np.array([[0, 1, 0, 1 / section.GA2], [0, 0, 1 / section.EI1, 0], [0, -rI, 0, -1], [-rA, 0, 0, 0]])
        return float(np.linalg.det(expm(A * length)[2:, 2:]))

    slender = euler_bernoulli(section, length, count)
    grid = np.linspace(0.02 * slender[0], 1.02 * slender[-1], 400 * count)
    signs = np.sign([determinant(w) for w in grid])
    places = np.flatnonzero(signs[1:] * signs[:-1] < 0)[:count]
    return np.array([brentq(determinant, grid[k], grid[k + 1], xtol=1e-10) for k in places])


@study("beam/frequencies", source="Euler and Bernoulli; Timoshenko (1921)")
def frequencies(
    *,
    meshes: tuple[int, ...] = (10, 20, 40, 80),
    count: int = 3,
    length: float = 1.0,
    radius: float = 0.03,
    E: float = 70e9,
    nu: float = 0.3,
    rho: float = 2700.0,
) -> Result:
    """Bending frequencies of a round cantilever: the Cosserat beam tends to Timoshenko's values, of order 2 in the mesh.

    ``cosserat``, ``kirchhoff``: frequencies in Hz per mesh; ``timoshenko``, ``euler_bernoulli``: the limits (the Kirchhoff beam has
    rotational inertia but no shear, so it lies between the two).
    """
    from kreisel.simulation import modes

    section = Section.circle(radius, E=E, nu=nu, rho=rho)
    counts = list(meshes) if isinstance(meshes, tuple | list) else [meshes]
    found: dict[str, list[list[float]]] = {"cosserat": [], "kirchhoff": []}
    for M in counts:
        for variant, rows in found.items():
            m = Mechanism()
            m.beam("rod", length, M, section, start="clamped", variant=variant)
            about = modes(m.system(), count=2 * count + 4)
            # Bending modes come in pairs, one per plane; torsion and stretching do not move the end across.
            across = np.abs(about.shape(f"rod[{M}]")[:, [3, 4]]).max(axis=1) > 1e-6
            rows.append(about.frequencies[across][: 2 * count : 2].tolist())
    exact = timoshenko(section, length, count) / (2 * np.pi)
    errors = np.abs(np.array(found["cosserat"]) - exact)
    size = 1 / np.array(counts, dtype=float)
    numbers = {
        "meshes": counts,
        **found,
        "timoshenko": exact.tolist(),
        "euler_bernoulli": (euler_bernoulli(section, length, count) / (2 * np.pi)).tolist(),
        "orders": [fitted_order(size, errors[:, k]) for k in range(count)],
        **end_of_run(about.equilibrium),
    }

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        for k in range(count):
            ax.loglog(counts, errors[:, k] / exact[k], "o-", label=f"mode {k + 1}: {exact[k]:.4g} Hz, order {numbers['orders'][k]:.2f}")
        ax.set(xlabel="segments", ylabel="relative distance from Timoshenko's frequency")
        ax.legend()

    return Result(numbers, {"errors": errors}, draw)
