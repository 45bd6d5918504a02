"""Rotating bodies: about the intermediate axis and a heavy symmetric top (Sadłowski's thesis), and one that is steered."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups import SO3
from kreisel.mechanics import Load, Mechanism, System
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.forces import Gravity, vector
from kreisel.mechanics.mechanism import COORDINATES, PIVOT_COORDINATES
from kreisel.mechanics.node import Node, PivotNode, RigidNode


def intermediate_axis(
    formulation: str = "SO3",
    *,
    inertia: ArrayLike = (5.0, 10.0, 1.0),
    torque: float = 20.0,
    impulse: float = 0.2,
    pulse: float = 0.01,
    loaded_until: float = 2.0,
    mass: float = 1.0,
    omega: ArrayLike = (0.0, 0.0, 0.0),
) -> System:
    """The free body of Sadłowski (5.1): spun up about its intermediate axis, then pushed off it, then left alone.

    In space axes the torque is (``torque``, 0, 0) up to ``loaded_until`` - ``pulse``, then (0, ``impulse``/``pulse``, 0) for the time
    ``pulse``; nothing after. The source takes the time step for ``pulse``, so that the motion depends on it. At the jumps the torque is
    that of the earlier interval. ``formulation``: "SO3", "S3", or with a free translation "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ".
    (No real body has the moments 5, 10, 1: two must not be less than the third. The equations do not mind.)

    >>> intermediate_axis("S3").degrees_of_freedom
    3
    """
    if not 0 < pulse < loaded_until:
        raise ValueError(f"pulse must lie between 0 and loaded_until = {loaded_until}, got {pulse}")
    # Times of steps are rounded; a jump that falls on one belongs to the interval before it.
    late = 1e-6 * pulse
    first, second = loaded_until - pulse + late, loaded_until + late

    def spun(t: ca.SX) -> ca.SX:
        return ca.if_else(t < first, 1.0, 0.0)

    def pushed(t: ca.SX) -> ca.SX:
        return ca.if_else(ca.logic_and(t >= first, t < second), 1.0, 0.0)

    node = _node("body", formulation, np.zeros(3), mass)
    W = vector(omega, "omega")
    node.q, node.v = node.place(np.eye(3), np.zeros(3), W, np.zeros(3))
    elements: list[Element] = []
    if torque:
        elements.append(Load("body", moment=(torque, 0, 0), history=spun, name="spin-up"))
    if impulse:
        elements.append(Load("body", moment=(0, impulse / pulse, 0), history=pushed, name="push"))
    return System.of([node], [*elements, Inertia("inertia of body", "body", node.mass_matrix(mass, _moments(inertia)))])


def symmetric_top(
    formulation: str = "SO3",
    *,
    inertia: ArrayLike = (5.0, 5.0, 1.0),
    Mgl: float = 20.0,
    mass: float = 20.0,
    length: float = 1.0,
    rotation_vector: ArrayLike = (0.3, 0.0, 0.0),
    omega: ArrayLike = (0.0, 0.0, 50.0),
) -> System:
    """The heavy symmetric top of Sadłowski (5.2), on SO3 or S3: torque -Mgl (R e3) x e3 about its fixed point.

    ``inertia``: about the fixed point. ``Mgl``: weight times the distance ``length`` of the centre of mass; the source does not give g,
    but only Mgl = 20 reproduces its comparison. Its start has the acceleration zero, which is not that of the equations of motion:
    ``simulate(..., acceleration={"top": (0, 0, 0)})``. (With mass 20 no real body has these moments. The equations do not mind.)

    >>> symmetric_top().degrees_of_freedom
    3
    """
    if formulation not in PIVOT_COORDINATES:
        raise ValueError(f"symmetric_top turns about a fixed point: formulation must be 'SO3' or 'S3', got {formulation!r}")
    node = _node("top", formulation, np.array([0, 0, length]), mass)
    R0 = np.asarray(SO3.matrix(SO3.exp(vector(rotation_vector, "rotation_vector"))))
    node.q, node.v = node.place(R0, np.zeros(3), vector(omega, "omega"), np.zeros(3))
    weight = Gravity("top", mass, (0, 0, -Mgl / (mass * length)))
    return System.of([node], [weight, Inertia("inertia of top", "top", _moments(inertia))])


def steered_body(formulation: str = "S3", *, inertia: ArrayLike = (1.0, 2.0, 3.0), mass: float = 1.0) -> System:
    """A free body at rest, turned by torques "u1", "u2", "u3" in Nm about its own axes; positive ones turn it forward.

    ``formulation``: "SO3", "S3", or with a free translation "directors", "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ", "minimal".

    >>> steered_body().degrees_of_freedom, steered_body("directors").degrees_of_freedom, steered_body().controls
    (3, 6, ['u1', 'u2', 'u3'])
    """
    torques = [Load("body", moment=axis, axes="body", control=f"u{k + 1}") for k, axis in enumerate(np.eye(3))]
    if formulation in PIVOT_COORDINATES:
        node = _node("body", formulation, np.zeros(3), mass)
        return System.of([node], [*torques, Inertia("inertia of body", "body", _moments(inertia))])
    m = Mechanism()
    m.body("body", mass, inertia)
    for torque in torques:
        m.force(torque)
    return m.system(formulation)


def _node(name: str, formulation: str, arm: np.ndarray, mass: float) -> Node:
    if formulation in PIVOT_COORDINATES:
        node = PivotNode(name, PIVOT_COORDINATES[formulation], np.zeros(3), arm)
        node.mass = mass
        return node
    if formulation not in COORDINATES:
        raise ValueError(f"formulation must be one of {', '.join([*PIVOT_COORDINATES, *COORDINATES])}, got {formulation!r}")
    return RigidNode(name, COORDINATES[formulation])


def _moments(inertia: ArrayLike) -> np.ndarray:
    """Three moments or a matrix, of which no more is asked than that it be positive definite."""
    J = np.array(inertia, dtype=float)
    J = np.diag(J) if J.shape == (3,) else J
    if J.shape != (3, 3) or not np.allclose(J, J.T, rtol=1e-12, atol=0) or np.linalg.eigvalsh(J).min() <= 0:
        raise ValueError(f"inertia must be three positive moments or a positive definite 3 x 3 matrix, got {inertia!r}")
    return J
