"""Simulation: from a system and a method to a solution."""

from kreisel.simulation.eigenmodes import Modes, modes
from kreisel.simulation.newton import Newton
from kreisel.simulation.run import When, random_steps, simulate
from kreisel.simulation.solution import Solution, State
from kreisel.simulation.statics import equilibrium, equilibrium_path, imbalance
from kreisel.simulation.status import InconsistentStart, Statistics, Status
from kreisel.simulation.storage import load

__all__ = [
    "InconsistentStart",
    "Modes",
    "Newton",
    "Solution",
    "State",
    "Statistics",
    "Status",
    "When",
    "equilibrium",
    "equilibrium_path",
    "imbalance",
    "load",
    "modes",
    "random_steps",
    "simulate",
]
