"""Discrete gradients: whose product with a step is the difference of the values at its ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca

#: Below this relative change of its arguments (squared) the discrete gradient is the gradient it starts from: the difference to the exact
#: balance, of third order in the change, is then less than round-off, and the quotient would be little else.
NO_CHANGE = 1e-14


class Field(Protocol):
    """A scalar function of z, in symbols: what a scheme asks of it."""

    def value(self, z: ca.SX) -> ca.SX: ...

    def gradient(self, z: ca.SX) -> ca.SX: ...


@dataclass(frozen=True)
class Formula:
    """A scalar function by an expression ``f`` in the symbols ``z``."""

    f: ca.SX
    z: ca.SX

    def value(self, z: ca.SX) -> ca.SX:
        return ca.substitute(self.f, self.z, z)

    def gradient(self, z: ca.SX) -> ca.SX:
        return ca.substitute(ca.gradient(self.f, self.z), self.z, z)


def discrete_gradient(f: ca.SX, x: ca.SX, g: ca.SX, x0: ca.SX, x1: ca.SX) -> ca.SX:
    """g + (f(x1) - f(x0) - g . d) d / d . d with d = x1 - x0, for a function f of x (Gonzalez 1996); g where nothing changes.

    ``g``: the gradient in the middle, or another one of second order.
    """
    formula = Formula(f, x)
    return completed(g, formula.value(x0), formula.value(x1), x0, x1)


def completed(g: ca.SX, f0: ca.SX, f1: ca.SX, x0: ca.SX, x1: ca.SX) -> ca.SX:
    """The same by the values f0 and f1 at both ends."""
    d = x1 - x0
    return g + d * guarded(f1 - f0 - ca.dot(g, d), ca.sumsqr(d), ca.sumsqr(x0) + ca.sumsqr(x1))


def guarded(a: ca.SX, b: ca.SX, size: ca.SX, otherwise: ca.SX | float = 0.0) -> ca.SX:
    """a / b, but ``otherwise`` where b, a square, is nothing beside ``size``."""
    moves = b > NO_CHANGE * size
    return ca.if_else(moves, a / ca.if_else(moves, b, 1), otherwise)
