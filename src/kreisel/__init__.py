"""Structure-preserving simulation, stability analysis and optimal control of mechanical systems.

>>> import kreisel as kr
>>> top = kr.models.heavy_top(formulation="S3R3", spin="fast")
>>> sol = kr.simulate(top, until=0.1, step=2**-10, method=kr.RATTLie())
>>> sol.success, bool(sol.constraint_violation.max() < 1e-14)
(True, True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kreisel import models
from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, Group, Product, R, convert, convert_velocity, embedding_norm
from kreisel.mechanics import (
    Beam,
    BlackBox,
    Constraint,
    Curve,
    Cylindrical,
    Damper,
    Distance,
    Drive,
    Element,
    Fixed,
    Force,
    Frame,
    Friction,
    Gear,
    Hamiltonian,
    Joint,
    JointFriction,
    KnifeEdge,
    Layer,
    Load,
    Mechanism,
    Pfaffian,
    Planar,
    Potential,
    Prescribed,
    PrescribedJoint,
    Prismatic,
    Relative,
    Revolute,
    Rolling,
    Section,
    Shell,
    Spherical,
    Spring,
    System,
    Thrust,
    Torque,
    TorsionSpring,
    Universal,
    arc,
    helix,
    natural,
    straight,
)
from kreisel.methods import (
    A1,
    A2,
    A3,
    A4,
    BEM,
    GC,
    REM,
    Baumgarte,
    BLieDF,
    Composition,
    GeneralizedAlpha,
    Gonzalez,
    Greenspan,
    Ida,
    Midpoint,
    Newmark,
    Projection,
    QuaternionEM,
    RATTLie,
    SHAKELie,
    SolveIvp,
    WeightedResidual,
)
from kreisel.methods.legendre import hamiltonian_of

if TYPE_CHECKING:
    from kreisel import exact, frames, inertia, rotations, stability, view
    from kreisel.control import Condition, Cost, Ipopt, OptimalControl, Structured, Target, duration, effort, final, running
    from kreisel.simulation import (
        InconsistentStart,
        Modes,
        Newton,
        Solution,
        State,
        Status,
        UnassembledError,
        When,
        assemble,
        equilibrium,
        equilibrium_path,
        imbalance,
        inverse_dynamics,
        kinematics,
        load,
        modes,
        random_steps,
        simulate,
    )
    from kreisel.sweeps import Design, sweep

__version__ = "0.1.0"

# The driver brings in Numba, which takes a third of a second: only when something is simulated.
_LATER = (
    "InconsistentStart",
    "Modes",
    "Newton",
    "Solution",
    "State",
    "Status",
    "UnassembledError",
    "When",
    "assemble",
    "equilibrium",
    "equilibrium_path",
    "imbalance",
    "inverse_dynamics",
    "kinematics",
    "load",
    "modes",
    "random_steps",
    "simulate",
)
# Modules of their own, when they are asked for.
_SWEEPS = ("Design", "sweep")
_CONTROL = ("Condition", "Cost", "Ipopt", "OptimalControl", "Structured", "Target", "duration", "effort", "final", "running")
_MODULES = ("control", "exact", "frames", "inertia", "rotations", "stability", "view")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        module = import_module("kreisel.simulation")
        for later in _LATER:
            globals()[later] = getattr(module, later)
        return globals()[name]
    if name in _SWEEPS:
        return getattr(import_module("kreisel.sweeps"), name)
    if name in _CONTROL:
        return getattr(import_module("kreisel.control"), name)
    if name in _MODULES:
        return import_module(f"kreisel.{name}")
    raise AttributeError(f"module 'kreisel' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, *_SWEEPS, *_CONTROL, *_MODULES])


__all__ = [
    "A1",
    "A2",
    "A3",
    "A4",
    "BEM",
    "GC",
    "REM",
    "S3",
    "S3R3",
    "SE3",
    "SO3",
    "UDQ",
    "BLieDF",
    "Baumgarte",
    "Beam",
    "BlackBox",
    "Composition",
    "Condition",
    "Constraint",
    "Cost",
    "Curve",
    "Cylindrical",
    "Damper",
    "Design",
    "Distance",
    "Drive",
    "Element",
    "Fixed",
    "Force",
    "Frame",
    "Friction",
    "Gear",
    "GeneralizedAlpha",
    "Gonzalez",
    "Greenspan",
    "Group",
    "Hamiltonian",
    "Ida",
    "InconsistentStart",
    "Ipopt",
    "Joint",
    "JointFriction",
    "KnifeEdge",
    "Layer",
    "Load",
    "Mechanism",
    "Midpoint",
    "Modes",
    "Newmark",
    "Newton",
    "OptimalControl",
    "Pfaffian",
    "Planar",
    "Potential",
    "Prescribed",
    "PrescribedJoint",
    "Prismatic",
    "Product",
    "Projection",
    "QuaternionEM",
    "R",
    "RATTLie",
    "Relative",
    "Revolute",
    "Rolling",
    "SHAKELie",
    "Section",
    "Shell",
    "Solution",
    "SolveIvp",
    "Spherical",
    "Spring",
    "State",
    "Status",
    "Structured",
    "System",
    "Target",
    "Thrust",
    "Torque",
    "TorsionSpring",
    "UnassembledError",
    "Universal",
    "WeightedResidual",
    "When",
    "arc",
    "assemble",
    "convert",
    "convert_velocity",
    "duration",
    "effort",
    "embedding_norm",
    "equilibrium",
    "equilibrium_path",
    "exact",
    "final",
    "frames",
    "hamiltonian_of",
    "helix",
    "imbalance",
    "inertia",
    "inverse_dynamics",
    "kinematics",
    "load",
    "models",
    "modes",
    "natural",
    "random_steps",
    "rotations",
    "running",
    "simulate",
    "stability",
    "straight",
    "sweep",
    "view",
]
