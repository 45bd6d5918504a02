"""Problems of the IFToMM library of computational benchmarks (González, Dopico, Lugrís, Cuadrado, Multibody Syst. Dyn. 16 (2006) 179-190;
lim.ii.udc.es/mbsbenchmark)."""

from __future__ import annotations

from math import pi

import numpy as np

from kreisel.mechanics import Damper, Mechanism, Prismatic, Revolute, Spring, System, Torque
from kreisel.models.mechanisms import bar


def n_four_bar(loops: int = 2, formulation: str = "directors", *, speed: float = 1.0, gravity: float = 9.81) -> System:
    """Problem A02: a row of squares of 2 N + 1 thin bars, 1 m and 1 kg each, that starts upright, its top moving with 1 m/s.

    Uprights "upright 0" to "upright N" on hinges "A0" to "AN"; between them "beam 1" to "beam N". When it lies flat, it has N + 1 freedoms
    for a moment instead of one.

    >>> n_four_bar(3).degrees_of_freedom
    1
    """
    if loops < 1:
        raise ValueError(f"loops must be at least 1, got {loops}")
    m = Mechanism(gravity=(0, -gravity), plane=True)
    for k in range(loops + 1):
        bar(m, f"upright {k}", (k, 0), (k, 1), omega=-speed)
        m.joint(Revolute("ground", f"upright {k}", at=(k, 0, 0), axis=(0, 0, 1), name=f"A{k}"))
        if k:
            bar(m, f"beam {k}", (k - 1, 1), (k, 1), velocity=(speed, 0))
            m.joint(Revolute(f"upright {k - 1}", f"beam {k}", at=(k - 1, 1, 0), axis=(0, 0, 1), name=f"B{k - 1}"))
            m.joint(Revolute(f"beam {k}", f"upright {k}", at=(k, 1, 0), axis=(0, 0, 1), name=f"C{k}"))
    return m.system(formulation)


#: Angles of the squeezer at the start: beta, Theta, gamma, Phi, delta, Omega, epsilon.
SQUEEZER_START = (
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
)


def squeezer(formulation: str = "directors", *, torque: float = 0.033) -> System:
    """Problem A03: Andrews' squeezer mechanism, seven bodies in the plane, driven by a constant torque, without gravity.

    Data of the test set for initial value problem solvers (Mazzia, Magherini, problem "Andrews' squeezing mechanism"; Hairer and Wanner,
    Solving ODEs II, VII.7; Schiehlen, Multibody Systems Handbook, 1990), with its start, rounded there to 30 digits. Bodies "K1" to "K7".
    Hinges by the angles they measure from the start: "beta" (O), "Theta" (F), "gamma" (B), "Phi" (E), "delta" (A, K5), "Omega" (H),
    "epsilon" (A, K7); "G3", "G4" and "G6" tie K3, K4 and K6 to the end G of K2.

    >>> squeezer().degrees_of_freedom
    1
    """
    beta, theta, gamma, phi, delta, omega, epsilon = SQUEEZER_START
    masses = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
    inertias = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    A, B, C = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
    d, da, e, ea, rr, ra = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
    sa, sb, sc, sd = 0.01874, 0.01043, 0.018, 0.02
    ta, tb, u, ua, ub, zf, zt, fa = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421

    def along(a: float) -> np.ndarray:
        return np.array([np.cos(a), np.sin(a)])

    def across(a: float) -> np.ndarray:
        return np.array([np.sin(a), -np.cos(a)])

    F, E, H = rr * along(beta), A + zt * along(delta), A + u * across(epsilon)
    G = F - d * along(beta + theta)
    places = (
        (ra * along(beta), beta),
        (F - da * along(beta + theta), beta + theta),
        (B + sa * across(gamma) + sb * along(gamma), gamma),
        (E + (e - ea) * across(delta + phi), delta + phi),
        (A + ta * along(delta) - tb * across(delta), delta),
        (H + (zf - fa) * along(epsilon + omega), epsilon + omega),
        (A + ua * across(epsilon) - ub * along(epsilon), epsilon),
    )
    m = Mechanism(plane=True)
    for k, (mass, inertia, (position, angle)) in enumerate(zip(masses, inertias, places, strict=True)):
        m.body(f"K{k + 1}", mass, inertia, position, angle)
    hinges = {
        "beta": ("ground", "K1", np.zeros(2)),
        "Theta": ("K1", "K2", F),
        "gamma": ("ground", "K3", B),
        "Phi": ("K5", "K4", E),
        "delta": ("ground", "K5", A),
        "Omega": ("K7", "K6", H),
        "epsilon": ("ground", "K7", A),
        "G3": ("K2", "K3", G),
        "G4": ("K2", "K4", G),
        "G6": ("K2", "K6", G),
    }
    for name, (a, b, at) in hinges.items():
        m.joint(Revolute(a, b, at=(*at, 0), axis=(0, 0, 1), name=name))
    D = B + sc * across(gamma) + sd * along(gamma)
    offset = D - places[2][0]
    c, s = np.cos(gamma), np.sin(gamma)
    at_b = (c * offset[0] + s * offset[1], -s * offset[0] + c * offset[1], 0)
    m.force(Spring("ground", "K3", stiffness=4530.0, length=0.07785, at_a=(*C, 0), at_b=at_b, name="spring"))
    m.force(Torque("beta", history=lambda t: torque, name="motor"))
    return m.system(formulation)


