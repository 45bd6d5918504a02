"""Pendulums, chains and linkages."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.mechanics import Distance, Mechanism, Prismatic, Revolute, Spherical, System, Torque

Array = NDArray[np.float64]


def bar(
    m: Mechanism, name: str, start: ArrayLike, end: ArrayLike, mass: float = 1.0, omega: float = 0.0, velocity: ArrayLike = (0, 0)
) -> str:
    """Adds a thin uniform bar between two points to a planar mechanism, first axis along it. ``velocity``: of its start."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    d = b - a
    centre = np.asarray(velocity, dtype=float) + omega / 2 * np.array([-d[1], d[0]])
    return m.body(name, mass, mass * float(d @ d) / 12, (a + b) / 2, float(np.arctan2(d[1], d[0])), omega, centre)


def pendulum(mass: float = 1.0, length: float = 1.0, gravity: float = 9.81, angle: float = np.pi) -> System:
    """A point mass "bob" on a rod without mass that hangs on the origin.

    It starts at rest, at the given angle from the first axis. Gravity acts along the second axis, downwards.
    With the angle pi and the values given: problem A01 of the IFToMM library of benchmarks (González, Dopico, Lugrís, Cuadrado,
    Multibody Syst. Dyn. 16 (2006) 179-190; lim.ii.udc.es/mbsbenchmark).

    >>> pendulum().degrees_of_freedom
    2
    """
    m = Mechanism(gravity=(0, -gravity, 0))
    m.point("bob", mass, position=length * np.array([np.cos(angle), np.sin(angle), 0]))
    m.joint(Distance("ground", "bob", name="rod"))
    return m.system()


def double_pendulum(
    formulation: str = "directors",
    *,
    masses: ArrayLike = (1.0, 1.0),
    lengths: ArrayLike = (1.0, 1.0),
    angles: ArrayLike = (0.0, 0.0),
    friction: float = 0.0,
    gravity: float = 9.81,
) -> System:
    """Two thin bars "upper" and "lower" on hinges "shoulder" and "elbow", in the plane, at rest; inputs "u1" and "u2" at the hinges.

    ``angles``: of the bars, from the first axis. Gravity acts along the second axis, downwards.

    >>> double_pendulum().degrees_of_freedom
    2
    """
    m = Mechanism(gravity=(0, -gravity), plane=True)
    at = np.zeros(2)
    bodies = ["ground", "upper", "lower"]
    data = zip(*(np.asarray(x, dtype=float) for x in (masses, lengths, angles)), strict=True)
    for k, (mass, length, angle) in enumerate(data):
        end = at + length * np.array([np.cos(angle), np.sin(angle)])
        bar(m, bodies[k + 1], at, end, mass)
        joint = ("shoulder", "elbow")[k]
        m.joint(Revolute(bodies[k], bodies[k + 1], at=(*at, 0), axis=(0, 0, 1), friction=friction, name=joint))
        m.force(Torque(joint, control=f"u{k + 1}"))
        at = end
    return m.system(formulation)


def chain(
    links: int = 16,
    formulation: str = "directors",
    *,
    joint: str = "spherical",
    mass: float = 1.0,
    length: float = 1.0,
    radius: float = 0.05,
    gravity: float = 9.81,
) -> System:
    """A chain of equal cylinders "link 1", "link 2", ... that starts at rest, straight along the first axis, and falls along the third.

    ``joint``: "spherical", or "revolute" about the second and the third axis by turns. ``mass``, ``length``, ``radius``: of a link.

    >>> chain(4).degrees_of_freedom
    12
    """
    if joint not in ("spherical", "revolute"):
        raise ValueError(f"joint must be 'spherical' or 'revolute', got {joint!r}")
    if links < 1:
        raise ValueError(f"links must be at least 1, got {links}")
    m = Mechanism(gravity=(0, 0, -gravity))
    across = mass * (3 * radius**2 + length**2) / 12
    before = "ground"
    for k in range(links):
        name = m.body(f"link {k + 1}", mass, (mass * radius**2 / 2, across, across), position=((k + 0.5) * length, 0, 0))
        at = (k * length, 0, 0)
        if joint == "spherical":
            m.joint(Spherical(before, name, at, name=f"joint {k + 1}"))
        else:
            m.joint(Revolute(before, name, at, (0, 1, 0) if k % 2 == 0 else (0, 0, 1), name=f"joint {k + 1}"))
        before = name
    return m.system(formulation)


