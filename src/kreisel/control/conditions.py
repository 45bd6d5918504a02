r"""What is asked of a motion: costs, conditions of the end, bounds.

Formulas are functions of a :class:`~kreisel.control.moment.Moment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.control.moment import Moment
from kreisel.groups import S3, SO3, R
from kreisel.mechanics.joints import Joint
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import RigidNode
from kreisel.mechanics.system import System
from kreisel.mechanics.tree import forest
from kreisel.methods.base import Method
from kreisel.simulation.monitors import Monitors
from kreisel.simulation.packs import Layout

Array = NDArray[np.float64]
Formula = Callable[[Moment], Any]
#: A joint, or a joint and one of its coordinates.
Joined = str | tuple[str, str]


@dataclass(frozen=True)
class Cost:
    r"""What is to be as small as can be: :math:`\int \ell\,dt + E`. Costs can be added and multiplied by numbers.

    ``running``: formulas of l, ``final``: of E. ``weights``: of the controls, if it is nothing but effort.
    """

    running: tuple[Formula, ...] = ()
    final: tuple[Formula, ...] = ()
    weights: Mapping[str, float] | None = None

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.running + other.running, self.final + other.final)

    def __rmul__(self, factor: float) -> Cost:
        def times(f: Formula) -> Formula:
            return lambda s: factor * f(s)

        return Cost(tuple(times(f) for f in self.running), tuple(times(f) for f in self.final))


def effort(weights: Mapping[str, float] | None = None) -> Cost:
    r"""The control effort :math:`\int \tfrac12 \sum_i w_i u_i^2\,dt` (Siebert, (6.1)). ``weights``: by control, 1 where not given."""
    given = dict(weights or {})

    def formula(s: Moment) -> ca.SX:
        for name in given:
            if name not in s.u:
                raise ValueError(f"effort: there is no control '{name}'; there are {sorted(s.u)}")
        return sum((given.get(name, 1.0) * u**2 / 2 for name, u in s.u.items()), start=ca.SX(0))

    return Cost(running=(formula,), weights=given)


def running(formula: Formula) -> Cost:
    """The integral of a formula over time, by the trapezoidal rule: ``kr.running(lambda s: s.coordinate("pole") ** 2)``."""
    return Cost(running=(formula,))


def final(formula: Formula) -> Cost:
    """A formula at the end: ``kr.final(lambda s: ca.sumsqr(s.position("tool") - goal))``."""
    return Cost(final=(formula,))


def duration(weight: float = 1.0) -> Cost:
    """The length of the motion, for a horizon that is free."""
    return Cost(final=(lambda s: weight * s.horizon,))


@dataclass(frozen=True)
class Condition:
    """lower <= formula <= upper. ``formula`` may give a column; bounds are numbers or arrays, None where there is none.

    >>> Condition("clear of the wall", lambda s: s.position("tool")[0], upper=1.5)
    Condition('clear of the wall')
    """

    name: str
    formula: Formula
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None

    def __repr__(self) -> str:
        return f"Condition({self.name!r})"

    @classmethod
    def equal(cls, name: str, formula: Formula, value: ArrayLike = 0.0) -> Condition:
        """formula = value."""
        return cls(name, formula, value, value)

    def rows(self, s: Moment) -> tuple[ca.SX, Array, Array]:
        """The column and its bounds."""
        y = ca.densify(ca.vec(ca.SX(self.formula(s))))
        bounds = []
        for given, otherwise in ((self.lower, -np.inf), (self.upper, np.inf)):
            b = np.asarray(otherwise if given is None else given, dtype=float)
            if b.shape not in ((), (y.numel(),)) or np.any(np.isnan(b)):
                raise ValueError(f"'{self.name}': bounds must be a number or {y.numel()} of them, got {given!r}")
            bounds.append(np.broadcast_to(b, y.numel()).copy())
        if np.any(bounds[0] > bounds[1]):
            raise ValueError(f"'{self.name}': the lower bound {self.lower} is above the upper one {self.upper}")
        return y, bounds[0], bounds[1]


@dataclass(frozen=True)
class Target:
    """Conditions of the end. Whatever is not named is free.

    ``coordinates``: of joints, ``{"elbow": 1.2}`` or ``{("rail", "stroke"): 0.5}``, as in ``sol.joint(...)``: zero at the start.
    ``rates``: of joints likewise, or "rest": nothing moves any more (all joints of a tree, and free bodies; otherwise the velocities that
    the constraints leave at ``q``). ``frames``: of bodies, ``{"hull": (position or None, rotation matrix or None)}``. ``q``: the whole
    configuration, as a solution shows it; of what constraints hold by themselves no condition is made. ``v``: the whole velocity, all
    numbers of it: in schemes whose velocities are not quite tangent this is more than "rest". ``conditions``: any others.
    """

    coordinates: Mapping[Joined, float] = field(default_factory=dict)
    rates: Mapping[Joined, float] | str = field(default_factory=dict)
    frames: Mapping[str, tuple[ArrayLike | None, ArrayLike | None]] = field(default_factory=dict)
    q: ArrayLike | None = None
    v: ArrayLike | None = None
    conditions: Sequence[Condition] = ()

    def all(self, shown: System) -> list[Condition]:
        """As conditions. ``shown``: the system of the solution."""
        found = [_coordinate(key, value) for key, value in self.coordinates.items()]
        if self.rates == "rest":
            found += _rest(shown, None if self.q is None else np.asarray(self.q, dtype=float))
        elif isinstance(self.rates, str):
            raise ValueError(f"rates must be 'rest' or a number for each joint, got {self.rates!r}")
        else:
            found += [_rate(key, value) for key, value in self.rates.items()]
        for body, (x, A) in self.frames.items():
            if x is not None:
                found.append(_position(body, np.asarray(x, dtype=float)))
            if A is not None:
                found.append(_rotation(body, np.asarray(A, dtype=float)))
        if self.q is not None:
            found.append(_configuration(shown, np.asarray(self.q, dtype=float)))
        if self.v is not None:
            v = np.asarray(self.v, dtype=float)
            n = sum(node.size("v") for node in shown.nodes)
            if v.shape != (n,):
                raise ValueError(f"end: v must have shape ({n},), got {v.shape}")
            found.append(Condition.equal("velocity at the end", lambda s: s.v, v))
        return [*found, *self.conditions]


def _pair(key: Joined) -> tuple[str, str]:
    return (key, "") if isinstance(key, str) else key


def _coordinate(key: Joined, value: float) -> Condition:
    joint, name = _pair(key)
    return Condition.equal(f"{joint} at the end", lambda s: s.coordinate(joint, name, near=float(value)), float(value))


def _rate(key: Joined, value: float) -> Condition:
    joint, name = _pair(key)
    return Condition.equal(f"rate of {joint} at the end", lambda s: s.rate(joint, name), float(value))


def _position(body: str, x: Array) -> Condition:
    if x.shape != (3,):
        raise ValueError(f"end: the position of '{body}' must have shape (3,), got {x.shape}")
    return Condition.equal(f"position of {body}", lambda s: s.position(body), x)


def _rotation(body: str, A: Array) -> Condition:
    if A.shape != (3, 3) or not np.allclose(A.T @ A, np.eye(3), atol=1e-9):
        raise ValueError(f"end: the rotation of '{body}' must be a rotation matrix (3, 3)")

    def formula(s: Moment) -> ca.SX:
        # By the quaternion, whose vector part has a derivative everywhere but is large at half a turn.
        q = S3.from_rotations(SO3, SO3.from_matrix(ca.mtimes(ca.DM(A.T), s.rotation(body))))
        return 2 * q[1:]

    return Condition.equal(f"rotation of {body}", formula)


def _rest(shown: System, q: Array | None) -> list[Condition]:
    """No velocity is left: by the rates of joints and free bodies, if they are all there is; else by what the constraints leave at q."""
    bodies = shown.bodies
    if all(isinstance(n, RigidNode | NaturalNode) for n in bodies):
        joints = [e for e in shown.elements if isinstance(e, Joint)]
        plane = any(isinstance(n, NaturalNode) and n.plane for n in bodies)
        frames = {n.name: n.frame(ca.SX(n.q), ca.SX(n.v)) for n in bodies}
        links = [link for tree in forest(list(frames), joints, plane, frames) for link in tree]
        if sum(f.group.dim for link in links for f in link.freedoms) == shown.degrees_of_freedom:
            found = []
            for link in links:
                if link.joint is None:
                    found += _rest_of(link.body, 2 if plane else 3)
                else:
                    found += [_rate((link.joint.name, name), 0.0) for name, f in link.joint.freedoms.items() if f in link.freedoms]
            return found
    if q is None and shown.constrained:
        raise ValueError("end: rates='rest' needs q, too, where the rates of joints in a tree are not all there is")
    P = np.eye(shown.dim) if q is None else free_directions(shown, q)
    return [Condition.equal("velocity at the end", lambda s: ca.mtimes(ca.DM(P.T), s.v))]


def _rest_of(body: str, n: int) -> list[Condition]:
    """A free body in space (n = 3) or in the plane (2) is at rest."""
    return [
        Condition.equal(f"velocity of {body} at the end", lambda s: s.velocity(body)[:n]),
        Condition.equal(f"angular velocity of {body} at the end", lambda s: s.omega(body) if n == 3 else s.omega(body)[2]),
    ]


def _configuration(shown: System, q: Array) -> Condition:
    if q.shape != (shown.n_params,):
        raise ValueError(f"end: q must have shape ({shown.n_params},), got {q.shape}")
    P = free_directions(shown, q)

    def formula(s: Moment) -> ca.SX:
        steps, at = [], 0
        for group, q_i, _ in s.parts:
            goal = ca.DM(q[at : at + group.n_params])
            steps.append(q_i - goal if isinstance(group, R) else group.difference(ca.SX(goal), q_i))
            at += group.n_params
        return ca.mtimes(ca.DM(P.T), ca.vertcat(*steps))

    return Condition.equal("configuration at the end", formula)


class _Still(Method):
    """Carries q and v only."""


def free_directions(system: System, q: Array) -> Array:
    """An orthonormal basis of the velocities that the constraints leave at a configuration: (dim, degrees of freedom)."""
    if not system.constrained:
        return np.eye(system.dim)
    layout = Layout(system, _Still())
    S = np.repeat(layout.start()[None], system.dim + 1, axis=0)
    v = np.vstack([np.zeros(system.dim), np.eye(system.dim)])
    layout.place(S, np.repeat(q[None], system.dim + 1, axis=0), v)
    monitors = Monitors(layout)
    gap = monitors.rows("constraint", S[:1])[0]
    if np.abs(gap).max() > 1e-6 * (1 + np.abs(q).max()):
        raise ValueError(f"end: q violates the constraints, by {np.abs(gap).max():.3g}")
    rates = monitors.rows("constraint_rate", S)
    G = (rates[1:] - rates[0]).T
    _, sizes, V = np.linalg.svd(G)
    rank = int(np.sum(sizes > 1e-9 * sizes.max()))
    return np.asarray(V[rank:].T)
