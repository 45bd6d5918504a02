"""A mechanism: bodies, joints and forces, described once and realised in any coordinates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, Group, R
from kreisel.groups.rigid import RigidMotions
from kreisel.mechanics.beam import Beam
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.forces import Gravity, vector
from kreisel.mechanics.freedom import Freedom
from kreisel.mechanics.joints import Joint, Spherical
from kreisel.mechanics.natural import NaturalNode, Orthonormal
from kreisel.mechanics.node import Ground, Node, PivotNode, PointNode, RigidNode, ScalarNode, seen_by
from kreisel.mechanics.quaternions import QuaternionNode, Unit
from kreisel.mechanics.section import Section
from kreisel.mechanics.shared import share
from kreisel.mechanics.shell import Layer, Shell
from kreisel.mechanics.structure import Structure
from kreisel.mechanics.system import System
from kreisel.mechanics.tree import any_rotation, by_joints
from kreisel.rotations import Parametrisation

Array = NDArray[np.float64]

#: Coordinates of rigid bodies.
COORDINATES: dict[str, Group] = {"SO3xR3": SO3 * R(3), "S3xR3": S3 * R(3), "SE3": SE3, "S3R3": S3R3, "UDQ": UDQ}
#: Coordinates of bodies that turn about a fixed point.
PIVOT_COORDINATES: dict[str, Group] = {"SO3": SO3, "S3": S3}
#: Natural coordinates: of each body, or of points and vectors that bodies share; and quaternions with a constraint.
NATURAL_COORDINATES = ("directors",)
SHARED_COORDINATES = ("natural",)
#: Joint coordinates of trees.
MINIMAL_COORDINATES = ("minimal",)
QUATERNIONS = "quaternions"


class Body:
    """A rigid body, with its start. Made by :meth:`Mechanism.body`."""

    def __init__(
        self,
        name: str,
        mass: float,
        inertia: ArrayLike,
        position: ArrayLike,
        rotation: ArrayLike | None,
        omega: ArrayLike,
        velocity: ArrayLike,
    ):
        self.name = name
        if not (np.isfinite(mass) and mass > 0):
            raise ValueError(f"body '{name}': the mass must be positive, got {mass}")
        self.mass = float(mass)
        self.inertia = _inertia(name, inertia)
        self.position = vector(position, f"body '{name}': position")
        self.rotation = np.eye(3) if rotation is None else np.array(rotation, dtype=float)
        if (
            self.rotation.shape != (3, 3)
            or np.abs(self.rotation.T @ self.rotation - np.eye(3)).max() > 1e-9
            or np.linalg.det(self.rotation) < 0
        ):
            raise ValueError(f"body '{name}': rotation must be a 3 x 3 rotation matrix")
        self.omega = vector(omega, f"body '{name}': omega")
        self.velocity = vector(velocity, f"body '{name}': velocity")


class Mechanism:
    """Bodies, points and scalars, tied by joints and moved by forces. SI units; body frames at the centres of mass.

    ``plane=True``: everything moves in the plane of the first two axes. Bodies then have one moment of inertia, positions and velocities of
    two numbers, an angle for the rotation and one for the angular velocity; in directors they have six coordinates instead of twelve, and
    points two instead of three.

    >>> m = Mechanism(gravity=(0, 0, -9.81))
    >>> arm = m.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.01), position=(0, 0.5, 0))
    >>> m.joint(Spherical("ground", "arm", at_b=(0, -0.5, 0)))
    >>> m.system(coordinates="S3R3").degrees_of_freedom
    3
    """

    ground = Ground.name

    def __init__(self, gravity: ArrayLike = (0, 0, 0), plane: bool = False) -> None:
        self.plane = plane
        self.gravity = vector(self._in_space(gravity), "gravity")
        self.bodies: dict[str, Body] = {}
        self.nodes: list[Node] = []  # points and scalars
        self.elements: list[Element] = []
        self.structures: dict[str, Structure] = {}

    def body(
        self,
        name: str,
        mass: float,
        inertia: ArrayLike,
        position: ArrayLike = (0, 0, 0),
        rotation: ArrayLike | None = None,
        omega: ArrayLike = (0, 0, 0),
        velocity: ArrayLike = (0, 0, 0),
    ) -> str:
        """A rigid body; returns its name.

        ``inertia``: about the centre of mass in body axes, three principal moments or a 3 x 3 matrix. ``position``: of the centre of
        mass. ``rotation``: matrix, body to space. ``omega``: angular velocity in body axes. ``velocity``: of the centre of mass in space
        axes.
        """
        self._new(name)
        if self.plane:
            position, velocity = self._in_space(position), self._in_space(velocity)
            inertia, rotation, omega = _planar(name, inertia, rotation, omega)
        self.bodies[name] = Body(name, mass, inertia, position, rotation, omega, velocity)
        if np.any(self.gravity):
            self.elements.append(Gravity(name, mass, self.gravity))
        return name

    def _in_space(self, a: ArrayLike) -> ArrayLike:
        """Two numbers of the plane, as three."""
        x = np.asarray(a, dtype=float)
        if not self.plane:
            return a
        x = np.append(x, 0.0) if x.shape == (2,) else x
        if x.shape == (3,) and x[2] != 0:
            raise ValueError(f"the mechanism is planar: {a!r} leads out of the plane")
        return x

    def point(self, name: str, mass: float, position: ArrayLike = (0, 0, 0), velocity: ArrayLike = (0, 0, 0)) -> str:
        """A point mass; returns its name."""
        self._new(name)
        if not (np.isfinite(mass) and mass > 0):
            raise ValueError(f"point '{name}': the mass must be positive, got {mass}")
        x, v = (vector(self._in_space(a), f"point '{name}': {what}") for a, what in ((position, "position"), (velocity, "velocity")))
        node = PointNode(name, x, v, self.plane)
        self.nodes.append(node)
        self.elements.append(Inertia(f"inertia of {name}", name, mass * np.eye(node.n)))
        if np.any(self.gravity):
            self.elements.append(Gravity(name, mass, self.gravity))
        return name

    def scalar(self, name: str, mass: float, value: float = 0.0, rate: float = 0.0) -> str:
        """A single coordinate with inertia; returns its name."""
        self._new(name)
        if not (np.isfinite(mass) and mass > 0):
            raise ValueError(f"scalar '{name}': the mass must be positive, got {mass}")
        self.nodes.append(ScalarNode(name, value, rate))
        self.elements.append(Inertia(f"inertia of {name}", name, np.array([[mass]], dtype=float)))
        return name

    def beam(self, name: str, length: float, segments: int | ArrayLike, section: Section, **options: Any) -> Beam:
        """A geometrically exact beam; returns it, since its nodes have names of their own (``beam.start``, ``beam.node(3)``).

        ``segments``: their number, or the grid of arc lengths from 0 to ``length``. ``section``: stiffness and inertia per length.

        ``curve``: where it is at the start: ``kr.straight``, ``kr.arc``, ``kr.helix``, or a function of the arc length s that gives a
        position, or a position and a rotation matrix (third axis along the beam). By default straight along the third axis.
        ``precurvature``, ``prestrain``: curvatures, and shears and stretch, without stress, as three numbers or functions of s; if
        neither is given, the initial curve is free of stress.
        ``variant``: "cosserat", "kirchhoff" (no shear), "inextensible" (no shear, no stretch), or a function of the strains w and w*
        (six each: curvatures, twist, shears, stretch) that shall be zero.
        ``start``, ``end``: "free", "clamped" or "pinned" to the ground, or the name of a body or of a node of another beam, of which it
        then is a rigid part. Joints are for everything else. ``closed``: the end is the start.
        ``viscosity``: V of the section forces 2 V w' of Kelvin and Voigt, one number or six.
        ``omega``, ``velocity``: a rigid motion at the start, in space axes, the velocity that of the point s = 0.

        Beams live on SE3, S3R3 or UDQ; in other coordinates of the bodies, on S3R3.

        >>> m = Mechanism(gravity=(0, 0, -9.81))
        >>> rod = m.beam("rod", 1.0, 8, Section.circle(0.01, E=70e9, nu=0.3, rho=2700), variant="kirchhoff", start="clamped")
        >>> m.system().degrees_of_freedom
        32
        """
        self._new(name)
        beam = Beam(self, name, length, segments, section, **options)
        self.structures[name] = beam
        return beam

    def shell(self, name: str, lengths: tuple[float, float], cells: tuple[int, int], layer: Layer, **options: Any) -> Shell:
        """A micropolar shell on a rectangular grid; returns it. Its nodes are ``shell.node(shell.index(i, j))``, named "name[i,j]".

        ``lengths``: L1, L2. ``cells``: their number in both directions. ``layer``: thickness, density and stiffness.

        ``surface``: where it is at the start, a function (s1, s2) that gives a position and a rotation matrix (first two axes along s1
        and s2, third across); by default the plane of the first two axes of space. ``rest``: "initial" (the initial surface is free of
        stress) or "flat". ``clamped``: edges held by the ground, out of "s1=0", "s1=L1", "s2=0", "s2=L2". ``omega``, ``velocity``: a
        rigid motion at the start, in space axes, the velocity that of the point (0, 0).

        >>> m = Mechanism()
        >>> plate = m.shell("plate", (1.0, 1.0), (4, 4), Layer.isotropic(0.01, E=70e9, nu=0.3, rho=2700), clamped="s1=0")
        >>> m.system().degrees_of_freedom
        120
        """
        self._new(name)
        shell = Shell(self, name, lengths, cells, layer, **options)
        self.structures[name] = shell
        return shell

    def pose(self, name: str, who: str = "pose") -> Array:
        """Where a body, or a node of a beam or shell, is at the start: an element of SE3."""
        if name in self.bodies:
            return np.concatenate([self.bodies[name].rotation.ravel(), self.bodies[name].position])
        for structure in self.structures.values():
            if name in structure.points and structure._host(name).offset is None:
                return np.array(structure.poses[structure.points.index(name)])
        raise ValueError(f"{who} refers to '{name}', which is no body that can carry it")

    def start(self, name: str) -> tuple[Array, Array] | None:
        """Rotation matrix and position of a body, a point, the ground or a node of a beam at the start; None if there is none."""
        if name == Ground.name:
            return np.eye(3), np.zeros(3)
        for node in self.nodes:
            if isinstance(node, PointNode) and node.name == name:
                return np.eye(3), node.position(node.q[None])[0]
        try:
            pose = self.pose(name)
        except ValueError:
            return None
        return pose[:9].reshape(3, 3), pose[9:]

    def is_point(self, name: str) -> bool:
        """Whether this is a point, which has no axes."""
        return any(isinstance(node, PointNode) and node.name == name for node in self.nodes)

    def joint(self, joint: Element) -> None:
        """Adds a joint or a constraint."""
        if joint.constraint is None and joint.pfaffian is None:
            raise TypeError(f"{joint!r} is no joint; forces are added with force()")
        self.elements.append(joint)

    def force(self, force: Element) -> None:
        """Adds a force."""
        if force.potential is None and force.power is None and force.routine is None:
            raise TypeError(f"{force!r} is no force; joints are added with joint()")
        self.elements.append(force)

    def system(self, coordinates: str = "S3R3", rotation: Parametrisation | None = None) -> System:
        """The mechanism in the given coordinates: "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"; "directors", the natural coordinates (twelve
        numbers per body, in the plane six); "natural", points and unit vectors instead, which bodies share at their joints, so that these
        need no constraints (see :mod:`~kreisel.mechanics.shared`; the motion is the same as in directors, to rounding);
        "quaternions", in R^4 with a constraint, and position (without, if a ball joint holds the body to the ground; the joint then
        disappears); "minimal", the coordinates of the joints of open trees (see :class:`Tree`; a joint that closes a loop stays a
        constraint); or "SO3" and "S3" if every body is held by a ball joint to the ground (the joint then disappears).

        ``rotation``: of minimal coordinates, three numbers for the rotation of each free body and each ball joint instead of a quaternion:
        ``kr.rotations.EulerAngles("zxz")`` or any other sequence, ``RotationVector``, ``Cayley``. Where these are singular (gimbal lock, a
        full turn, half a turn) a run fails; quaternions are nowhere singular.

        >>> from kreisel.rotations import EulerAngles
        >>> m = Mechanism()
        >>> hull = m.body("hull", mass=1.0, inertia=(0.1, 0.2, 0.25), rotation=EulerAngles("zxz").matrix([0.1, 1.2, 0.3]))
        >>> m.system("minimal", rotation=EulerAngles("zxz")).nodes[0].q.round(12)
        array([0. , 0. , 0. , 0.1, 1.2, 0.3])
        """
        free = self._free(coordinates, rotation)
        if coordinates in SHARED_COORDINATES:
            return share(self.system("directors"))
        if coordinates in MINIMAL_COORDINATES:
            return by_joints(self.system("SO3xR3"), self.plane, free)
        elements = list(self.elements)
        for e in sorted(elements, key=lambda e: not isinstance(e, Joint)):  # joints first: others refer to them
            e.settle(self)
        nodes: list[Node] = []
        for body in self.bodies.values():
            if coordinates in COORDINATES:
                node: Node = RigidNode(body.name, COORDINATES[coordinates])
            elif coordinates in PIVOT_COORDINATES:
                pivot = self._pivot(body)
                elements.remove(pivot)
                node = PivotNode(body.name, PIVOT_COORDINATES[coordinates], pivot.parameters["at_a"], -pivot.parameters["at_b"])
            elif coordinates in NATURAL_COORDINATES:
                node = NaturalNode(body.name, self.plane)
                elements.append(Orthonormal(body.name, self.plane))
            elif coordinates == QUATERNIONS:
                node = QuaternionNode(body.name)
                if self._held(body) is not None:
                    pivot = self._pivot(body)
                    elements.remove(pivot)
                    node = QuaternionNode(body.name, pivot.parameters["at_a"], -pivot.parameters["at_b"])
                elements.append(Unit(body.name))
            else:
                known = ", ".join(
                    [*COORDINATES, *PIVOT_COORDINATES, *NATURAL_COORDINATES, *SHARED_COORDINATES, QUATERNIONS, *MINIMAL_COORDINATES]
                )
                raise ValueError(f"coordinates must be one of {known}, got '{coordinates}'")
            node.q, node.v = node.place(body.rotation, body.position, body.omega, body.velocity)
            nodes.append(node)
            elements.append(node.inertia(body.mass, body.inertia))
        everything = {n.name: n for n in [*nodes, *self.nodes]}
        group = COORDINATES.get(coordinates)
        group = group if isinstance(group, RigidMotions) else S3R3
        realised = {}
        for name, structure in self.structures.items():
            own, connections, realised[name] = structure.realise(group, everything, self.gravity)
            everything |= {n.name: n for n in own}
            elements += connections
        for e in elements:
            for other in e.bodies:
                owner = self.structures.get(other.split("[")[0])
                if other not in everything and owner is not None:
                    raise ValueError(f"'{e.name}' refers to '{other}', but {owner.missing(other)}")
        if self.plane and coordinates in NATURAL_COORDINATES:
            elements = [_in_plane(e, everything) for e in elements]
        return System.of(list(everything.values()), elements, realised)

    def _free(self, coordinates: str, rotation: Parametrisation | None) -> Freedom:
        """How free bodies and ball joints turn, in minimal coordinates."""
        if rotation is not None and coordinates not in MINIMAL_COORDINATES:
            raise ValueError(f"rotation={rotation} belongs to coordinates='minimal'; '{coordinates}' has its own way to describe rotations")
        if rotation is not None and self.plane:
            raise ValueError(f"rotation={rotation}: the mechanism is planar, its rotations are angles")
        return any_rotation(rotation)

    def _held(self, body: Body) -> Spherical | None:
        """The ball joint that holds a body to the ground, if there is one."""
        return next((e for e in self.elements if isinstance(e, Spherical) and e.bodies == (Ground.name, body.name)), None)

    def _pivot(self, body: Body) -> Spherical:
        pivot = self._held(body)
        if pivot is not None:
            return pivot
        raise ValueError(f"body '{body.name}' is not held by a ball joint to the ground, so its rotation alone does not describe it")

    def _new(self, name: str) -> None:
        taken = {Ground.name, *self.bodies, *self.structures, *(n.name for n in self.nodes)}
        if not name or name in taken or "[" in name:
            raise ValueError(f"'{name}' cannot be the name of a body: it is empty, taken, or has a bracket")


def _inertia(name: str, inertia: ArrayLike) -> Array:
    J = np.array(inertia, dtype=float)
    J = np.diag(J) if J.shape == (3,) else J
    if J.shape != (3, 3) or not np.all(np.isfinite(J)) or np.any(np.abs(J - J.T) > 1e-14 * np.abs(J).max() + 1e-12 * np.abs(J)):
        raise ValueError(f"body '{name}': inertia must be three principal moments or a symmetric 3 x 3 matrix")
    a, b, c = np.linalg.eigvalsh(J)
    if a <= 0:
        raise ValueError(f"body '{name}': the principal moments of inertia must be positive, got {a:.6g}, {b:.6g}, {c:.6g}")
    if a + b < c * (1 - 1e-12):
        raise ValueError(
            f"body '{name}': no body has the principal moments {a:.6g}, {b:.6g}, {c:.6g}: the sum of two must not be less than the third"
        )
    return J


def _planar(name: str, inertia: ArrayLike, rotation: ArrayLike | None, omega: ArrayLike) -> tuple[Array, Array, Array]:
    """Inertia tensor, rotation matrix and angular velocity of a planar body, as a plate."""
    J, W = np.asarray(inertia, dtype=float), np.asarray(omega, dtype=float)
    angle = np.asarray(0.0 if rotation is None else rotation, dtype=float)
    if J.shape != () or angle.shape != () or W.shape not in ((), (3,)) or (W.shape == (3,) and np.any(W)):
        raise ValueError(f"body '{name}': in the plane, inertia, rotation and omega are one number each")
    c, s = np.cos(angle), np.sin(angle)
    return (
        np.array([J / 2, J / 2, J]),
        np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        np.array([0, 0, float(W)]) if W.shape == () else np.zeros(3),
    )


def _in_plane(e: Element, nodes: dict[str, Node]) -> Element:
    """The element without the rows of its constraints that hold by themselves in the plane."""
    on = [None if body == Ground.name else nodes.get(body) for body in e.bodies]
    if (e.constraint is None and e.pfaffian is None) or any(n is None and b != Ground.name for n, b in zip(on, e.bodies, strict=True)):
        return e
    p = SimpleNamespace(
        **{k: ca.SX(np.ravel(a)) for k, a in e.parameters.items()}, **{k: ca.SX.sym(k, np.size(a)) for k, a in e.memory.items()}
    )
    q = [ca.SX(0, 1) if n is None else n.group.symbol("q") for n in on]
    v = [ca.SX(0, 1) if n is None else ca.SX.sym("v", n.group.dim) for n in on]
    t = ca.SX.sym("t")
    dropped = []
    for kind in ("constraint", "pfaffian"):
        formula = getattr(e, kind)
        rows = ca.SX(0, 1) if formula is None else ca.SX(formula(p, t, *seen_by(e, p, on, q, v)))
        for i in range(rows.numel()):
            row = ca.simplify(rows[i])
            if ca.symvar(row):
                continue
            if abs(float(ca.evalf(row))) > 1e-12:
                raise ValueError(f"'{e.name}' cannot hold in the plane")
            dropped.append((i, kind))
    return e.without(dropped)
