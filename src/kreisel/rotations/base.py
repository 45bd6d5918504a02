r"""What a parametrisation of the rotations is, once for all of them.

A rotation matrix R takes body vectors to space vectors. It obeys

.. math:: \dot R = \tilde\omega R \quad (\omega\text{ in space axes}), \qquad \dot R = R\tilde W \quad (W = R^T\omega\text{ in body axes}),

and every parametrisation R(x) turns this into an equation for its own numbers x: the rate equation. Source: Sadlowski, section 2, with
the signs of (2.82), (2.92), (2.93) and (2.94) corrected.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SO3
from kreisel.groups.base import TOLERANCE
from kreisel.symbolic import ArrayFunction
from kreisel.symbolic.operator import Operators, finite, operator
from kreisel.symbolic.vectors import axial

Array = NDArray[np.float64]
# What the operators take and give: SX expressions or arrays. The names say which shape and which domain is meant.
Point = Any  # (n_params,): the numbers of a rotation
Regular = Any  # (n_params,): the numbers of a rotation, away from the singularities of the rate equation
Matrix = Any  # (3, 3): a rotation matrix, any
Reached = Any  # (3, 3): a rotation matrix that has numbers in this parametrisation
Velocity = Any  # (3,): an angular velocity
Numbers = Any  # (n_params,): any numbers
Rate = Any  # (n_params,): the time derivative of a point
Constraint = Any  # (n_constraints,)
Square = Any  # (n_params, n_params)
Scalar = Any  # ()

#: Nearer than this to a singularity there are errors instead of numbers without a correct digit.
SINGULAR = 1e-12


class Parametrisation(Operators):
    """A way to describe rotations by numbers. To add one of your own, derive from this class and

    1. set ``name``, ``n_params``, ``n_constraints`` and ``element`` (what a point is, for messages);
    2. write, with CasADi's SX expressions, ``matrix(x)``, ``of(R)``, ``constraint(x)`` if there are more than three numbers, and
       ``space_rate(x, omega)``;
    3. write ``regularity(x)``, zero where the rate equation is singular, and ``reach(R)``, zero for rotations without numbers, with words
       for both in ``singular`` and ``unreached``, if there are such;
    4. append an instance to ``ALL_PARAMETRISATIONS`` in ``tests/support.py``: all laws are then tested.

    You get every operator below, in symbols and on arrays with any leading axes.
    """

    name: str
    n_params: int
    n_constraints: int = 0
    #: Whether the rate equation is linear in x, also off the constraints (in space axes).
    linear: ClassVar[bool] = False
    #: What a point is, for messages.
    element: str
    #: What happens where regularity is zero.
    singular: str = ""
    #: Which rotations have no numbers.
    unreached: str = ""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    @operator
    def matrix(self, x: Point) -> Matrix:
        """The rotation matrix R(x)."""
        raise TypeError(f"{self} does not define matrix")

    @operator
    def of(self, R: Reached) -> Point:
        """The numbers of a rotation matrix."""
        raise TypeError(f"{self} does not define of")

    @operator
    def constraint(self, x: Numbers) -> Constraint:
        """Zero where x describes a rotation."""
        return ca.SX(0, 1)

    @operator
    def regularity(self, x: Point) -> Scalar:
        """How far x is from the singularities of the rate equation: 1 at best, 0 where it fails."""
        return ca.SX(1)

    @operator
    def rate(self, x: Regular, omega: Velocity, *, frame: str = "space") -> Rate:
        """The derivative of x in a motion with angular velocity omega, given in "space" or in "body" axes."""
        return self.space_rate(x, omega) if check_frame(frame, f"{self}.rate") == "space" else self.body_rate(x, omega)

    @operator
    def omega(self, x: Point, rate: Rate, *, frame: str = "space") -> Velocity:
        """The angular velocity that belongs to the derivative of x: of R' R^T in "space" axes, of R^T R' in "body" axes."""
        y = ca.SX.sym("y", self.n_params)
        R = self.matrix(x)
        D = ca.substitute(ca.reshape(ca.jtimes(ca.vec(self.matrix(y)), y, rate), 3, 3), y, x)
        return axial(ca.mtimes(D, R.T) if check_frame(frame, f"{self}.omega") == "space" else ca.mtimes(R.T, D))

    @operator
    def compose(self, p: Point, q: Point) -> Point:
        """The numbers of R(p) R(q): first q, then p about axes fixed in space."""
        return self.of(ca.mtimes(self.matrix(p), self.matrix(q)))

    @operator
    def system_matrix(self, omega: Velocity, *, frame: str = "space") -> Square:
        """A of the rate equation x' = A x, of the linear parametrisations."""
        x = ca.SX.sym("x", self.n_params)
        A = ca.jacobian(self.rate(x, omega, frame=frame), x)
        if ca.depends_on(A, x):
            raise TypeError(f"{self}: the rate equation in {frame} axes is not linear")
        return A

    # In symbols

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        """The rate equation for an angular velocity in space axes."""
        raise TypeError(f"{self} does not define space_rate")

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        """The rate equation for an angular velocity in body axes."""
        return self.space_rate(x, ca.mtimes(self.matrix(x), omega))

    def defect(self, x: ca.SX) -> ca.SX:
        """Zero where x describes a rotation; else positive."""
        return ca.sqrt(ca.sumsqr(self.constraint(x)))

    def reach(self, R: ca.SX) -> ca.SX:
        """Zero for rotations that have no numbers."""
        return ca.SX(1)

    # Behind the scenes

    def _shape(self, kind: str) -> tuple[int, ...]:
        return {
            "Point": (self.n_params,),
            "Regular": (self.n_params,),
            "Numbers": (self.n_params,),
            "Rate": (self.n_params,),
            "Matrix": (3, 3),
            "Reached": (3, 3),
            "Velocity": (3,),
            "Constraint": (self.n_constraints,),
            "Square": (self.n_params, self.n_params),
            "Scalar": (),
        }[kind]

    def _excess(self, kind: str, x: ca.SX) -> ca.SX:
        """How far an argument is off what it should be."""
        if kind in ("Point", "Regular") and self.n_constraints:
            return self.defect(x)
        if kind in ("Matrix", "Reached"):
            return SO3.defect(SO3.from_matrix(x))
        return ca.SX(0)

    def _distance(self, kind: str, x: ca.SX) -> ca.SX:
        """From where there is no answer."""
        if kind == "Regular":
            return ca.SX(self.regularity(x))
        return ca.SX(self.reach(x)) if kind == "Reached" else ca.SX(1)

    def _admissible(self, kind: str, x: ca.SX) -> ca.SX:
        near = ca.logic_and(self._excess(kind, x) <= TOLERANCE, ca.fabs(self._distance(kind, x)) > SINGULAR)
        return ca.logic_and(finite(x), near)

    def _problem(self, kind: str, value: Array) -> str:
        text = np.array2string(value, precision=6)
        if not np.all(np.isfinite(value)):
            return f"contains nan or inf: {text}"
        x = ca.SX(ca.DM(value))
        excess = float(ca.evalf(self._excess(kind, x)))
        if excess > TOLERANCE:
            return f"is not {SO3.element if kind in ('Matrix', 'Reached') else self.element}: {text} is off by {excess:.3g}"
        if abs(float(ca.evalf(self._distance(kind, x)))) <= SINGULAR:
            return f"= {text}: {self.singular if kind == 'Regular' else self.unreached}"
        return ""


