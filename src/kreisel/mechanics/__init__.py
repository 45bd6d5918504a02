"""Bodies, joints and forces, described once and realised in any coordinates."""

from kreisel.mechanics.beam import Beam
from kreisel.mechanics.blackbox import BlackBox
from kreisel.mechanics.curve import Curve, arc, helix, straight
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import Damper, Force, Friction, Gravity, JointFriction, Load, Potential, Spring, TorsionSpring
from kreisel.mechanics.frame import Frame, Relative
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.joints import Constraint, Pfaffian, Spherical
from kreisel.mechanics.mechanism import Mechanism
from kreisel.mechanics.section import Section
from kreisel.mechanics.shell import Layer, Shell
from kreisel.mechanics.system import System

__all__ = [
    "Beam",
    "BlackBox",
    "Constraint",
    "Curve",
    "Damper",
    "Element",
    "Force",
    "Frame",
    "Friction",
    "Gravity",
    "Hamiltonian",
    "JointFriction",
    "Layer",
    "Load",
    "Mechanism",
    "Pfaffian",
    "Potential",
    "Relative",
    "Section",
    "Shell",
    "Spherical",
    "Spring",
    "System",
    "TorsionSpring",
    "arc",
    "helix",
    "straight",
]