def bricard(formulation: str = "directors", *, thickness: float = 0.1, gravity: float = 9.81) -> System:
    """Problem A04: Bricard's mechanism, five rods of 1 m and 1 kg on six hinges along edges of a cube.

    One of its constraints is redundant in every position, so that it can move although their count leaves no freedom.
    "rod 1" to "rod 5", hinges "P0" to "P5"; it starts at rest, gravity acts along the second axis, downwards. ``thickness``: of the square
    cross section.

    >>> bricard().degrees_of_freedom
    0
    """
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
    axes = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
    m = Mechanism(gravity=(0, -gravity, 0))
    bodies = ["ground", *(f"rod {k}" for k in range(1, 6)), "ground"]
    for k in range(5):
        direction = np.abs(corners[k + 1] - corners[k])
        sides = np.where(direction > 0.5, 1.0, thickness)
        inertia = (np.sum(sides**2) - sides**2) / 12
        m.body(bodies[k + 1], 1.0, inertia, position=(corners[k] + corners[k + 1]) / 2)
    for k in range(6):
        m.joint(Revolute(bodies[k], bodies[k + 1], at=corners[k], axis=axes[k], name=f"P{k}"))
    return m.system(formulation)


def governor(
    formulation: str = "directors",
    *,
    stiffness: float = 8e5,
    damping: float = 4e4,
    speed: float = 2 * pi,
    gravity: float = 9.81,
) -> System:
    """Problem A05: the stiff flyball governor, a shaft with two rods that carry balls, and a slider held by spring-damper elements.

    Shaft and rods 1 m x 0.01 m x 0.01 m, slider a cube of 0.1 m, of the density 3000 kg/m^3. The rods hang on the shaft's top, 0.05 m to
    its sides, at the start 30 degrees below the horizontal, with 5 kg at their ends; springs of length 0.5 m tie their middles to the
    slider, at the height 0.5 m. The shaft turns with ``speed``; gravity acts along the third axis, downwards. Hinges "bearing", "left" and
    "right", rail "rail", whose stroke is measured from the start. Balls and rods are one body each, "left arm" and "right arm".

    >>> governor().degrees_of_freedom
    4
    """
    m = Mechanism(gravity=(0, 0, -gravity))
    w = np.array([0, 0, speed])
    density, ball = 3000.0, 5.0
    rod = density * 1e-4
    slender, thick = rod * (1 + 1e-4) / 12, rod * 2e-4 / 12
    m.body("shaft", rod, (slender, slender, thick), position=(0, 0, 0.5), omega=w)
    block = density * 1e-3
    m.body("slider", block, np.full(3, block * 0.02 / 12), position=(0, 0, 0.5), omega=w)
    m.joint(Revolute("ground", "shaft", at=(0, 0, 0), axis=(0, 0, 1), name="bearing"))
    m.joint(Prismatic("shaft", "slider", at=(0, 0, 0.5), axis=(0, 0, 1), name="rail"))
    # Rod and ball, along the third axis: the centre of mass lies this far from the rod's middle towards the ball.
    shift = ball * 0.5 / (rod + ball)
    across = slender + rod * shift**2 + ball * (0.5 - shift) ** 2
    for side, name in ((1, "right"), (-1, "left")):
        along = np.array([side * np.cos(pi / 6), 0, -np.sin(pi / 6)])
        top = np.array([side * 0.05, 0, 1.0])
        R = np.stack([np.cross([0, 1, 0], along), [0, 1, 0], along], axis=1)
        centre = top + (0.5 + shift) * along
        m.body(f"{name} arm", rod + ball, (across, across, thick), position=centre, rotation=R, omega=R.T @ w, velocity=np.cross(w, centre))
        m.joint(Revolute("shaft", f"{name} arm", at=top, axis=(0, 1, 0), name=name))
        corner, middle = (side * 0.05, 0, 0), (0, 0, -shift)
        m.force(Spring("slider", f"{name} arm", stiffness, 0.5, corner, middle, name=f"{name} spring"))
        m.force(Damper("slider", f"{name} arm", damping, corner, middle, name=f"{name} damper"))
    return m.system(formulation)
