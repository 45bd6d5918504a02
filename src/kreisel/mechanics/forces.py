"""Forces: gravity, loads, springs, dampers, friction, and what a user writes.

Points on bodies are given in body axes relative to the centre of mass; ``"ground"`` is a body that stands still, whose points are points
of space. A history is a function of time, written with CasADi's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import Frame

History = Callable[[ca.SX], ca.SX]


class Gravity(Element):
    """The weight of a body: potential -m g . x, of its centre of mass or of a point fixed to it."""

    external = True

    def __init__(self, body: str, mass: float, acceleration: ArrayLike, at: ArrayLike = (0, 0, 0), name: str = "") -> None:
        super().__init__(name or f"weight of {body}", body)
        self.parameters = {"weight": mass * np.asarray(acceleration, dtype=float)}
        if np.any(at):
            self.parameters["at"] = vector(at, f"{self.name}: at")

    def potential(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        return -ca.dot(p.weight, body.point(p.at) if "at" in self.parameters else body.x)


class Load(Element):
    """A force and a moment on a body, at a point of it, in space or body axes, times a history or the value of a control.

    ``control``: the name of an input, as of :class:`kreisel.Torque`: a thruster that turns with the body, in body axes.

    >>> Load("top", force=(0, 0, 5), at=(0, 1, 0), history=lambda t: ca.sin(3 * t))
    Load 'load on top'
    """

    external = True

    def __init__(
        self,
        body: str,
        force: ArrayLike = (0, 0, 0),
        moment: ArrayLike = (0, 0, 0),
        at: ArrayLike = (0, 0, 0),
        axes: str = "space",
        history: History | None = None,
        name: str = "",
        control: str | None = None,
    ) -> None:
        super().__init__(name or (f"load on {body}" if control is None else f"load {control} on {body}"), body)
        if control is not None and history is not None:
            raise ValueError(f"'{self.name}' has a control and a history; it needs one of them, or none")
        if axes not in ("space", "body"):
            raise ValueError(f"{self.name}: axes must be 'space' or 'body', got {axes!r}")
        self.axes, self.history, self.control = axes, history, control
        self.parameters = {k: vector(a, f"{self.name}: {k}") for k, a in {"force": force, "moment": moment, "at": at}.items()}
        if control is not None:
            self.parameters["u"] = np.zeros(1)

    def signature(self) -> Any:
        return super().signature(), self.axes, self.control is None, self.history and id(self.history)

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        (body,), (motion,) = frames, virtual
        factor = self.history(t) if self.history else 1 if self.control is None else p.u
        if self.axes == "body":
            return factor * (ca.dot(ca.mtimes(body.R, p.force), motion.point_velocity(p.at)) + ca.dot(p.moment, motion.omega))
        return factor * (ca.dot(p.force, motion.point_velocity(p.at)) + ca.dot(p.moment, motion.space_omega))


class Spring(Element):
    """A straight spring between points of two bodies: potential k (|d| - length)^2 / 2."""

    def __init__(
        self,
        a: str,
        b: str,
        stiffness: float,
        length: float = 0.0,
        at_a: ArrayLike = (0, 0, 0),
        at_b: ArrayLike = (0, 0, 0),
        name: str = "",
    ) -> None:
        super().__init__(name or f"spring between {a} and {b}", a, b)
        # A spring of length zero is linear: no square root, no singular point.
        self.linear = length == 0
        self.parameters = {
            "stiffness": np.array([stiffness], dtype=float),
            "length": np.array([length], dtype=float),
            "at_a": vector(at_a, f"{self.name}: at_a"),
            "at_b": vector(at_b, f"{self.name}: at_b"),
        }

    def signature(self) -> Any:
        return super().signature(), self.linear

    def measures(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return ca.sumsqr(b.point(p.at_b) - a.point(p.at_a))

    def stored(self, p: SimpleNamespace, d2: ca.SX) -> ca.SX:
        return p.stiffness / 2 * (d2 if self.linear else (ca.sqrt(d2) - p.length) ** 2)

    def potential(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return self.stored(p, self.measures(p, t, a, b))


class Damper(Element):
    """A straight damper between points of two bodies: force -c d|d|/dt along d. With ``straight=False``: -c d' in all
    directions, for points that a joint keeps together (for points apart it would exert a moment on the pair)."""

    dissipative = True

    def __init__(
        self,
        a: str,
        b: str,
        damping: float,
        at_a: ArrayLike = (0, 0, 0),
        at_b: ArrayLike = (0, 0, 0),
        straight: bool = True,
        name: str = "",
    ) -> None:
        super().__init__(name or f"damper between {a} and {b}", a, b)
        self.straight = straight
        self.parameters = {
            "damping": np.array([damping], dtype=float),
            "at_a": vector(at_a, f"{self.name}: at_a"),
            "at_b": vector(at_b, f"{self.name}: at_b"),
        }

    def signature(self) -> Any:
        return super().signature(), self.straight

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        (a, b), (u, v) = frames, virtual
        rate = b.point_velocity(p.at_b) - a.point_velocity(p.at_a)
        motion = v.point_velocity(p.at_b) - u.point_velocity(p.at_a)
        if not self.straight:
            return -p.damping * ca.dot(rate, motion)
        d = b.point(p.at_b) - a.point(p.at_a)
        return -p.damping * ca.dot(d, rate) * ca.dot(d, motion) / ca.sumsqr(d)


class TorsionSpring(Element):
    """A torsional spring and damper about an axis of two bodies: moment -k phi - c phi' .

    phi is the angle by which body b is turned against body a about the axis (a unit vector, the same in both body frames when phi = 0),
    in (-pi, pi]: the angle of the projection onto the plane across the axis.
    """

    def __init__(self, a: str, b: str, axis: ArrayLike, stiffness: float, damping: float = 0.0, name: str = "") -> None:
        super().__init__(name or f"torsion spring between {a} and {b}", a, b)
        e = vector(axis, f"{self.name}: axis")
        if np.linalg.norm(e) == 0:
            raise ValueError(f"{self.name}: the axis has length zero")
        e = e / np.linalg.norm(e)
        across = np.linalg.svd(e[None])[2][1:]
        if np.linalg.det(np.stack([*across, e])) < 0:
            across = across[::-1]
        self.parameters = {
            "axis": e,
            "first": across[0],
            "second": across[1],
            "stiffness": np.array([stiffness], dtype=float),
            "damping": np.array([damping], dtype=float),
        }
        if damping:
            self.power = self._damping

    def signature(self) -> Any:
        return super().signature(), self.power is not None

    dissipative = True

    def measures(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        """Cosine and sine of the angle, times the length of the projection."""
        turned = ca.mtimes(a.R.T, ca.mtimes(b.R, p.first))
        return ca.vertcat(ca.dot(p.first, turned), ca.dot(p.second, turned))

    def stored(self, p: SimpleNamespace, y: ca.SX) -> ca.SX:
        return p.stiffness / 2 * ca.atan2(y[1], y[0]) ** 2

    def potential(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return self.stored(p, self.measures(p, t, a, b))

    def _damping(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        def rate(a: Frame, b: Frame) -> ca.SX:
            return ca.dot(ca.mtimes(a.R, p.axis), b.space_omega - a.space_omega)

        return -p.damping * rate(*frames) * rate(*virtual)


class Friction(Element):
    """Stokes friction of a body with its surroundings: force -c x', moment -d omega."""

    dissipative = True

    def __init__(self, body: str, translational: float = 0.0, rotational: float = 0.0, name: str = "") -> None:
        super().__init__(name or f"friction of {body}", body)
        self.parameters = {"c": np.array([translational], dtype=float), "d": np.array([rotational], dtype=float)}
        self.kinds = (translational != 0, rotational != 0)

    def signature(self) -> Any:
        return super().signature(), self.kinds

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        (body,), (motion,) = frames, virtual
        moves, turns = self.kinds
        return -(p.c * ca.dot(body.velocity, motion.velocity) if moves else 0) - (p.d * ca.dot(body.omega, motion.omega) if turns else 0)


