"""Bodies, joints and forces, described once and realised in any coordinates."""

from kreisel.mechanics.blackbox import BlackBox
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import Damper, Force, Friction, Gravity, JointFriction, Load, Potential, Spring, TorsionSpring
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.joints import Constraint, Pfaffian, Spherical
from kreisel.mechanics.mechanism import Mechanism
from kreisel.mechanics.system import System

__all__ = [
    "BlackBox",
    "Constraint",
    "Damper",
    "Element",
    "Force",
    "Frame",
    "Friction",
    "Gravity",
    "Hamiltonian",
    "JointFriction",
    "Load",
    "Mechanism",
    "Pfaffian",
    "Potential",
    "Spherical",
    "Spring",
    "System",
    "TorsionSpring",
]
