r"""Equilibria: where forces balance and constraints hold, at rest.

.. math:: f(q; p) - B(q)^T\lambda = 0, \qquad \Phi(q) = 0,

with a factor p of the external loads (weights and :class:`Load`), that grows from step to step or, with arc length, along the path.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from kreisel.groups import Group, Product
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.packs import Layout, T
from kreisel.simulation.prepare import kept
from kreisel.simulation.solution import Solution
from kreisel.simulation.status import Statistics, Status

Array = NDArray[np.float64]

#: Newton iterations of a load step at most; steps along a path are chosen to need about the second number.
MAX_ITERATIONS, WANTED_ITERATIONS = 25, 5
#: How often a load step that fails is halved.
HALVINGS = 6


class Balance(Stage):
    """Unknowns: an increment x of the configuration, and the multipliers. The time of the state is the factor of the loads."""

    lam_unknowns = ("l",)

    def __init__(self, time: float) -> None:
        self.time = ca.SX(time)

    def residual(self, e: Elements) -> dict[str, Any]:
        q, rest = e.move("x", 1.0), [0 * x for x in e.get("x")]
        forces = zip(e.force(self.time, q, rest, loads=e.t), e.constraint_force(self.time, q, e.lam.l), strict=True)
        return {"x": [b - f for f, b in forces], "l": e.constraint(self.time, q)}


@dataclass(frozen=True)
class Static(Method):
    """No motion: what carries an equilibrium in a solution. Its times are the factors of the loads, histories are taken at ``time``."""

    time: float = 0.0
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)


def equilibrium(system: System, loads: int | ArrayLike = 1, time: float = 0.0) -> Solution:
    """The equilibrium near the start of a system, with the external loads applied in steps.

    ``loads``: the number of equal steps to the full load, or the factors one by one. A step that fails is halved. ``time``: at which
    histories of loads and moving constraints are taken. The solution has the factors of the loads as times, and velocities zero; its last
    entry is the equilibrium under the last factor, ``sol.q[-1]``.

    >>> import kreisel as kr
    >>> sol = kr.equilibrium(kr.models.roll_up(segments=4), loads=5)
    >>> sol.success, bool(abs(sol.position("strip[4]")[-1]).max() < 1e-9)
    (True, True)
    """
    factors = np.linspace(0, 1, loads + 1)[1:] if isinstance(loads, int) else np.array(loads, dtype=float)
    if factors.ndim != 1 or not len(factors) or not np.all(np.isfinite(factors)):
        raise ValueError(f"loads must be a positive number of steps or a sequence of factors, got {loads!r}")
    path = Path(system, time)
    for factor in factors:
        if not path.load_step(float(factor)):
            break
        path.record()
    return path.solution()


def equilibrium_path(
    system: System,
    step: float = 0.1,
    steps: int = 50,
    time: float = 0.0,
    until: Callable[[Solution], bool] | None = None,
) -> Solution:
    """Equilibria along the path of loads, by arc length: also where the load has to fall again, beyond limit points.

    ``step``: the factor of the loads of the first step; it fixes the length of the others, which shrinks where Newton has a hard time and
    grows back. ``steps``: so many at most. ``until``: stops where a function of the solution so far is true. The corrector stays in the
    plane normal to the predictor (Riks 1979, Wempner 1971). The solution has the factors of the loads as times; they need not increase.

    >>> import kreisel as kr
    >>> sol = kr.equilibrium_path(kr.models.roll_up(segments=4), step=0.1, steps=5)
    >>> bool(sol.t[-1] > 0.4)
    True
    """
    if not (np.isfinite(step) and step != 0) or steps < 1:
        raise ValueError(f"step must not be zero and steps at least 1, got {step} and {steps}")
    path = Path(system, time)
    if not path.load_step(0.0):
        return path.solution()
    path.record()
    length, direction = None, None
    for _ in range(steps):
        found = path.arc_step(step, length, direction)
        if found is None:
            break
        length, direction = found
        path.record()
        if until is not None and until(path.solution()):
            break
    return path.solution()


def imbalance(system: System, load: float = 1.0, time: float = 0.0) -> Array:
    """The generalised forces that act at the start of a system at rest, (dim,): zero in an equilibrium without constraints.

    >>> import kreisel as kr
    >>> bool(abs(imbalance(kr.models.roll_up(rolled=True))).max() < 1e-10)
    True
    """
    path = Path(system, time)
    return -path.equations(load)[0][: system.dim]


def _rotations(group: Group, at: int) -> NDArray[np.int64]:
    """The places of rotations among the velocities of a group, which begin at ``at``."""
    found = []
    for g in group.factors if isinstance(group, Product) else (group,):
        if g.n_params > g.dim:
            found.append(at + np.arange(3))
        at += g.dim
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


class Path:
    """A sequence of equilibria in the making."""

    def __init__(self, system: System, at: float) -> None:
        if isinstance(system, Hamiltonian):
            raise ValueError("a Hamiltonian system has no loads; statics needs a mechanism or a kr.System")
        if system.nonholonomic:
            raise ValueError("statics does not know nonholonomic constraints: they do not restrict where a system can be")
        if system.black_boxes:
            raise ValueError(f"'{system.black_boxes[0]}' is a plain function: statics needs derivatives; write it as a formula")
        self.begun = time.perf_counter()
        self.system, self.layout = system, Layout(system, Static(at))
        self.assembly: Assembly = kept(system, (Balance, at), lambda: Assembly(self.layout, Balance(at)))
        self.S = self.layout.start()
        for node, places in zip(system.nodes, self.layout.nodes, strict=True):
            self.S[places["v"] : places["v"] + node.group.dim] = 0.0
        self.lam = np.zeros(sum(system.rows))
        #: Unknowns that are angles; and how far positions are apart, to measure increments by.
        starts = np.cumsum([0, *(node.group.dim for node in system.nodes)])
        turning = [_rotations(node.group, a) for a, node in zip(starts[:-1], system.nodes, strict=True)]
        self.turning = np.concatenate(turning)
        self.reach = max(1.0, float(np.abs(np.concatenate([node.q for node in system.nodes])).max()))
        self.records: list[Array] = []
        self.iterations = 0
        self.halvings = 0
        self.status, self.message = Status.REACHED_END, "reached the last load"

    # Newton's method on the group: the increment x is zero whenever the matrix is formed.

    def equations(self, factor: float) -> tuple[Array, Any]:
        self.S[T] = factor
        return self.assembly(self.S, np.concatenate([np.zeros(self.system.dim), self.lam]))

    def _load_rate(self, factor: float) -> Array:
        """The derivative of the residual by the factor, which enters linearly."""
        return self.equations(factor + 1.0)[0] - self.equations(factor)[0]

    def move(self, x: Array) -> None:
        at = 0
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            q = slice(places["q"], places["q"] + node.group.n_params)
            self.S[q] = node.group.retract(self.S[q], x[at : at + node.group.dim])
            at += node.group.dim
        self.lam = self.lam + x[at:]

    def _factorised(self, J: Any) -> Callable[[Array], Array] | None:
        """Solves with the matrix; None if it is singular. Stiffnesses and constraints are first scaled to the same size."""
        n = self.system.dim
        rows = np.asarray(abs(J[:n, :n]).max(axis=1).todense()).ravel()
        x = 1 / np.sqrt(np.where(rows > 0, rows, 1.0))
        rows = np.asarray(abs(J[n:, :n] @ sparse.diags(x)).max(axis=1).todense()).ravel() if J.shape[0] > n else np.zeros(0)
        D = np.concatenate([x, 1 / np.where(rows > 0, rows, 1.0)])
        try:
            lu = splu(sparse.csc_matrix(sparse.diags(D) @ J @ sparse.diags(D)))
        except RuntimeError:
            return None
        pivots = np.abs(lu.U.diagonal())
        return (lambda b: D * lu.solve(D * b)) if pivots.min() > 1e-14 * pivots.max() else None

    def _fail(self, status: Status, why: str, factor: float) -> None:
        self.status, self.message = status, f"{why}, at the factor {factor:.6g} of the loads"

    def _newton(self, solve: Callable[[Array, Any], tuple[Array, float] | None], factor: float) -> tuple[float, int] | None:
        """Iterates to the rounding floor; ``solve`` gives increments of the unknowns and of the factor. -> factor, iterations."""
        before = self.S.copy(), self.lam
        old = np.inf
        for iteration in range(1, MAX_ITERATIONS + 1):
            r, J = self.equations(factor)
            if not (np.all(np.isfinite(r)) and np.all(np.isfinite(J.data))):
                self._fail(Status.NOT_FINITE, "a force, potential or constraint gave nan or inf", factor)
                break
            if iteration == 1 and np.abs(r).max(initial=0.0) <= 1e-14 * np.abs(J.data).max(initial=0.0) * self.reach:
                return factor, 0  # nothing pulls; so be it if nothing holds either
            found = solve(r, J)
            self.iterations += 1
            if found is None:
                self._fail(Status.SINGULAR, self.loose(J), factor)
                break
            x, more = found
            size = float(np.abs(x[: self.system.dim]).max(initial=0.0))
            if not np.isfinite(size):
                self._fail(Status.SINGULAR, self.loose(J), factor)
                break
            # The matrix knows only its neighbourhood: nothing turns by more than a radian at once.
            turn = float(np.abs(x[self.turning]).max(initial=0.0))
            scale = min(1.0, 1.0 / turn) if turn > 0 else 1.0
            self.move(scale * x)
            factor += scale * more
            if size < 1e-13 * self.reach or (size < 1e-8 * self.reach and size > 0.3 * old):
                return factor, iteration
            old = size
        else:
            self._fail(Status.NOT_CONVERGED, "Newton's method did not converge; try more load steps", factor)
        self.S, self.lam = before
        return None

    def loose(self, J: Any) -> str:
        """Which body can move without a force, or which constraint is redundant, by the null vector of the matrix."""
        _, values, V = np.linalg.svd(J.toarray()) if J.shape[0] <= 1500 else (None, None, None)
        if V is None or values is None:
            return "the matrix of the equilibrium is singular: something can move without a force, or constraints are redundant"
        owner = self.assembly.unknowns.owners[int(np.argmax(np.abs(V[-1])))]
        return f"the matrix of the equilibrium is singular: something can move without a force, or constraints are redundant (at {owner})"

    def load_step(self, target: float) -> bool:
        """To the given factor, in as many parts as it takes."""
        begin = self.records[-1][T] if self.records else 0.0
        done, part = 0.0, 1.0
        while done < 1.0:
            factor = begin + min(done + part, 1.0) * (target - begin)

            def solve(r: Array, J: Any) -> tuple[Array, float] | None:
                inverse = self._factorised(J)
                return None if inverse is None else (-inverse(r), 0.0)

            if self._newton(solve, factor) is not None:
                done += part
                self.status, self.message = Status.REACHED_END, "reached the last load"
            elif part > 0.5**HALVINGS and target != begin:
                part /= 2
                self.halvings += 1
            else:
                return False
        self.S[T] = target
        return True

    def arc_step(self, first: float, length: float | None, direction: Array | None) -> tuple[float, Array] | None:
        """A step along the path. -> its length for the next one, and the direction."""
        factor = float(self.S[T])
        n = self.system.dim
        _, J = self.equations(factor)
        inverse = self._factorised(J)
        if inverse is None:
            self._fail(Status.SINGULAR, self.loose(J), factor)
            return None
        slope = -inverse(self._load_rate(factor))
        tangent = np.concatenate([slope[:n], [1.0]])
        size = float(np.linalg.norm(tangent))
        tangent /= size if direction is None or tangent @ direction > 0 else -size
        length = abs(first) * size if length is None else length
        if direction is None and first < 0:
            tangent = -tangent
        for _ in range(HALVINGS + 1):
            begin = self.S.copy(), self.lam
            advance = length * tangent[-1]
            self.move(slope * advance)

            def solve(r: Array, J: Any) -> tuple[Array, float] | None:
                inverse = self._factorised(J)
                if inverse is None:
                    return None
                a, b = -inverse(r), -inverse(self._load_rate(float(self.S[T])))
                more = -(tangent[:n] @ a[:n]) / (tangent[:n] @ b[:n] + tangent[-1])
                return a + more * b, more

            found = self._newton(solve, factor + advance)
            if found is not None:
                self.S[T] = found[0]
                self.status, self.message = Status.REACHED_END, "reached the last step"
                return length * float(np.clip(WANTED_ITERATIONS / max(found[1], 1), 0.5, 1.5)), tangent
            self.S, self.lam = begin
            self.S[T] = factor
            length /= 2
            self.halvings += 1
        return None

    def record(self) -> None:
        row = self.S[: self.layout.n_state].copy()
        at = 0
        for places, k in zip(self.layout.lam, self.system.rows, strict=True):
            if k:
                row[places["lam"] : places["lam"] + k] = self.lam[at : at + k]
                at += k
        self.records.append(row)

    def solution(self) -> Solution:
        if not self.records:
            self.record()  # the start: the last good state
        stats = Statistics(
            steps=len(self.records),
            newton_iterations=self.iterations,
            factorisations=self.iterations,
            halvings=self.halvings,
            seconds=time.perf_counter() - self.begun,
            preparation_seconds=0.0,
        )
        return Solution(self.layout, np.array(self.records), self.status, self.message, stats)
