"""Beams: the flying spaghetti, the roll-up, the 45-degree bend, an arm on a hub that turns."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.mechanics import Mechanism, Revolute, Section, System, Torque, arc, straight
from kreisel.mechanics.forces import vector


def flying_spaghetti(
    formulation: str = "S3R3",
    *,
    segments: int = 16,
    variant: str = "kirchhoff",
    length: float = 10.0,
    mass: float = 1.0,
    inertia: ArrayLike = (10.0, 10.0, 10.0),
    bending: ArrayLike = (500.0, 500.0, 500.0),
    stretching: ArrayLike = (1e4, 1e4, 1e4),
    loaded_end: float = 0.0,
    peak: float = 200.0,
) -> System:
    r"""The flying spaghetti of Hante (Remark 5.3), after Simo and Vu-Quoc: a free beam, first at rest, set flying by a load on one end.

    The load rises to its ``peak`` at t = 2.5 and falls to zero at t = 5; at the peak the moment is (0, -100, -200) and the force
    (20, 0, 0), in space axes. ``mass`` and ``inertia``: per length. ``bending``: EI1, EI2, GI3. ``stretching``: GA1, GA2, EA.
    ``loaded_end``: the arc length where the load acts: 0, the end at (6, 0, 0). (The thesis says s = L, its program and the original
    benchmark have s = 0.)

    >>> flying_spaghetti(segments=8).degrees_of_freedom
    38
    """
    section = _section(bending, stretching, mass, inertia)
    m = Mechanism()
    curve = straight(origin=(6, 0, 0), direction=(-6, 8, 0))
    spaghetti = m.beam("spaghetti", length, segments, section, curve=curve, variant=variant)

    def history(t: ca.SX) -> ca.SX:
        return ca.if_else(t < 2.5, t / 2.5, ca.if_else(t < 5, (5 - t) / 2.5, 0))

    spaghetti.load(force=(peak / 10, 0, 0), moment=(0, -peak / 2, -peak), at=loaded_end, history=history, name="load")
    return m.system(formulation)


def roll_up(
    formulation: str = "S3R3",
    *,
    segments: int = 8,
    variant: str = "cosserat",
    length: float = 10.0,
    mass: float = 1.0,
    inertia: ArrayLike = (10.0, 10.0, 10.0),
    bending: ArrayLike = (500.0, 500.0, 500.0),
    stretching: ArrayLike = (1e4, 1e4, 1e4),
    viscosity: float = 100.0,
    turns: float = 1.0,
    rolled: bool = False,
) -> System:
    r"""The roll-up of Hante (Remark 5.4): a clamped beam that a moment at its end, 2 pi EI / L, bends into a circle.

    The moment acts about the second axis of space, at once and for ever, and gives so many ``turns`` in equilibrium. ``rolled``: start
    with that. Other parameters as for :func:`flying_spaghetti`.

    >>> roll_up(segments=4).degrees_of_freedom
    24
    """
    section = _section(bending, stretching, mass, inertia)
    m = Mechanism()
    curve = arc(length / (2 * np.pi * turns)) if rolled else straight()
    strip = m.beam(
        "strip", length, segments, section, curve=curve, variant=variant, start="clamped", viscosity=viscosity, precurvature=(0, 0, 0)
    )
    strip.load(moment=(0, turns * 2 * np.pi * section.EI2 / length, 0), at=length, name="moment")
    return m.system(formulation)


def bend(
    formulation: str = "S3R3",
    *,
    segments: int = 8,
    variant: str = "cosserat",
    load: float = 600.0,
    radius: float = 100.0,
    E: float = 1e7,
    torsion: float = 1e7 / 12,
) -> System:
    """The 45-degree bend of Bathe and Bolourchi (1979): a curved cantilever of unit square section, loaded across its plane at its end.

    The arc begins at the origin along the first axis and turns towards the second; the load acts along the third. Poisson's ratio is
    zero, G = E/2, the shear correction 5/6. ``torsion``: GI3. Two values circulate: G (I1 + I2) = E/12, the default (Simo and Vu-Quoc
    1986, and most after them), and Saint-Venant's 0.1406 G.

    >>> bend().degrees_of_freedom
    48
    """
    I, GA = E / 12, 5 / 6 * E / 2
    m = Mechanism()
    beam = m.beam(
        "bend",
        radius * np.pi / 4,
        segments,
        Section(I, I, torsion, GA, GA, E, 1.0, (1 / 12, 1 / 12, 1 / 6)),
        curve=arc(radius, direction=(1, 0, 0), normal=(0, 1, 0)),
        variant=variant,
        start="clamped",
    )
    beam.load(force=(0, 0, load), at=beam.length, name="load")
    return m.system(formulation)


def flexible_arm(
    formulation: str = "S3R3",
    *,
    segments: int = 4,
    variant: str = "cosserat",
    length: float = 1.0,
    mass: float = 0.5,
    inertia: ArrayLike = (1e-3, 1e-3, 2e-3),
    bending: ArrayLike = (2.0, 2.0, 2.0),
    stretching: ArrayLike = (1e3, 1e3, 1e3),
    viscosity: float = 0.0,
    hub_inertia: float = 0.1,
) -> System:
    """A flexible "arm" on a "hub" that turns about the third axis at "hinge", driven by the torque "motor" in Nm. No gravity.

    At the start it is straight along the first axis, at rest. ``mass``, ``inertia``: of the arm per length. ``hub_inertia``: of the hub
    about the hinge. Other parameters as for :func:`flying_spaghetti`.

    >>> flexible_arm().degrees_of_freedom, flexible_arm().controls
    (25, ['motor'])
    """
    m = Mechanism()
    m.body("hub", hub_inertia / length**2, (hub_inertia, hub_inertia, hub_inertia))
    section = _section(bending, stretching, mass, inertia)
    curve = straight(direction=(1, 0, 0))
    m.beam("arm", length, segments, section, curve=curve, variant=variant, start="hub", viscosity=viscosity)
    m.joint(Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 0, 1), name="hinge"))
    m.force(Torque("hinge", control="motor"))
    return m.system(formulation)


def _section(bending: ArrayLike, stretching: ArrayLike, mass: float, inertia: ArrayLike) -> Section:
    (EI1, EI2, GI3), (GA1, GA2, EA), (J1, J2, J3) = (vector(a, "three stiffnesses or moments") for a in (bending, stretching, inertia))
    return Section(EI1, EI2, GI3, GA1, GA2, EA, mass, (J1, J2, J3))
