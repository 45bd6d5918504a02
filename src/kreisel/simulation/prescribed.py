r"""Motion without integration: assembling a mechanism from a rough guess, prescribed motions, and the forces that they take.

.. math:: \Phi(q, t) = 0, \qquad B v = -\Phi_t, \qquad B a = -Z, \qquad B^T\lambda = f + \hat v^T M v - M a

These are loops in Python around compiled formulas; all systems are solved by least squares, so that redundant constraints do no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from time import perf_counter as clock
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.mechanics.actuators import PrescribedJoint
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import History
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.joints import Fixed, Joint, Universal
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.methods.starts import Accelerations
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.diagnose import seen_at
from kreisel.simulation.packs import H, Layout, T
from kreisel.simulation.redundancy import DEPENDENT, ConstraintMatrix
from kreisel.simulation.run import steps_of
from kreisel.simulation.solution import Solution
from kreisel.simulation.status import Statistics, Status

Array = NDArray[np.float64]

#: What a closed constraint may have left, in parts of the extent of the mechanism.
CLOSED = 1e-10
#: Iterations of an assembly at most, and how far (radians, or parts of the extent) one may move.
ITERATIONS, REACH = 500, 0.3
#: How much more it costs to deform a body, where coordinates would allow it, than to leave a joint open.
RIGID = 100.0


class UnassembledError(ValueError):
    """No configuration near the given one satisfies the constraints."""


def assemble(system: System, hold: tuple[str, ...] | str = (), time: float = 0.0) -> System:
    """The system with a start that satisfies its constraints, from a rough guess: configurations by damped Gauss-Newton steps (Levenberg
    and Marquardt), then the velocities nearest to the given ones.

    ``hold``: bodies that stay where they are. ``time``: of moving constraints. Joints of a mechanism that is yet to be assembled are given
    by their places on both bodies, ``at_a``, ``at_b``, ``axis_a``, ``axis_b``. If nothing fits, the error names what stays open.

    >>> import kreisel as kr
    >>> m = kr.Mechanism()
    >>> arm = m.body("arm", 1.0, (0.1, 0.1, 0.1), position=(0.4, 0.1, 0.0))
    >>> m.joint(kr.Spherical("ground", "arm", at_b=(-0.5, 0, 0)))
    >>> placed = assemble(m.system())
    >>> bool(abs(np.linalg.norm(placed.nodes[0].q[4:]) - 0.5) < 1e-12)
    True
    """
    _check(system, "assemble")
    held = (hold,) if isinstance(hold, str) else tuple(hold)
    for name in held:
        if name not in system.number:
            raise ValueError(f"hold: there is no body '{name}'; there are {sorted(system.number)}")
    matrix = ConstraintMatrix(system)
    S = matrix.state(np.concatenate([n.q for n in system.nodes]), time)
    at = np.cumsum([0, *(n.group.dim for n in system.nodes)])
    free = np.concatenate([np.full(n.group.dim, n.name not in held) for n in system.nodes])
    S = _close(matrix, S, free)
    _same_side(system, matrix.layout, S)
    for k, (node, places) in enumerate(zip(system.nodes, matrix.layout.nodes, strict=True)):
        S[places["v"] : places["v"] + node.group.dim] = node.v
        S[places["v"] : places["v"] + node.group.dim] *= free[at[k]]
    v = _velocity(matrix, S, free)
    nodes = []
    for k, (node, places) in enumerate(zip(system.nodes, matrix.layout.nodes, strict=True)):
        new = copy(node)
        new.q, new.v = S[places["q"] : places["q"] + node.group.n_params].copy(), v[at[k] : at[k + 1]]
        nodes.append(new)
    return System.of(nodes, system.elements, system.structures)


def _check(system: System, who: str) -> None:
    if not isinstance(system, System) or isinstance(system, Hamiltonian):
        raise TypeError(f"{who} takes a system; a mechanism gives one with .system(coordinates=...), got {type(system).__name__}")


def _close(matrix: ConstraintMatrix, S: Array, free: NDArray[np.bool_]) -> Array:
    """A configuration near S that satisfies the holonomic constraints."""
    rows = sum(matrix.system.rows)
    if not rows:
        return S
    extent = _extent(S, matrix)
    weights = np.array([RIGID if matrix.system.elements[k].intrinsic else 1.0 for k, _, _ in matrix.rows[:rows]])
    phi = weights * matrix.monitors.rows("constraint", S[None])[0]
    damping, patience = 1e-3, 0
    for _ in range(ITERATIONS):
        if np.abs(phi).max() < 1e-15 * extent or patience > 3:
            break
        G = weights[:, None] * matrix(S)[:rows, free]
        x = np.zeros(len(free))
        stacked = np.concatenate([G, np.sqrt(damping) * np.eye(G.shape[1])])
        x[free] = np.linalg.lstsq(stacked, np.concatenate([-phi, np.zeros(G.shape[1])]), rcond=None)[0]
        largest = np.abs(x).max()
        trial = matrix.moved(S, x * min(1.0, REACH * extent / max(largest, 1e-300)))
        new = weights * matrix.monitors.rows("constraint", trial[None])[0]
        if np.linalg.norm(new) < np.linalg.norm(phi):
            gained = 1 - np.linalg.norm(new) / np.linalg.norm(phi)
            # Near a solution Newton's method is best undamped; a valley without a solution is known by gains that fade.
            patience = patience + 1 if gained < 1e-4 else 0
            S, phi, damping = trial, new, damping * min(0.2, float(np.linalg.norm(new)))
        elif damping > 1e6:
            break
        else:
            damping = max(10 * damping, 1e-12)
            patience += int(np.linalg.norm(phi) < CLOSED * extent)
    if np.abs(phi).max() > CLOSED * extent:
        raise UnassembledError(f"the mechanism cannot be assembled from this guess: {_open(matrix, phi / weights)}")
    return S


def _open(matrix: ConstraintMatrix, phi: Array) -> str:
    """What stays open, worst first."""
    gaps: dict[str, float] = {}
    for (k, _, _), value in zip(matrix.rows, phi, strict=False):
        element = matrix.system.elements[k]
        if not element.intrinsic:
            gaps[element.name] = max(gaps.get(element.name, 0.0), abs(float(value)))
    worst = sorted(gaps, key=lambda name: -gaps[name])
    shown = [name for name in worst[:3] if gaps[name] > 0.3 * gaps[worst[0]]]
    return ", ".join(f"'{name}' stays open by {gaps[name]:.3g}" for name in shown)


def _extent(S: Array, matrix: ConstraintMatrix) -> float:
    q = [S[p["q"] : p["q"] + n.group.n_params] for n, p in zip(matrix.system.nodes, matrix.layout.nodes, strict=True)]
    return max(1e-6, float(np.abs(np.concatenate(q)).max()))


def _same_side(system: System, layout: Layout, S: Array) -> None:
    """Products of axes vanish for opposite axes, too, and directors may form a left-handed frame: neither is a place that was meant."""
    for node, places in zip(system.nodes, layout.nodes, strict=True):
        if isinstance(node, NaturalNode):
            A = node.pose(S[None, places["q"] : places["q"] + node.group.n_params])[0][0]
            if np.linalg.det(A) < 0:
                raise UnassembledError(f"the mechanism closes only with '{node.name}' inside out: its directors have become left-handed")
    for e in system.elements:
        formula = _agreement(e)
        if formula is not None:
            symbols, expression, sources = seen_at(layout, e, formula)
            f = ca.Function("f", [ca.vertcat(ca.SX(0, 1), *symbols)], [expression])
            if float(f(S[sources[0]])) < 0:
                raise UnassembledError(f"the mechanism closes only with '{e.name}' the wrong way round; bring its bodies nearer together")


def _agreement(e: Element) -> Any:
    """A function of the frames of an element that is positive if its axes agree."""
    if isinstance(e, PrescribedJoint) and e.freedom.turns:

        def along(p: Any, t: ca.SX, a: Any, b: Any) -> ca.SX:
            c, s = ca.vertsplit(e.freedom.measures(*e.frames(p, a, b)))
            by = ca.SX(e.function(t))
            return c * ca.cos(by) + s * ca.sin(by)

        return along
    if isinstance(e, Joint) and e.axial and not isinstance(e, Universal):

        def parallel(p: Any, t: ca.SX, a: Any, b: Any) -> ca.SX:
            A, B = e.frames(p, a, b)
            axes = [ca.dot(A.R[:, i], B.R[:, i]) for i in range(3)]
            return ca.fmin(axes[2], axes[0]) if isinstance(e, Fixed) else axes[2]

        return parallel
    return None


def _velocity(matrix: ConstraintMatrix, S: Array, free: NDArray[np.bool_] | None = None) -> Array:
    """The velocity nearest to that in S that satisfies the constraints."""
    n = matrix.system.dim
    free = np.ones(n, dtype=bool) if free is None else free
    v = np.concatenate([S[p["v"] : p["v"] + k.group.dim] for k, p in zip(matrix.system.nodes, matrix.layout.nodes, strict=True)])
    rates = np.concatenate([matrix.monitors.rows(name, S[None])[0] for name in ("constraint_rate", "pfaffian")])
    G, x = matrix(S), np.zeros(n)
    x[free] = np.linalg.lstsq(G[:, free], -rates, rcond=DEPENDENT)[0]
    left = rates + G @ x
    if np.abs(left).max(initial=0.0) > 1e-8 * (1 + np.abs(rates).max(initial=0.0)):
        raise UnassembledError(f"the constraints contradict each other in their rates: {_open(matrix, left)}")
    return np.asarray(v + x)


@dataclass(frozen=True)
class Prescription(Method):
    """No integration: what carries a prescribed motion in a solution."""

    states: ClassVar[tuple[str, ...]] = ("v", "a")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)


def kinematics(system: System, until: float, step: float | ArrayLike) -> Solution:
    """The motion of a system all of whose freedoms are prescribed, and the forces that it takes.

    Configurations, velocities and accelerations follow from the constraints alone, exact at every time; multipliers, hence reactions and
    the torques of the drives, ``sol.joint(name).drive``, from the equations of motion. ``step``: between the times, as in ``simulate``; the
    configuration at one time is the guess for the next. The start may be a rough guess. Redundant constraints get multipliers of least
    norm, inputs of actuators are zero. A motion that comes to a singular position or cannot go on ends there, and the message says why.

    >>> import casadi as ca, kreisel as kr
    >>> m = kr.Mechanism(gravity=(0, 0, -9.81))
    >>> arm = m.body("arm", 2.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> m.joint(kr.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, -1, 0), name="hinge"))
    >>> m.joint(kr.PrescribedJoint("hinge", lambda t: 0.3 * t**2, name="motor"))
    >>> sol = kinematics(m.system(), until=1, step=0.1)
    >>> [float(x.round(6)) for x in (sol.joint("hinge").angle[-1], sol.joint("motor").drive[0])]
    [0.3, 10.17]
    """
    begun = clock()
    _check(system, "kinematics")
    if system.black_boxes:
        raise ValueError(f"'{system.black_boxes[0]}' is a plain function: what a motion takes needs formulas")
    if system.nonholonomic:
        raise ValueError("kinematics does not know nonholonomic constraints: they do not say where a system is")
    _, ts = steps_of(until, step)
    walk = _Walk(system)
    status, message = Status.REACHED_END, Status.REACHED_END.value
    prepared = clock()
    for t in ts:
        try:
            walk.to(float(t))
        except UnassembledError as error:
            if not walk.records:
                raise
            status, message = Status.NOT_CONVERGED, f"{error}, at t = {t:.9g}"
        except _LooseError as error:
            if not walk.records:
                raise ValueError(f"not all freedoms are prescribed: {error}") from None
            status, message = Status.SINGULAR, f"a singular position: {error}, at t = {t:.9g}"
        if status is not Status.REACHED_END:
            break
    stats = Statistics(
        steps=len(walk.records) - 1,
        newton_iterations=0,
        factorisations=0,
        halvings=0,
        seconds=clock() - prepared,
        preparation_seconds=prepared - begun,
    )
    inputs = np.zeros((len(walk.records), len(walk.layout.inputs)))
    return Solution(walk.layout, np.array(walk.records), status, message, stats, inputs=inputs)


def inverse_dynamics(
    system: System, motion: Mapping[str, History | Mapping[str, History]], until: float, step: float | ArrayLike
) -> Solution:
    """The forces that a given motion takes: ``motion`` has the coordinates of joints as functions of time, ``{joint: function}``, or, where
    a joint has several, ``{joint: {coordinate: function}}``.

    The solution is that of :func:`kinematics`: ``sol.joint("motion of <joint>").drive`` is the torque (force) along the coordinate, with
    several coordinates "motion of <joint>, <coordinate>". The motion must determine all freedoms.
    """
    _check(system, "inverse_dynamics")
    drives: list[Element] = []
    for joint, given in motion.items():
        several = dict(given) if isinstance(given, Mapping) else {"": given}
        for coordinate, function in several.items():
            name = f"motion of {joint}, {coordinate}" if coordinate else ""
            drive = PrescribedJoint(joint, function, coordinate, name)
            drive.settle(system)  # type: ignore[arg-type]
            drives.append(drive)
    return kinematics(System.of(system.nodes, [*system.elements, *drives], system.structures), until, step)


class _LooseError(ValueError):
    """Something that can still move."""


class _Walk:
    """A prescribed motion in the making."""

    def __init__(self, system: System) -> None:
        self.system, self.layout = system, Layout(system, Prescription())
        self.matrix = ConstraintMatrix(system, self.layout)
        self.equations = Assembly(self.layout, Accelerations((), (), ()))
        self.remember = [_remembering(self.layout, e) for e in system.elements if e.remember is not None]
        self.S = self.matrix.state(np.concatenate([n.q for n in system.nodes]))
        self.v = self.a = np.zeros(system.dim)
        self.records: list[Array] = []

    def to(self, t: float) -> None:
        """The state at the given time."""
        h, n, rows = t - self.S[T], self.system.dim, sum(self.system.rows)
        S = self.matrix.moved(self.S, h * self.v + h**2 / 2 * self.a)
        S[T] = t
        S = _close(self.matrix, S, np.ones(n, dtype=bool))
        if not self.records:
            _same_side(self.system, self.layout, S)
        G = self.matrix(S)
        scaled = G / np.maximum(np.linalg.norm(G, axis=1), 1e-300)[:, None]
        _, values, V = np.linalg.svd(scaled)
        rank = int(np.sum(values > 1e-7 * values.max(initial=0.0)))
        if rank < n:
            dims = np.cumsum([node.group.dim for node in self.system.nodes])
            name = self.system.nodes[int(np.searchsorted(dims, int(np.argmax(np.abs(V[-1]))), side="right"))].name
            raise _LooseError(f"{n - rank} left, '{name}' can still move")
        self._set(S, "v", np.zeros(n))
        v = _velocity(self.matrix, S)
        self._set(S, "v", v)
        residual, J = self.equations(S, np.zeros(n + rows))
        K = J.toarray()
        a = np.linalg.lstsq(K[n:, :n], -residual[n:], rcond=DEPENDENT)[0]
        lam = np.linalg.lstsq(K[:n, n:], -residual[:n] - K[:n, :n] @ a, rcond=DEPENDENT)[0]
        self._set(S, "a", a)
        at = 0
        for places, k in zip(self.layout.lam, self.system.rows, strict=True):
            if k:
                S[places["lam"] : places["lam"] + k] = lam[at : at + k]
                at += k
        for values_of, sources, targets in self.remember:
            S[targets] = np.asarray(values_of(S[sources])).ravel()
        S[H] = h
        self.S, self.v, self.a = S, v, a
        self.records.append(S[: self.layout.n_state].copy())

    def _set(self, S: Array, name: str, x: Array) -> None:
        at = 0
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            S[places[name] : places[name] + node.group.dim] = x[at : at + node.group.dim]
            at += node.group.dim


def _remembering(layout: Layout, e: Element) -> tuple[ca.Function, NDArray[np.int64], NDArray[np.int64]]:
    """What an element remembers: a function, where its arguments are in S, and where its results go."""
    names: dict[str, int] = {}

    def formula(p: Any, t: ca.SX, *seen: Any) -> ca.SX:
        assert e.remember is not None
        new = e.remember(p, t, *seen)
        names.update({name: ca.SX(y).numel() for name, y in new.items()})
        return ca.vertcat(*new.values())

    symbols, expression, sources = seen_at(layout, e, formula)
    where = layout.parameters[layout.system.elements.index(e)]
    targets = np.concatenate([where[name] + np.arange(k) for name, k in names.items()])
    return ca.Function("f", [ca.vertcat(ca.SX(0, 1), *symbols)], [expression]), sources[0], targets