def check_frame(frame: str, where: str) -> str:
    """The frame, if it is one."""
    if frame not in ("space", "body"):
        raise ValueError(f"{where}: frame must be 'space' or 'body', got {frame!r}")
    return frame


def convert(x: ArrayLike, source: Parametrisation, target: Parametrisation) -> Array:
    """The numbers in ``target`` of the rotation with the numbers x in ``source``. Shapes (..., n_params).

    The way leads over the rotation matrix: of several answers (quaternions, angles beyond half a turn) the one of ``target.of``.

    >>> from kreisel.rotations import Cayley, EulerAngles
    >>> convert([0.1, 0.2, 0.3], EulerAngles("zxz"), Cayley).round(6)
    array([ 0.101864, -0.01022 ,  0.20271 ])
    """
    return np.asarray(_conversion(source, target)(x))


@cache
def _conversion(source: Parametrisation, target: Parametrisation) -> ArrayFunction:
    def valid(x: ca.SX) -> ca.SX:
        return ca.logic_and(source._admissible("Point", x), target._admissible("Reached", source.matrix(x)))

    def refuse(x: Array) -> str:
        problem = source._problem("Point", x)
        return f"x {problem}" if problem else f"R {target._problem('Reached', np.asarray(source.matrix(x)))}"

    return ArrayFunction(
        f"convert from {source} to {target}",
        lambda x: target.of(source.matrix(x)),
        {"x": (source.n_params,)},
        [(target.n_params,)],
        valid,
        refuse,
    )
