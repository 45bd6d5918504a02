"""Joints: what ties two bodies, or a body and the ground, or nodes of beams, together.

Every joint compares two frames, A fixed to its first body and B fixed to its second, and says which products of their axes and points
shall be zero. So it serves all coordinates; in directors all rows are at most quadratic.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import vector
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.freedom import FirstTurn, Freedom, SecondTurn, Slide, Turn, followed

if TYPE_CHECKING:
    from kreisel.mechanics.mechanism import Mechanism

Array = NDArray[np.float64]


class Joint(Element):
    """A joint between two bodies. To add one, derive from this class and

    1. name it (``kind``) and say whether it has an axis (``axial``);
    2. write ``gap(p, t, A, B)``: the column that shall be zero, from the two frames. Their third axes lie along the axis of the joint;
    3. list the ``freedoms`` it leaves, ``{name: Freedom}``. It gets from them what it measures, friction, actuators and drives;
    4. say what its bodies have in common, if anything: the origin of A and B (``shares_point``), axes of these (``shared_axes``). Shared
       natural coordinates then need no rows for it.

    Where it is: ``at`` and ``axis``, in space, as the bodies stand at the start; or ``at_a``, ``at_b``, ``axis_a``, ``axis_b``, each in
    the axes of its body and from its centre of mass (of the ground: in space), if the bodies are yet to be brought together. Angles are
    zero at the start. ``friction``: viscous, one number or one per freedom; a torque (force) of -friction times the rate.

    >>> Revolute("ground", "arm", at=(0, 0, 0), axis=(1, 0, 0), friction=0.1, name="shoulder")
    Revolute 'shoulder'
    """

    kind: ClassVar[str] = "joint"
    axial: ClassVar[bool] = True
    freedoms: ClassVar[dict[str, Freedom]] = {}
    shares_point: ClassVar[bool] = False
    shared_axes: ClassVar[tuple[int, ...]] = ()
    dissipative = True

    def __init__(
        self,
        a: str,
        b: str,
        at: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        *,
        at_a: ArrayLike | None = None,
        at_b: ArrayLike | None = None,
        axis_a: ArrayLike | None = None,
        axis_b: ArrayLike | None = None,
        friction: ArrayLike = 0.0,
        name: str = "",
    ) -> None:
        super().__init__(name or f"{self.kind} between {a} and {b}", a, b)
        self.points = self._pair("at", at, at_a, at_b)
        self.axes = self._pair("axis", axis, axis_a, axis_b) if self.axial else None
        for n in self.axes or ():
            if n is not None and np.linalg.norm(n) == 0:
                raise ValueError(f"{self.kind} '{self.name}': the axis has length zero")
        if self.points[0] is None:
            self.parameters = {"at_a": self.points[1], "at_b": self.points[2]}
        k = np.asarray(friction, dtype=float)
        if k.shape not in ((), (len(self.freedoms),)) or not np.all(k >= 0):
            wanted = f"one number or {len(self.freedoms)}, for {', '.join(self.freedoms) or 'none'}; none of them negative"
            raise ValueError(f"{self.kind} '{self.name}': friction must be {wanted}; got {friction!r}")
        self.friction = np.full(len(self.freedoms), k)
        if np.any(self.friction):
            self.power = self._friction
        turning = [name for name, f in self.freedoms.items() if f.turns]
        if turning:
            self.memory = {f"{name}_{what}": np.zeros(1) for name in turning for what in ("last", "rate")} | {"time": np.zeros(1)}
            self.remember = self._remember

    def _pair(self, what: str, both: ArrayLike | None, first: ArrayLike | None, second: ArrayLike | None) -> tuple[Any, Any, Any]:
        """(in space, in a, in b): the first, or the other two."""
        given = [None if x is None else vector(x, f"{self.kind} '{self.name}': {what}") for x in (both, first, second)]
        if (both is None) == (first is None and second is None):
            raise ValueError(f"{self.kind} '{self.name}' needs either {what}, or {what}_a and {what}_b")
        if both is None:
            given = [None, *(np.zeros(3) if x is None and what == "at" else x for x in given[1:])]
            if any(x is None for x in given[1:]):
                raise ValueError(f"{self.kind} '{self.name}' needs {what}_a and {what}_b, both")
        return given[0], given[1], given[2]

    def settle(self, mechanism: Mechanism) -> None:
        starts = [mechanism.start(body) for body in self.bodies]
        if None in starts:
            return  # a body that does not exist: the system says so
        (R_a, x_a), (R_b, x_b) = starts  # type: ignore[misc]
        at, at_a, at_b = self.points
        numbers = {"at_a": at_a, "at_b": at_b} if at is None else {"at_a": R_a.T @ (at - x_a), "at_b": R_b.T @ (at - x_b)}
        if self.axes is not None:
            for body in self.bodies:
                if mechanism.is_point(body):
                    raise ValueError(f"{self.kind} '{self.name}': '{body}' is a point, it has no axes")
            axis, axis_a, axis_b = self.axes
            n_a, n_b = (axis, axis) if axis is not None else (R_a @ axis_a, R_b @ axis_b)
            A = self._triad(n_a)
            B = A if axis is not None else self._triad(n_b, A[:, 0])
            numbers |= {"axes_a": np.ravel(R_a.T @ A, "F"), "axes_b": np.ravel(R_b.T @ B, "F")}
        if np.any(self.friction):
            numbers["friction"] = self.friction
        self.parameters = numbers

    def _triad(self, axis: Array, first: Array | None = None) -> Array:
        """Columns: an orthonormal frame with the given third axis, the first one near to a given direction."""
        n = axis / np.linalg.norm(axis)
        first = np.eye(3)[np.argmin(np.abs(n))] if first is None else first
        e = first - n * (n @ first)
        if np.linalg.norm(e) < 1e-6:
            raise ValueError(f"{self.kind} '{self.name}': its axes on both bodies are at right angles; bring the bodies nearer together")
        e = e / np.linalg.norm(e)
        return np.stack([e, np.cross(n, e), n], axis=1)

    def frames(self, p: SimpleNamespace, a: Frame, b: Frame) -> tuple[Frame, Frame]:
        """A and B."""
        if not self.axial:
            return a.fixed(p.at_a, ca.DM.eye(3)), b.fixed(p.at_b, ca.DM.eye(3))
        return a.fixed(p.at_a, ca.reshape(p.axes_a, 3, 3)), b.fixed(p.at_b, ca.reshape(p.axes_b, 3, 3))

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        raise NotImplementedError

    def constraint(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return self.gap(p, t, *self.frames(p, a, b))

    def coordinate(self, name: str, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        """A joint coordinate, angles followed over full turns."""
        return followed(name, self.freedoms[name], p, t, self.freedoms[name].measures(*self.frames(p, a, b)))

    def coordinate_at_start(self, name: str, mechanism: Mechanism) -> float:
        """A joint coordinate as the bodies stand at the start."""
        places = [mechanism.start(body) or (np.eye(3), np.zeros(3)) for body in self.bodies]
        a, b = (Frame(ca.SX(0, 1), ca.SX(0, 1), ca.SX(R), ca.SX(x), ca.SX.zeros(3), ca.SX.zeros(3)) for R, x in places)
        p = SimpleNamespace(**{k: ca.SX(v) for k, v in self.parameters.items()})
        return float(ca.evalf(self.freedoms[name].value(*self.frames(p, a, b))))

    def rate(self, name: str, p: SimpleNamespace, a: Frame, b: Frame) -> ca.SX:
        """The rate of a joint coordinate."""
        return self.freedoms[name].rate(*self.frames(p, a, b))

    def _friction(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        return -sum(
            p.friction[k] * self.rate(name, p, *frames) * self.rate(name, p, *virtual)
            for k, name in enumerate(self.freedoms)
            if self.friction[k]
        )

    def _remember(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> dict[str, ca.SX]:
        new = {"time": t}
        for name, f in self.freedoms.items():
            if f.turns:
                new |= {f"{name}_last": self.coordinate(name, p, t, a, b), f"{name}_rate": self.rate(name, p, a, b)}
        return new

    def signature(self) -> Any:
        return super().signature(), tuple(self.friction != 0)


class Spherical(Joint):
    """A ball joint: a point of body a and one of body b stay together.

    The gap is measured in the axes of body b: for a body held by the ground, R^T x - X as in the sources. The multiplier is then the
    force that body b exerts on body a, in the axes of b.
    """

    kind = "ball joint"
    axial = False
    shares_point = True

    def __init__(
        self,
        a: str,
        b: str,
        at: ArrayLike | None = None,
        *,
        at_a: ArrayLike | None = None,
        at_b: ArrayLike | None = None,
        name: str = "",
    ) -> None:
        if at is None and at_a is None and at_b is None:
            at_a = at_b = (0, 0, 0)
        super().__init__(a, b, at, at_a=at_a, at_b=at_b, name=name)

    def constraint(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return ca.mtimes(b.R.T, b.x - a.point(p.at_a)) + p.at_b


def _aligned(A: Frame, B: Frame) -> ca.SX:
    """The third axes are parallel: two rows."""
    return ca.vertcat(ca.dot(A.R[:, 2], B.R[:, 0]), ca.dot(A.R[:, 2], B.R[:, 1]))


def _parallel(A: Frame, B: Frame) -> ca.SX:
    """All axes are parallel: three rows."""
    return ca.vertcat(_aligned(A, B), ca.dot(A.R[:, 0], B.R[:, 1]))


def _on_axis(A: Frame, B: Frame) -> ca.SX:
    """The origin of B lies on the third axis of A: two rows."""
    d = B.x - A.x
    return ca.vertcat(ca.dot(A.R[:, 0], d), ca.dot(A.R[:, 1], d))


class Revolute(Joint):
    """A hinge: b turns against a about the axis. Joint coordinate: ``angle``."""

    kind = "hinge"
    freedoms: ClassVar[dict[str, Freedom]] = {"angle": Turn()}
    shares_point = True
    shared_axes = (2,)

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(B.x - A.x, _aligned(A, B))


class Prismatic(Joint):
    """A slider: b moves along the axis of a and does not turn against it. Joint coordinate: ``stroke``."""

    kind = "slider"
    freedoms: ClassVar[dict[str, Freedom]] = {"stroke": Slide()}
    shared_axes = (0, 1, 2)

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(_on_axis(A, B), _parallel(A, B))


class Cylindrical(Joint):
    """b moves along the axis and turns about it. Joint coordinates: ``angle``, ``stroke``."""

    kind = "cylindrical joint"
    freedoms: ClassVar[dict[str, Freedom]] = {"angle": Turn(), "stroke": Slide()}
    shared_axes = (2,)

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(_on_axis(A, B), _aligned(A, B))


class Universal(Joint):
    """A cross: ``axis`` is fixed to a, ``second`` to b; they stay at right angles. Joint coordinates: ``first``, ``second``, the angles
    about these axes. Where both axes fall on one another in b (second = a quarter turn) the joint is singular."""

    kind = "universal joint"
    freedoms: ClassVar[dict[str, Freedom]] = {"first": FirstTurn(), "second": SecondTurn()}
    shares_point = True

    def __init__(
        self, a: str, b: str, at: ArrayLike, axis: ArrayLike, second: ArrayLike, *, friction: ArrayLike = 0.0, name: str = ""
    ) -> None:
        super().__init__(a, b, at, axis, friction=friction, name=name)
        self.second = vector(second, f"{self.kind} '{self.name}': second")
        sizes = np.linalg.norm(self.second) * np.linalg.norm(axis)
        if sizes == 0 or abs(np.dot(self.second, axis)) > 1e-9 * sizes:
            raise ValueError(f"{self.kind} '{self.name}': the axes must be at right angles, got {axis!r} and {second!r}")

    def _triad(self, axis: Array, first: Array | None = None) -> Array:
        return super()._triad(axis, self.second)

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(B.x - A.x, ca.dot(A.R[:, 2], B.R[:, 0]))


class Planar(Joint):
    """b moves in a plane of a whose normal is the axis. Joint coordinates: ``first``, ``second``: displacements along two axes across the
    normal, and ``angle`` about it."""

    kind = "planar joint"
    freedoms: ClassVar[dict[str, Freedom]] = {"first": Slide(0), "second": Slide(1), "angle": Turn()}
    shared_axes = (2,)

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(ca.dot(A.R[:, 2], B.x - A.x), _aligned(A, B))


class Fixed(Joint):
    """b is held as it stands against a at the start. ``at``: where reactions are measured, by default the centre of mass of b."""

    kind = "rigid joint"
    shares_point = True
    shared_axes = (0, 1, 2)

    def __init__(self, a: str, b: str, at: ArrayLike | None = None, name: str = "") -> None:
        self.default = at is None
        super().__init__(a, b, (0, 0, 0) if at is None else at, (0, 0, 1), name=name)

    def settle(self, mechanism: Mechanism) -> None:
        start = mechanism.start(self.bodies[1])
        if self.default and start is not None:
            self.points = start[1], None, None
        super().settle(mechanism)

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(B.x - A.x, _parallel(A, B))


class Distance(Joint):
    """A rod without mass: a point of a and one of b keep their distance, (d . d - length^2) / 2 = 0.

    Points are given in body axes from the centre of mass (of the ground: in space); ``length``: by default that of the start.
    """

    kind = "rod"
    axial = False

    def __init__(
        self, a: str, b: str, at_a: ArrayLike = (0, 0, 0), at_b: ArrayLike = (0, 0, 0), length: float | None = None, name: str = ""
    ) -> None:
        super().__init__(a, b, at_a=at_a, at_b=at_b, name=name)
        if length is not None and not (np.isfinite(length) and length > 0):
            raise ValueError(f"{self.kind} '{self.name}': the length must be positive, got {length}")
        self.length = length

    def settle(self, mechanism: Mechanism) -> None:
        super().settle(mechanism)
        starts = [mechanism.start(body) for body in self.bodies]
        if None in starts:
            return
        (R_a, x_a), (R_b, x_b) = starts  # type: ignore[misc]
        distance = float(np.linalg.norm(x_b + R_b @ self.parameters["at_b"] - x_a - R_a @ self.parameters["at_a"]))
        if self.length is None and distance == 0:
            raise ValueError(f"{self.kind} '{self.name}': its ends are at one place; a ball joint holds them together")
        self.parameters["length"] = np.array([distance if self.length is None else self.length])

    def gap(self, p: SimpleNamespace, t: ca.SX, A: Frame, B: Frame) -> ca.SX:
        return (ca.sumsqr(B.x - A.x) - p.length**2) / 2


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
