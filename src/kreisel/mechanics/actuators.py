"""What acts on the coordinates of joints, or on scalars: torques, thrusts, drives, prescribed motions, gears.

They name the joint or scalar they belong to. A positive torque, thrust or drive moves its coordinate forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import History
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.freedom import Freedom, followed
from kreisel.mechanics.joints import Joint
from kreisel.mechanics.node import ScalarNode

if TYPE_CHECKING:
    from kreisel.mechanics.mechanism import Mechanism


Array = NDArray[np.float64]


class OnJoint(Element):
    """Something that belongs to a coordinate of a joint, given by the joint's name. Before the joint is known it has no bodies."""

    #: Whether the coordinate must be an angle, must not, or may be either.
    turns: ClassVar[bool | None] = None

    def __init__(self, joint: str, coordinate: str, name: str) -> None:
        super().__init__(name)
        self.joint_name, self.coordinate_name = joint, coordinate

    def settle(self, mechanism: Mechanism) -> None:
        self.joint, self.coordinate = joint_coordinate(mechanism, self.name, self.joint_name, self.coordinate_name)
        if self.turns is not None and self.turns != self.freedom.turns:
            what = "an angle; use kr.Torque" if self.freedom.turns else "a stroke; use kr.Thrust"
            raise ValueError(f"'{self.name}': the coordinate '{self.coordinate}' of '{self.joint_name}' is {what}")
        self.bodies = self.joint.bodies
        places = {k: self.joint.parameters[k] for k in ("at_a", "at_b", "axes_a", "axes_b")}
        self.parameters = {k: v for k, v in self.parameters.items() if k not in places} | places

    @property
    def freedom(self) -> Freedom:
        return self.joint.freedoms[self.coordinate]

    def frames(self, p: SimpleNamespace, a: Frame, b: Frame) -> tuple[Frame, Frame]:
        """A and B of the joint."""
        return self.joint.frames(p, a, b)

    def signature(self) -> Any:
        return super().signature(), self.freedom


class Input(Element):
    """Something with an input u: the value of a named control, or a function of time."""

    external = True

    def take(self, control: str | None, history: History | None) -> None:
        if (control is None) == (history is None):
            raise ValueError(f"'{self.name}' needs either a control or a history")
        self.control, self.history = control, history
        if control is not None:
            self.parameters = {"u": np.zeros(1)}

    def input(self, p: SimpleNamespace, t: ca.SX) -> ca.SX:
        return self.history(t) if self.history is not None else p.u

    def signature(self) -> Any:
        return super().signature(), self.history and id(self.history)


class Actuator(Input, OnJoint):
    """An input u along a joint coordinate: power u times its rate.

    ``control``: the name of the input, whose values :func:`kreisel.simulate` gets as ``controls={name: ...}`` (zero, if it does not); or
    ``history``: a function of time.
    """

    def __init__(
        self, joint: str, control: str | None = None, history: History | None = None, coordinate: str = "", name: str = ""
    ) -> None:
        super().__init__(joint, coordinate, name or f"{type(self).__name__.lower()} on {joint}")
        self.take(control, history)

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        return self.input(p, t) * self.freedom.rate(*self.frames(p, *virtual))


class Torque(Actuator):
    """A torque about an axis of a joint.

    >>> Torque("shoulder", control="u1")
    Torque 'torque on shoulder'
    """

    turns = True


class Thrust(Actuator):
    """A force along the stroke of a joint.

    >>> Thrust("rail", history=lambda t: 5 * ca.sin(t))
    Thrust 'thrust on rail'
    """

    turns = False


