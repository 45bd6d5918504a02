"""Discrete gradients: whose product with a step is the difference of the values at its ends."""

from __future__ import annotations

import casadi as ca

#: Below this relative change of its arguments (squared) the discrete gradient is the gradient it starts from: the difference to the exact
#: balance, of third order in the change, is then less than round-off, and the quotient would be little else.
NO_CHANGE = 1e-14


def discrete_gradient(f: ca.SX, x: ca.SX, g: ca.SX, x0: ca.SX, x1: ca.SX) -> ca.SX:
    """g + (f(x1) - f(x0) - g . d) d / d . d with d = x1 - x0, for a function f of x (Gonzalez 1996); g where nothing changes.

    ``g``: the gradient in the middle, or another one of second order.
    """
    d = x1 - x0
    missing = ca.substitute(f, x, x1) - ca.substitute(f, x, x0) - ca.dot(g, d)
    size = ca.sumsqr(d)
    moves = size > NO_CHANGE * (ca.sumsqr(x0) + ca.sumsqr(x1))
    return g + d * ca.if_else(moves, missing / ca.if_else(moves, size, 1), 0)
