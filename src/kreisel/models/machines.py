"""Machines that are steered: a manipulator, an overhead crane (Siebert, chapters 6 and 7), a cart with a pole."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.mechanics import Drive, Element, Frame, Mechanism, Prismatic, Revolute, System, Thrust, Torque


def three_link(
    formulation: str = "directors",
    *,
    masses: ArrayLike = (30.0, 25.0, 10.0),
    inertias: ArrayLike = (144.5277, 89.0416, 60.6166),
    lengths: ArrayLike = (7.0, 6.0, 8.0),
    friction: float = 0.0,
    gravity: float = 9.81,
    angles: ArrayLike = (np.pi / 2, -np.pi / 2, np.pi / 2),
    rates: ArrayLike = (0.0, 0.0, 0.0),
) -> System:
    """The planar manipulator of Siebert (6.2, Table 6.1): links "link 1" to "link 3" on hinges "shoulder", "elbow" and "wrist".

    Inputs "u1", "u2", "u3", torques at the hinges in Nm; a positive one drives its angle forward (her torques have the opposite sign).
    ``masses`` in kg, ``lengths`` in m; centres of mass in the middle of the links. ``inertias``: about these, in kg m^2; her E_1 + E_2, of
    which only the sum matters. ``friction``: of the hinges, in Nms (300 in one of her examples). ``angles``, ``rates``: of each link
    against the one before it, the first one against the first axis, at the start. Gravity acts along the second axis, downwards; she does
    not say how large it is. In minimal coordinates, q is the angles minus those at the start.

    >>> three_link().dim, three_link("minimal").dim, three_link().degrees_of_freedom
    (18, 3, 3)
    >>> three_link().controls
    ['u1', 'u2', 'u3']
    """
    m = Mechanism(gravity=(0, -gravity), plane=True)
    at, velocity = np.zeros(2), np.zeros(2)
    directions, turning = (np.cumsum(np.asarray(x, dtype=float)) for x in (angles, rates))
    bodies = ["ground", "link 1", "link 2", "link 3"]
    data = zip(*(np.asarray(x, dtype=float) for x in (masses, inertias, lengths)), directions, turning, strict=True)
    for k, (mass, inertia, length, direction, omega) in enumerate(data):
        half = length / 2 * np.array([np.cos(direction), np.sin(direction)])
        across = omega * np.array([-half[1], half[0]])
        m.body(bodies[k + 1], mass, inertia, at + half, direction, omega, velocity + across)
        joint = ("shoulder", "elbow", "wrist")[k]
        m.joint(Revolute(bodies[k], bodies[k + 1], at=(*at, 0), axis=(0, 0, 1), friction=friction, name=joint))
        m.force(Torque(joint, control=f"u{k + 1}"))
        at, velocity = at + 2 * half, velocity + 2 * across
    return m.system(formulation)


class Rope(Element):
    """A rope that runs from a winch over a trolley to a load: (x - s)^2 + z^2 = (r beta)^2."""

    def __init__(self, trolley: str, winch: str, load: str, radius: float) -> None:
        super().__init__("rope", trolley, winch, load)
        self.parameters = {"radius": np.array([radius], dtype=float)}

    def constraint(self, p: SimpleNamespace, t: ca.SX, trolley: Frame, winch: Frame, load: Frame) -> ca.SX:
        return (load.x[0] - trolley.value) ** 2 + load.x[1] ** 2 - (p.radius * winch.value) ** 2


def overhead_crane(
    formulation: str = "directors",
    *,
    trolley_mass: float = 10.0,
    winch_inertia: float = 0.1,
    load_mass: float = 100.0,
    winch_radius: float = 0.1,
    gravity: float = 9.81,
    trolley: float = 0.0,
    length: float = 4.0,
    angle: float = 0.0,
    rates: ArrayLike = (0.0, 0.0, 0.0),
) -> System:
    """The overhead crane of Siebert (7.2): a trolley on rails carries a winch, on whose rope hangs a load; less inputs than freedoms.

    The second axis points downwards, with gravity. Inputs "force", on the trolley along the first axis, in N, and "winch", a torque that
    lets the rope out, in Nm (to hold the load at rest takes minus the load's weight times the radius).

    ``formulation``: "directors", her redundant coordinates (s, beta, x, z) with the constraint "rope"; or "minimal", (s, l, alpha): way of
    the "trolley", length of the rope and its angle from the vertical, with the angle beta = l/r of the "winch", and x = s + l sin alpha, z
    = l cos alpha of the "load". REM and GC need the latter. Masses in kg, ``winch_inertia`` in kg m^2. ``trolley``, ``length``, ``angle``:
    s, l and alpha at the start, ``rates``: their rates.

    >>> overhead_crane().dim, overhead_crane("minimal").dim, overhead_crane().degrees_of_freedom
    (4, 3, 3)
    >>> overhead_crane().controls
    ['force', 'winch']
    """
    if formulation not in ("directors", "minimal"):
        raise ValueError(f"formulation must be 'directors' or 'minimal', got {formulation!r}")
    if not (winch_radius > 0 and length > 0):
        raise ValueError(f"the radius of the winch and the length of the rope must be positive, got {winch_radius} and {length}")
    ds, dl, da = np.asarray(rates, dtype=float)
    along, across = np.array([np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), -np.sin(angle)])
    m = Mechanism(gravity=(0, gravity), plane=True)
    m.scalar("trolley", trolley_mass, trolley, ds)
    m.scalar("winch", winch_inertia, length / winch_radius, dl / winch_radius)
    m.point("load", load_mass, (trolley, 0) + length * along, (ds, 0) + dl * along + length * da * across)
    m.joint(Rope("trolley", "winch", "load", winch_radius))
    m.force(Drive("trolley", control="force"))
    m.force(Drive("winch", control="winch"))
    system = m.system("directors")
    if formulation == "directors":
        return system

    def redundant(y: ca.SX) -> dict[str, ca.SX]:
        s, l, alpha = ca.vertsplit(y)
        return {"trolley": s, "winch": l / winch_radius, "load": ca.vertcat(s + l * ca.sin(alpha), l * ca.cos(alpha))}

    return system.reduced(redundant, q=[trolley, length, angle], v=[ds, dl, da], name="crane")


def cart_pole(
    formulation: str = "minimal",
    *,
    cart_mass: float = 1.0,
    bob_mass: float = 0.3,
    length: float = 0.5,
    gravity: float = 9.81,
    angle: float = 0.0,
    friction: float = 0.0,
) -> System:
    """A cart on a rail with a pole that swings: a bob at the end of a rod without mass (Kelly, SIAM Review 59 (2017), section 6).

    Joints "rail" (a "stroke" along the first axis) and "hinge"; input "force", on the cart along the rail, in N. Gravity acts along the
    second axis, downwards. Masses in kg, ``length`` in m. ``angle``: of the pole at the start, from hanging; the coordinate of the hinge
    counts from there. ``friction``: of the hinge, in Nms.

    The body "pole" has its centre of mass between hinge and bob, and takes some of the cart's mass with it. Its mass, the first and
    second moments about the hinge and the mass of both add up to those of the bob; hence the motion is the same, and the body has a
    moment of inertia of its own, as all coordinates need it. (Forces in the hinge are not those of the bob.)

    >>> cart_pole().dim, cart_pole("directors").degrees_of_freedom, cart_pole().controls
    (2, 2, ['force'])
    """
    for name, value in (("cart_mass", cart_mass), ("bob_mass", bob_mass), ("length", length)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive, got {value}")
    m = Mechanism(gravity=(0, -gravity), plane=True)
    taken = min(bob_mass, cart_mass / 2)
    share = bob_mass / (bob_mass + taken)
    centre = share * length * np.array([np.sin(angle), -np.cos(angle)])
    m.body("cart", cart_mass - taken, cart_mass * length**2)
    m.body("pole", bob_mass + taken, bob_mass * length**2 * (1 - share), centre, angle)
    m.joint(Prismatic("ground", "cart", at=(0, 0, 0), axis=(1, 0, 0), name="rail"))
    m.joint(Revolute("cart", "pole", at=(0, 0, 0), axis=(0, 0, 1), friction=friction, name="hinge"))
    m.force(Thrust("rail", control="force"))
    return m.system(formulation)