class Drive(Input):
    """A force or torque along a scalar of the mechanism (:meth:`Mechanism.scalar`), as a trolley or a winch: power u times its rate.

    ``control`` or ``history`` as for :class:`Torque`.

    >>> Drive("trolley", control="u")
    Drive 'drive of trolley'
    """

    def __init__(self, scalar: str, control: str | None = None, history: History | None = None, name: str = "") -> None:
        super().__init__(name or f"drive of {scalar}", scalar)
        self.take(control, history)

    def settle(self, mechanism: Mechanism) -> None:
        scalars = sorted(n.name for n in mechanism.nodes if isinstance(n, ScalarNode))
        if self.bodies[0] not in scalars:
            raise ValueError(f"'{self.name}' refers to the scalar '{self.bodies[0]}', which does not exist; there are {scalars}")

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        return self.input(p, t) * virtual[0].rate


class GeneralisedForce(Input):
    """An input u on the equations of motion (or the momenta) of a node: u b. ``direction``: b, one number per velocity."""

    def __init__(self, control: str, direction: Array) -> None:
        super().__init__(f"input {control}", "q")
        self.take(control, None)
        self.parameters["direction"] = direction

    def power(self, p: SimpleNamespace, t: ca.SX, frames: list[Frame], virtual: list[Frame]) -> ca.SX:
        return self.input(p, t) * ca.dot(p.direction, virtual[0].v)


def generalised_forces(controls: Sequence[str], inputs: ArrayLike | None, n: int) -> list[Element]:
    """The inputs B u with the matrix B = ``inputs``, (n, number of controls); without, one per velocity."""
    names = [controls] if isinstance(controls, str) else list(controls)
    if inputs is None and names and len(names) != n:
        raise ValueError(f"there are {len(names)} controls {names} for {n} coordinates; `inputs` must say how they act")
    B = np.eye(n)[:, : len(names)] if inputs is None else np.array(inputs, dtype=float)
    if B.shape != (n, len(names)) or not np.all(np.isfinite(B)):
        raise ValueError(f"inputs must be {(n, len(names))} finite numbers, a row per coordinate, a column per control; got {B.shape}")
    return [GeneralisedForce(name, b) for name, b in zip(names, B.T, strict=True)]


