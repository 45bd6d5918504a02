"""Bodies, joints and forces, described once and realised in any coordinates."""

from kreisel.mechanics import natural
from kreisel.mechanics.actuators import Drive, Gear, PrescribedJoint, Thrust, Torque
from kreisel.mechanics.beam import Beam
from kreisel.mechanics.blackbox import BlackBox
from kreisel.mechanics.curve import Curve, arc, helix, straight
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import Damper, Force, Friction, Gravity, JointFriction, Load, Potential, Spring, TorsionSpring
from kreisel.mechanics.frame import Frame, Relative
from kreisel.mechanics.guided import KnifeEdge, Prescribed, Rolling
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.joints import (
    Constraint,
    Cylindrical,
    Distance,
    Fixed,
    Joint,
    Pfaffian,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from kreisel.mechanics.mechanism import Mechanism
from kreisel.mechanics.section import Section
from kreisel.mechanics.shell import Layer, Shell
from kreisel.mechanics.system import System

__all__ = [
    "Beam",
    "BlackBox",
    "Constraint",
    "Curve",
    "Cylindrical",
    "Damper",
    "Distance",
    "Drive",
    "Element",
    "Fixed",
    "Force",
    "Frame",
    "Friction",
    "Gear",
    "Gravity",
    "Hamiltonian",
    "Joint",
    "JointFriction",
    "KnifeEdge",
    "Layer",
    "Load",
    "Mechanism",
    "Pfaffian",
    "Planar",
    "Potential",
    "Prescribed",
    "PrescribedJoint",
    "Prismatic",
    "Relative",
    "Revolute",
    "Rolling",
    "Section",
    "Shell",
    "Spherical",
    "Spring",
    "System",
    "Thrust",
    "Torque",
    "TorsionSpring",
    "Universal",
    "arc",
    "helix",
    "natural",
    "straight",
]
