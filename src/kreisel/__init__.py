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
    Damper,
    Element,
    Force,
    Frame,
    Friction,
    Hamiltonian,
    JointFriction,
    Layer,
    Load,
    Mechanism,
    Pfaffian,
    Potential,
    Relative,
    Section,
    Shell,
    Spherical,
    Spring,
    System,
    TorsionSpring,
    arc,
    helix,
    straight,
)
from kreisel.methods import BLieDF, Composition, GeneralizedAlpha, Midpoint, RATTLie, SHAKELie

if TYPE_CHECKING:
    from kreisel import stability, view
    from kreisel.simulation import (
        InconsistentStart,
        Modes,
        Newton,
        Solution,
        State,
        Status,
        When,
        equilibrium,
        equilibrium_path,
        imbalance,
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
    "When",
    "equilibrium",
    "equilibrium_path",
    "imbalance",
    "load",
    "modes",
    "random_steps",
    "simulate",
)
_SWEEPS = ("Design", "sweep")
_PACKAGES = ("stability", "view")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        module = import_module("kreisel.simulation")
        for later in _LATER:
            globals()[later] = getattr(module, later)
        return globals()[name]
    if name in _SWEEPS:
        return getattr(import_module("kreisel.sweeps"), name)
    if name in _PACKAGES:
        return import_module(f"kreisel.{name}")
    raise AttributeError(f"module 'kreisel' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, *_SWEEPS, *_PACKAGES])


__all__ = [
    "S3",
    "S3R3",
    "SE3",
    "SO3",
    "UDQ",
    "BLieDF",
    "Beam",
    "BlackBox",
    "Composition",
    "Constraint",
    "Curve",
    "Damper",
    "Design",
    "Element",
    "Force",
    "Frame",
    "Friction",
    "GeneralizedAlpha",
    "Group",
    "Hamiltonian",
    "InconsistentStart",
    "JointFriction",
    "Layer",
    "Load",
    "Mechanism",
    "Midpoint",
    "Modes",
    "Newton",
    "Pfaffian",
    "Potential",
    "Product",
    "R",
    "RATTLie",
    "Relative",
    "SHAKELie",
    "Section",
    "Shell",
    "Solution",
    "Spherical",
    "Spring",
    "State",
    "Status",
    "System",
    "TorsionSpring",
    "When",
    "arc",
    "convert",
    "convert_velocity",
    "embedding_norm",
    "equilibrium",
    "equilibrium_path",
    "helix",
    "imbalance",
    "load",
    "models",
    "modes",
    "random_steps",
    "simulate",
    "stability",
    "straight",
    "sweep",
    "view",
]