class PrescribedJoint(OnJoint):
    """A joint coordinate as a function of time. Its reaction is the torque (force) that it takes.

    Of an angle, the row is sin(angle - function): quadratic in directors, and indifferent to full turns.

    >>> PrescribedJoint("crank", lambda t: 2 * t)
    PrescribedJoint 'motion of crank'
    """

    def __init__(self, joint: str, function: History, coordinate: str = "", name: str = "") -> None:
        super().__init__(joint, coordinate, name or f"motion of {joint}")
        self.function = function

    def constraint(self, p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
        return self.freedom.shifted(*self.frames(p, a, b), ca.SX(self.function(t)))

    def signature(self) -> Any:
        return super().signature(), id(self.function)


class Gear(Element):
    """Couples the coordinates of two joints: second = ratio times first, both counted from the start.

    Angles are followed over full turns, so any ratio will do. ``first``, ``second``: names of joints; ``coordinates``: of theirs, where
    they have several. The multiplier is the torque (force) on the second coordinate, backwards.

    >>> Gear("pinion", "wheel", ratio=-0.25)
    Gear 'gear between pinion and wheel'
    """

    def __init__(self, first: str, second: str, ratio: float, coordinates: tuple[str, str] = ("", ""), name: str = "") -> None:
        super().__init__(name or f"gear between {first} and {second}")
        if not np.isfinite(ratio) or ratio == 0:
            raise ValueError(f"'{self.name}': the ratio must be finite and not zero, got {ratio}")
        if first == second:
            raise ValueError(f"'{self.name}' connects '{first}' with itself")
        self.names, self.wanted, self.ratio = (first, second), coordinates, float(ratio)
        self.parameters = {"ratio": np.array([self.ratio])}

    def settle(self, mechanism: Mechanism) -> None:
        found = [joint_coordinate(mechanism, self.name, j, c) for j, c in zip(self.names, self.wanted, strict=True)]
        self.joints = [joint for joint, _ in found]
        self.freedoms = [joint.freedoms[c] for joint, c in found]
        self.bodies = tuple(dict.fromkeys(body for joint in self.joints for body in joint.bodies))
        #: Which of the bodies the joints tie.
        self.ends = [tuple(self.bodies.index(body) for body in joint.bodies) for joint in self.joints]
        self.parameters = {"ratio": np.array([self.ratio])}
        self.memory = {}
        start = [joint.coordinate_at_start(c, mechanism) for joint, c in found]
        for k, (joint, freedom) in enumerate(zip(self.joints, self.freedoms, strict=True)):
            self.parameters |= {f"{name}{k}": joint.parameters[name] for name in ("at_a", "at_b", "axes_a", "axes_b")}
            if freedom.turns:
                self.memory |= {f"c{k}_last": np.zeros(1), f"c{k}_rate": np.zeros(1), "time": np.zeros(1)}
        # Strokes need not be zero at the start.
        self.parameters["offset"] = np.array([start[1] - self.ratio * start[0]])
        if self.memory:
            self.remember = self._remember

    def _frames(self, k: int, p: SimpleNamespace, frames: tuple[Frame, ...]) -> tuple[Frame, Frame]:
        own = SimpleNamespace(**{name: getattr(p, f"{name}{k}") for name in ("at_a", "at_b", "axes_a", "axes_b")})
        a, b = self.ends[k]
        return self.joints[k].frames(own, frames[a], frames[b])

    def measures(self, p: SimpleNamespace, t: ca.SX, *frames: Frame) -> ca.SX:
        return ca.vertcat(*(f.measures(*self._frames(k, p, frames)) for k, f in enumerate(self.freedoms)))

    def _coordinates(self, p: SimpleNamespace, t: ca.SX, y: ca.SX) -> list[ca.SX]:
        """Both coordinates by the measures of both."""
        n = 2 if self.freedoms[0].turns else 1
        return [followed(f"c{k}", f, p, t, z) for k, (f, z) in enumerate(zip(self.freedoms, (y[:n], y[n:]), strict=True))]

    def coupled(self, p: SimpleNamespace, t: ca.SX, y: ca.SX) -> ca.SX:
        first, second = self._coordinates(p, t, y)
        return second - p.ratio * first - p.offset

    def constraint(self, p: SimpleNamespace, t: ca.SX, *frames: Frame) -> ca.SX:
        return self.coupled(p, t, self.measures(p, t, *frames))

    def _remember(self, p: SimpleNamespace, t: ca.SX, *frames: Frame) -> dict[str, ca.SX]:
        new = {"time": t}
        values = self._coordinates(p, t, self.measures(p, t, *frames))
        for k, (f, value) in enumerate(zip(self.freedoms, values, strict=True)):
            if f.turns:
                new |= {f"c{k}_last": value, f"c{k}_rate": f.rate(*self._frames(k, p, frames))}
        return new

    def signature(self) -> Any:
        return super().signature(), tuple(self.freedoms), tuple(self.ends)


def joint_coordinate(mechanism: Mechanism, who: str, joint: str, coordinate: str) -> tuple[Joint, str]:
    """The joint of the given name, and which of its coordinates is meant: the only one, if none is named."""
    joints = {e.name: e for e in mechanism.elements if isinstance(e, Joint)}
    if joint not in joints:
        raise ValueError(f"'{who}' refers to the joint '{joint}', which does not exist; there are {sorted(joints)}")
    found = joints[joint]
    names = list(found.freedoms)
    if not names:
        raise ValueError(f"'{who}': {found.kind} '{joint}' has no joint coordinate")
    if not coordinate and len(names) > 1:
        raise ValueError(f"'{who}': '{joint}' has the coordinates {', '.join(names)}; say which one")
    if coordinate and coordinate not in names:
        raise ValueError(f"'{who}': '{joint}' has no coordinate '{coordinate}'; there are {', '.join(names)}")
    return found, coordinate or names[0]