class JointFriction(Element):
    """Viscous friction in a joint of two bodies: moment -d (omega_b - omega_a), with the angular velocities in space axes."""

    dissipative = True

    def __init__(self, a: str, b: str, damping: float, name: str = "") -> None:
        super().__init__(name or f"friction between {a} and {b}", a, b)
        self.parameters = {"d": np.array([damping], dtype=float)}

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        (a, b), (u, v) = frames, virtual
        return -p.d * ca.dot(b.space_omega - a.space_omega, v.space_omega - u.space_omega)


class Potential(Element):
    """A potential energy of one's own: a function of one frame per body.

    >>> Potential("bowl", "ball", lambda ball: 50 * ball.x[2] ** 2)
    Potential 'bowl'
    """

    def __init__(self, name: str, *bodies_and_formula: Any) -> None:
        *bodies, self.formula = bodies_and_formula
        super().__init__(name, *bodies)

    def signature(self) -> Any:
        return type(self), id(self.formula)

    def potential(self, p: SimpleNamespace, t: ca.SX, *frames: Frame) -> ca.SX:
        return self.formula(*frames)


class Force(Element):
    """A force of one's own, by its power in a virtual motion: a function of time, the frames, and the same frames in virtual motion.

    >>> Force("drag", "ball", lambda t, ball, virtual: -0.1 * ca.norm_2(ball.velocity) * ca.dot(ball.velocity, virtual.velocity))
    Force 'drag'
    """

    def __init__(self, name: str, *bodies_and_formula: Any) -> None:
        *bodies, self.formula = bodies_and_formula
        super().__init__(name, *bodies)

    def signature(self) -> Any:
        return type(self), id(self.formula)

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        return self.formula(t, *frames, *virtual)


def vector(a: ArrayLike, what: str) -> Any:
    """Three finite numbers."""
    x = np.array(a, dtype=float)
    if x.shape != (3,) or not all(map(isfinite, x.tolist())):
        raise ValueError(f"{what} must be three finite numbers, got {a!r}")
    return x
