r"""Redundant constraints: rows that follow from the others wherever these hold, as in a planar loop of spatial hinges.

A step that fails because its matrix is singular asks for this. The constraint matrix G (rows B and A) is examined at the start and at some
configurations near it that satisfy the constraints: if its rank is everywhere less than the number of rows, an independent set of rows is
chosen by QR with column pivoting and the others are left out. (If the rank drops only in one place, the position is singular and nothing
is redundant.) Afterwards all rows get multipliers again: of those with the same forces,
:math:`G^T\lambda = G_{kept}^T\lambda_{kept}`, the ones of least norm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.methods.starts import ProjectVelocity
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.monitors import Monitors
from kreisel.simulation.packs import Layout, T
from kreisel.simulation.solution import Solution

Array = NDArray[np.float64]

#: Singular values of G, rows of length one, that count as zero, relative to the largest.
DEPENDENT = 1e-9
#: Configurations near the start that are looked at, and how far away they are (radians, or parts of the extent of the mechanism).
NEIGHBOURS, DISTANCE = 3, 0.02


class ConstraintMatrix:
    """G(q, t) = (B, A) of a system, and Phi(q, t)."""

    def __init__(self, system: System, layout: Layout | None = None) -> None:
        self.system, self.layout = system, layout or Layout(system, Method())
        self._assembly, self.monitors = Assembly(self.layout, ProjectVelocity()), Monitors(self.layout)
        self.rows = [(k, i, "constraint") for k, n in enumerate(system.rows) for i in range(n)]
        self.rows += [(k, i, "pfaffian") for k, n in enumerate(system.pfaffian_rows) for i in range(n)]

    def __call__(self, S: Array) -> Array:
        """G at the state S, (rows, dim)."""
        n = self.system.dim
        _, J = self._assembly(S, np.zeros(self._assembly.n))
        return np.asarray(J[n:, :n].toarray())

    def state(self, q: Array, t: float = 0.0) -> Array:
        """The state with the given configuration, at rest."""
        S = self.layout.start()
        S[0], S[T] = 1.0, t
        at = 0
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            S[places["q"] : places["q"] + node.group.n_params] = q[at : at + node.group.n_params]
            S[places["v"] : places["v"] + node.group.dim] = 0.0
            at += node.group.n_params
        return S

    def moved(self, S: Array, x: Array) -> Array:
        """The state with q o exp(x)."""
        S, at = S.copy(), 0
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            part = slice(places["q"], places["q"] + node.group.n_params)
            S[part] = node.group.retract(S[part], x[at : at + node.group.dim])
            at += node.group.dim
        return S

    def assembled(self, S: Array) -> tuple[Array, float]:
        """A configuration near S that satisfies the holonomic constraints, by Gauss and Newton; and what violation is left."""
        held = sum(self.system.rows)
        best, least, old = S, np.inf, np.inf
        for _ in range(100):
            phi = self.monitors.rows("constraint", S[None])[0]
            gap = float(np.abs(phi).max(initial=0.0))
            if gap < least:
                best, least = S, gap
            if gap < 1e-15 or (gap < 1e-9 and gap > 0.3 * old):
                break
            old = gap
            x = -np.linalg.lstsq(self(S)[:held], phi, rcond=DEPENDENT)[0]
            S = self.moved(S, x / max(1.0, 2 * float(np.abs(x).max())))
        return best, least


@dataclass(frozen=True)
class Reduced:
    """A system without its redundant rows. ``names``: of the elements these belong to, with their number."""

    original: System
    system: System
    matrix: ConstraintMatrix
    kept: NDArray[np.int64]
    names: tuple[str, ...]

    def restore(self, solution: Solution) -> Solution:
        """The solution with multipliers for all rows."""
        method = solution.method
        layout = Layout(self.original, method)

        def widened(records: Array) -> Array:
            out = np.zeros((len(records), layout.n_state))
            out[:, :3] = records[:, :3]
            for node, new, old in zip(self.original.nodes, layout.nodes, solution._layout.nodes, strict=True):
                for name in new:
                    n = node.group.n_params if name == "q" else node.group.dim
                    out[:, new[name] : new[name] + n] = records[:, old[name] : old[name] + n]
            memory = len(layout.memory_values)
            if memory:
                out[:, layout.n_state - memory :] = records[:, solution._layout.n_state - memory :]
            useless = self.useless(solution._state("q", records), records[:, T])
            for kind, states in (("lam", method.lam_states), ("mu", method.mu_states)):
                old_rows, new_rows = ((s.rows if kind == "lam" else s.pfaffian_rows) for s in (solution.system, self.original))
                for name in states:
                    given = solution._multipliers(getattr(solution._layout, kind), old_rows, name, records)
                    full = self.least(useless, kind, given)
                    at = 0
                    for places, n in zip(getattr(layout, kind), new_rows, strict=True):
                        if n:
                            out[:, places[name] : places[name] + n] = full[:, at : at + n]
                        at += n
            return out

        message = f"{solution.message}; redundant constraints: {', '.join(self.names)}"
        stats = replace(solution.stats, redundant=self.names)
        new = Solution(
            layout, widened(solution._records), solution.status, message, stats, solution.events, solution._every,
            widened(solution._beyond), solution._inputs,
        )  # fmt: skip
        new._independent = solution, self.all_multipliers
        return new

    def all_multipliers(self, solution: Solution, lam: Array, mu: Array) -> tuple[Array, Array]:
        """Multipliers of all rows, from those of the rows that were kept, at the times of a solution without the others."""
        useless = self.useless(solution.q, solution.t)
        return self.least(useless, "lam", lam), self.least(useless, "mu", mu)

    def useless(self, q: Array, t: Array) -> list[Array]:
        """Multipliers that do nothing, at some places and times: along (-C, 1), where C gives the rows left out by those that were kept."""
        rest = np.setdiff1d(np.arange(len(self.matrix.rows)), self.kept)
        found = []
        for q_k, t_k in zip(q, t, strict=True):
            G = self.matrix(self.matrix.state(q_k, t_k))
            Q, upper = np.linalg.qr(G[self.kept].T)
            N = np.zeros((len(G), len(rest)))
            N[self.kept], N[rest] = -solve_triangular(upper, Q.T @ G[rest].T), np.eye(len(rest))
            found.append(np.linalg.qr(N)[0])
        return found

    def least(self, useless: list[Array], kind: str, given: Array) -> Array:
        """Of the multipliers with the same forces as the given ones of the rows that were kept, those of least norm."""
        held = sum(self.original.rows)
        part = slice(0, held) if kind == "lam" else slice(held, None)
        kept = self.kept[(self.kept < held) == (kind == "lam")]
        full = np.zeros((len(given), len(self.matrix.rows)))
        full[:, kept] = given
        for row, N in zip(full, useless, strict=True):
            row -= N @ (N.T @ row)
        return full[:, part]


def reduce(system: System, q: Array) -> Reduced | None:
    """The system without the constraints that are redundant around the configuration q; None if there are none."""
    if not system.constrained and not system.nonholonomic:
        return None
    matrix = ConstraintMatrix(system)
    start, gap = matrix.assembled(matrix.state(q))
    reach = max(1e-12, float(np.abs(q).max()))
    if gap > 1e-8 * reach:
        return None
    samples = [_scaled(matrix(start))]
    null = np.linalg.svd(samples[0])[2][_rank(samples[0]) :]
    rng = np.random.default_rng(1)
    for _ in range(NEIGHBOURS if len(null) else 0):
        x = rng.standard_normal(len(null)) @ null
        near, gap = matrix.assembled(matrix.moved(start, DISTANCE * min(1.0, reach) * x / np.abs(x).max()))
        if gap < 1e-8 * reach:
            samples.append(_scaled(matrix(near)))
    ranks = [_rank(G) for G in samples]
    rank = max(ranks)
    if rank == len(samples[0]):
        return None
    # Of the configurations with that rank, the one where it is clearest.
    best = max((G for G, r in zip(samples, ranks, strict=True) if r == rank), key=lambda G: np.linalg.svd(G, compute_uv=False)[rank - 1])
    order = qr(best.T, mode="r", pivoting=True)[1]
    kept = np.sort(order[:rank])
    if _rank(samples[0][kept]) < rank:
        return None  # the start is a singular position besides
    dropped: dict[int, list[tuple[int, str]]] = {}
    for row in np.setdiff1d(np.arange(len(best)), kept):
        k, i, kind = matrix.rows[row]
        dropped.setdefault(k, []).append((i, kind))
    elements = [e.without(dropped.get(k, [])) for k, e in enumerate(system.elements)]
    names = tuple(f"{len(rows)} of '{system.elements[k].name}'" for k, rows in dropped.items())
    return Reduced(system, System.of(system.nodes, elements, system.structures), matrix, kept, names)


def unassembled(system: System, q: Array) -> str:
    """Which constraint cannot be met near the configuration q, and by how much; empty if all can."""
    matrix = ConstraintMatrix(system)
    S, gap = matrix.assembled(matrix.state(q))
    if gap <= 1e-8 * max(1e-12, float(np.abs(q).max())):
        return ""
    k = matrix.rows[int(np.argmax(np.abs(matrix.monitors.rows("constraint", S[None])[0])))][0]
    return f"the constraints cannot all be met near the start: '{system.elements[k].name}' is left with a gap of {gap:.3g}"


def _scaled(G: Array) -> Array:
    sizes = np.linalg.norm(G, axis=1)
    return np.asarray(G / np.where(sizes > 0, sizes, 1.0)[:, None])


def _rank(G: Array) -> int:
    values = np.linalg.svd(G, compute_uv=False)
    return int(np.sum(values > DEPENDENT * values.max(initial=0.0)))