def four_bar(
    formulation: str = "directors", *, angle: float = np.pi / 6, mass: float = 1.0, length: float = 1.0, gravity: float = 9.81
) -> System:
    """A parallelogram of three equal thin bars that hangs on A = (0, 0) and D = (length, 0) and starts at rest, ``angle`` from hanging.

    Hinges "A", "B", "C", "D". It swings as phi'' = -(6 g / 5 L) sin phi (Müller, digest E4).

    >>> four_bar().degrees_of_freedom
    1
    """
    m = Mechanism(gravity=(0, -gravity), plane=True)
    A, D = np.zeros(2), np.array([length, 0])
    arm = length * np.array([np.sin(angle), -np.cos(angle)])
    bar(m, "left", A, A + arm, mass)
    bar(m, "coupler", A + arm, D + arm, mass)
    bar(m, "right", D, D + arm, mass)
    for name, a, b, at in (
        ("A", "ground", "left", A),
        ("B", "left", "coupler", A + arm),
        ("C", "coupler", "right", D + arm),
        ("D", "ground", "right", D),
    ):
        m.joint(Revolute(a, b, at=(*at, 0), axis=(0, 0, 1), name=name))
    return m.system(formulation)


def slider_crank(
    formulation: str = "directors",
    *,
    crank: float = 0.5,
    rod: float = 1.0,
    masses: ArrayLike = (1.0, 1.0, 1.0),
    angle: float = np.pi / 4,
    rate: float = 0.0,
    friction: float = 0.0,
    gravity: float = 9.81,
) -> System:
    """A crank, a connecting rod (thin bars of the given lengths) and a slider on the first axis.

    Hinges "main", "crank pin", "wrist pin"; rail "rail" with viscous friction; input "u", a torque at "main".

    ``masses``: of crank, rod and slider. ``angle``, ``rate``: of the crank at the start. Gravity acts along the second axis, downwards.

    >>> slider_crank().degrees_of_freedom
    1
    """
    if not rod > crank > 0:
        raise ValueError(f"the rod must be longer than the crank, got {rod} and {crank}")
    m = Mechanism(gravity=(0, -gravity), plane=True)
    m_crank, m_rod, m_slider = np.asarray(masses, dtype=float)
    c, s = np.cos(angle), np.sin(angle)
    B = crank * np.array([c, s])
    C = np.array([B[0] + np.sqrt(rod**2 - B[1] ** 2), 0])
    d = C - B
    v_B = rate * crank * np.array([-s, c])
    omega = -v_B[1] / d[0]
    bar(m, "crank", np.zeros(2), B, m_crank, rate)
    bar(m, "rod", B, C, m_rod, omega, v_B)
    m.body("slider", m_slider, m_slider * (rod / 10) ** 2, C, velocity=v_B + omega * np.array([-d[1], d[0]]))
    m.joint(Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 0, 1), name="main"))
    m.joint(Revolute("crank", "rod", at=(*B, 0), axis=(0, 0, 1), name="crank pin"))
    m.joint(Revolute("rod", "slider", at=(*C, 0), axis=(0, 0, 1), name="wrist pin"))
    m.joint(Prismatic("ground", "slider", at=(*C, 0), axis=(1, 0, 0), friction=friction, name="rail"))
    m.force(Torque("main", control="u"))
    return m.system(formulation)


def brick_pendulum(
    formulation: str = "directors",
    *,
    size: ArrayLike = (0.4, 0.1, 0.2),
    mass: float = 2.0,
    angle: float = np.pi / 3,
    gravity: float = 9.81,
) -> System:
    """A brick that swings about its second axis through the middle of an end face; it starts at rest, ``angle`` from hanging.

    Hinge "hinge" along the second axis of space at the origin; gravity along the third, downwards (Müller, digest E5).

    >>> brick_pendulum("SE3").degrees_of_freedom
    1
    """
    a, b, c = np.asarray(size, dtype=float)
    m = Mechanism(gravity=(0, 0, -gravity))
    s, k = np.sin(angle), np.cos(angle)
    # The first axis hangs down, turned by the angle about the second one.
    R = np.array([[s, 0, k], [0, 1, 0], [-k, 0, s]])
    inertia = mass / 12 * np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    m.body("brick", mass, inertia, position=a / 2 * R[:, 0], rotation=R)
    m.joint(Revolute("ground", "brick", at=(0, 0, 0), axis=(0, 1, 0), name="hinge"))
    return m.system(formulation)
