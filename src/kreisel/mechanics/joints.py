"""Joints and constraints."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import vector
from kreisel.mechanics.frame import Frame


class Spherical(Element):
    """A ball joint: a point of body a (in body axes, from the centre of mass) and one of body b stay together.

    The gap is measured in the axes of body b: for a body held by the ground, R^T x - X as in the sources. The multiplier is then the
    force that body b exerts on body a, in the axes of b.
    """

    def __init__(self, a: str, b: str, at_a: ArrayLike = (0, 0, 0), at_b: ArrayLike = (0, 0, 0), name: str = "") -> None:
        super().__init__(name or f"ball joint between {a} and {b}", a, b)
        self.parameters = {"at_a": vector(at_a, f"{self.name}: at_a"), "at_b": vector(at_b, f"{self.name}: at_b")}

    def constraint(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return ca.mtimes(b.R.T, b.x - a.point(p.at_a)) + p.at_b


class Constraint(Element):
    """A holonomic constraint of one's own: a column that shall be zero, as a function of time and one frame per body.

    >>> Constraint("rail", "ball", lambda t, ball: ball.x[1])
    Constraint 'rail'
    """

    def __init__(self, name: str, *bodies_and_formula: Any) -> None:
        *bodies, self.formula = bodies_and_formula
        super().__init__(name, *bodies)

    def signature(self) -> Any:
        return type(self), id(self.formula)

    def constraint(self, p: SimpleNamespace, t: ca.SX, *frames: Frame) -> ca.SX:
        return self.formula(t, *frames)


class Pfaffian(Element):
    """A nonholonomic constraint of one's own: a column, linear in the velocities, that shall be zero.

    >>> Pfaffian("knife edge", "skate", lambda t, skate: ca.dot(skate.R[:, 1], skate.velocity))
    Pfaffian 'knife edge'
    """

    def __init__(self, name: str, *bodies_and_formula: Any) -> None:
        *bodies, self.formula = bodies_and_formula
        super().__init__(name, *bodies)

    def signature(self) -> Any:
        return type(self), id(self.formula)

    def pfaffian(self, p: SimpleNamespace, t: ca.SX, *frames: Frame) -> ca.SX:
        return self.formula(t, *frames)
