"""A mechanism: bodies, joints and forces, described once and realised in any coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, Group, R
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.forces import Gravity, vector
from kreisel.mechanics.joints import Spherical
from kreisel.mechanics.node import Ground, Node, PivotNode, PointNode, RigidNode, ScalarNode
from kreisel.mechanics.system import System

Array = NDArray[np.float64]

#: Coordinates of rigid bodies.
COORDINATES: dict[str, Group] = {"SO3xR3": SO3 * R(3), "S3xR3": S3 * R(3), "SE3": SE3, "S3R3": S3R3, "UDQ": UDQ}
#: Coordinates of bodies that turn about a fixed point.
PIVOT_COORDINATES: dict[str, Group] = {"SO3": SO3, "S3": S3}


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

    >>> m = Mechanism(gravity=(0, 0, -9.81))
    >>> arm = m.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.01), position=(0, 0.5, 0))
    >>> m.joint(Spherical("ground", "arm", at_b=(0, -0.5, 0)))
    >>> m.system(coordinates="S3R3").degrees_of_freedom
    3
    """

    ground = Ground.name

    def __init__(self, gravity: ArrayLike = (0, 0, 0)) -> None:
        self.gravity = vector(gravity, "gravity")
        self.bodies: dict[str, Body] = {}
        self.nodes: list[Node] = []  # points and scalars
        self.elements: list[Element] = []

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
        self.bodies[name] = Body(name, mass, inertia, position, rotation, omega, velocity)
        if np.any(self.gravity):
            self.elements.append(Gravity(name, mass, self.gravity))
        return name

    def point(self, name: str, mass: float, position: ArrayLike = (0, 0, 0), velocity: ArrayLike = (0, 0, 0)) -> str:
        """A point mass; returns its name."""
        self._new(name)
        if not (np.isfinite(mass) and mass > 0):
            raise ValueError(f"point '{name}': the mass must be positive, got {mass}")
        self.nodes.append(PointNode(name, vector(position, f"point '{name}': position"), vector(velocity, f"point '{name}': velocity")))
        self.elements.append(Inertia(f"inertia of {name}", name, mass * np.eye(3)))
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

    def system(self, coordinates: str = "S3R3") -> System:
        """The mechanism in the given coordinates: "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ", or "SO3" and "S3" if every body is held by a
        ball
        joint to the ground (the joint then disappears)."""
        elements = list(self.elements)
        nodes: list[Node] = []
        for body in self.bodies.values():
            if coordinates in COORDINATES:
                node: Node = RigidNode(body.name, COORDINATES[coordinates])
            elif coordinates in PIVOT_COORDINATES:
                pivot = self._pivot(body)
                elements.remove(pivot)
                node = PivotNode(body.name, PIVOT_COORDINATES[coordinates], pivot.parameters["at_a"], -pivot.parameters["at_b"])
            else:
                raise ValueError(f"coordinates must be one of {', '.join([*COORDINATES, *PIVOT_COORDINATES])}, got '{coordinates}'")
            node.q, node.v = node.place(body.rotation, body.position, body.omega, body.velocity)
            nodes.append(node)
            elements.append(Inertia(f"inertia of {body.name}", body.name, node.mass_matrix(body.mass, body.inertia)))
        return System.of([*nodes, *self.nodes], elements)

    def _pivot(self, body: Body) -> Spherical:
        for e in self.elements:
            if isinstance(e, Spherical) and e.bodies == (Ground.name, body.name):
                return e
        raise ValueError(f"body '{body.name}' is not held by a ball joint to the ground, so its rotation alone does not describe it")

    def _new(self, name: str) -> None:
        if not name or name == Ground.name or name in self.bodies or name in {n.name for n in self.nodes}:
            raise ValueError(f"'{name}' cannot be the name of a body: it is empty or taken")


def _inertia(name: str, inertia: ArrayLike) -> Array:
    J = np.array(inertia, dtype=float)
    J = np.diag(J) if J.shape == (3,) else J
    if J.shape != (3, 3) or not np.all(np.isfinite(J)) or not np.allclose(J, J.T, rtol=1e-12, atol=1e-14 * np.abs(J).max()):
        raise ValueError(f"body '{name}': inertia must be three principal moments or a symmetric 3 x 3 matrix")
    a, b, c = np.linalg.eigvalsh(J)
    if a <= 0:
        raise ValueError(f"body '{name}': the principal moments of inertia must be positive, got {a:.6g}, {b:.6g}, {c:.6g}")
    if a + b < c * (1 - 1e-12):
        raise ValueError(
            f"body '{name}': no body has the principal moments {a:.6g}, {b:.6g}, {c:.6g}: the sum of two must not be less than the third"
        )
    return J
