r"""Equilibria of any system, isolated or in families.

.. math:: B(q)^T\lambda - f(q) = 0, \qquad \Phi(q) = 0

is solved by Newton's method on the group. Where its matrix is singular there is no force against some motion; if the equations can be
solved all the same, the equilibrium belongs to a family, whose dimension is the defect of the rank (Klemps, 4.2: the plain top may be
turned about its axis), and Newton's step is the shortest of all that there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.node import PivotNode, RigidNode
from kreisel.mechanics.system import System
from kreisel.simulation.solution import Solution
from kreisel.simulation.statics import Path

Array = NDArray[np.float64]

#: Singular values below this part of the largest one, after scaling, are zero.
RANK = 1e-9
ITERATIONS = 200
#: A body turns by less than this, in radians, at once.
FAR = 0.5


@dataclass(frozen=True)
class Equilibrium:
    """``solution``: where everything is (``solution.q[-1]``, ``solution.lam[-1]``). ``directions``: of the family it belongs to, (n, dim),
    variations w of q exp(w), orthonormal; none if it stands alone."""

    solution: Solution
    directions: Array

    @property
    def family(self) -> int:
        """The dimension of the family; 0 if the equilibrium is isolated."""
        return len(self.directions)

    @property
    def energy(self) -> float:
        """Potential energy."""
        return float(self.solution.potential_energy[-1])

    def __repr__(self) -> str:
        alone = "isolated" if not self.family else f"one of a family of dimension {self.family}"
        return f"<Equilibrium: {alone}, potential energy {self.energy:.9g}>"


def equilibrium(system: System, time: float = 0.0) -> Equilibrium:
    """The equilibrium that Newton's method finds from the start of a system, under all its loads at the given time.

    >>> import kreisel as kr
    >>> equilibrium(kr.models.extended_top("SO3", stiffness=0.0, damping=0.0)).family
    1
    """
    path = Path(system, time)
    found = _newton(path)
    if isinstance(found, str):
        raise ValueError(f"no equilibrium found from the start of the system: {found}")
    path.record()
    return Equilibrium(path.solution(), found)


def equilibria(system: System, tries: int = 40, seed: int = 0, time: float = 0.0) -> list[Equilibrium]:
    """The equilibria found from the start and from random configurations, those of lower potential energy first.

    Two that are as far apart as rounding, or two of families of equal dimension and energy, are taken for one.

    >>> import kreisel as kr
    >>> [round(e.energy, 2) for e in equilibria(kr.models.extended_top("SE3", stiffness=100.0))]
    [-147.15, 147.15]
    """
    if tries < 0:
        raise ValueError(f"tries must not be negative, got {tries}")
    rng = np.random.default_rng(seed)
    path = Path(system, time)
    start = path.S.copy()
    found: list[Equilibrium] = []
    for k in range(tries + 1):
        path.S, path.lam, path.records = start.copy(), 0 * path.lam, []
        if k:
            for node, places in zip(system.nodes, path.layout.nodes, strict=True):
                path.S[places["q"] : places["q"] + node.group.n_params] = node.group.random(rng)
        directions = _newton(path)
        if isinstance(directions, str):
            continue
        path.record()
        new = Equilibrium(path.solution(), directions)
        if not any(_same(new, old) for old in found):
            found.append(new)
    return sorted(found, key=lambda e: e.energy)


def _same(a: Equilibrium, b: Equilibrium) -> bool:
    if a.family != b.family or abs(a.energy - b.energy) > 1e-7 * (1 + abs(a.energy)):
        return False
    return bool(a.family) or float(np.abs(places(a.solution, -1) - places(b.solution, -1)).max()) < 1e-6


def places(solution: Solution, k: int) -> Array:
    """Where everything is at the k-th time: rotation matrices and positions, or else coordinates. A quaternion and its opposite are one."""
    parts = []
    for node in solution.system.nodes:
        if isinstance(node, RigidNode | PivotNode):
            parts += [solution.rotation(node.name)[k].ravel(), solution.position(node.name)[k]]
        else:
            parts.append(solution.configuration(node.name)[k])
    return np.concatenate(parts)


def _newton(path: Path) -> Array | str:
    """Moves to an equilibrium. -> the directions of its family, or why there is none."""
    n = path.system.dim
    r, J = path.equations(1.0)
    if len(r) > n and np.all(np.isfinite(r)) and np.all(np.isfinite(J.data)):
        # Multipliers that balance the forces as well as can be: without them there is no geometric stiffness.
        path.lam = path.lam - np.linalg.lstsq(J[:n, n:].toarray(), r[:n])[0]
    mu, size = 0.0, np.inf
    for _ in range(ITERATIONS):
        r, J = path.equations(1.0)
        A = J.toarray()
        if not (np.all(np.isfinite(r)) and np.all(np.isfinite(A))):
            return "a force, potential or constraint gave nan or inf"
        # Forces and constraints have their own units; rows and columns are scaled alike.
        D = np.sqrt(max(float(np.abs(A[:n, :n]).max(initial=0.0)), float(np.abs(r[:n]).max(initial=0.0))) or 1.0)
        scale = np.concatenate([np.full(n, 1 / D), np.full(len(r) - n, D)])
        U, s, V = np.linalg.svd(scale[:, None] * A * scale)
        rank = int(np.sum(s > RANK * s[0])) if len(s) and s[0] > 0 else 0
        S, lam, before = path.S.copy(), path.lam, float(np.linalg.norm(scale * r))
        while True:
            # Newton's step, bent and shortened towards the steepest descent while it turns a body too far, or does not make the forces
            # smaller (Levenberg, Marquardt).
            x = -scale * (V[:rank].T @ (s[:rank] / (s[:rank] ** 2 + mu) * (U[:, :rank].T @ (scale * r))))
            turn = float(np.abs(x[path.turning]).max(initial=0.0))
            new = float(np.abs(x[:n]).max(initial=0.0)) / path.reach
            if turn < FAR:
                path.move(x)
                if new < 1e-8 or np.linalg.norm(scale * path.equations(1.0)[0]) < before:
                    old, size, mu = size, new, mu / 10 if mu > 1e-12 else 0.0
                    break
                path.S, path.lam = S.copy(), lam
            mu = max(4 * mu, 1e-8 * float(s[0]) ** 2)
            if mu > 1e12 * float(s[0]) ** 2:
                return "nothing near by makes the forces smaller"
        if size < 1e-13 or (size < 1e-8 and size > 0.3 * old):  # the rounding floor
            left = path.equations(1.0)[0]
            if np.abs(left).max(initial=0.0) > 1e-8 * max(1.0, np.abs(A).max(initial=0.0)):
                return "forces remain that nothing balances"
            loose = (scale * V[rank:])[:, :n]
            # Redundant constraints leave the multipliers undetermined, not the motion.
            moving = np.linalg.svd(loose)
            return moving[2][: int(np.sum(moving[1] > 1e-6))] if len(loose) else np.zeros((0, n))
    return "Newton's method did not converge"
