"""Simulation: from a system and a method to a solution."""

from kreisel.simulation.eigenmodes import Modes, modes
from kreisel.simulation.newton import Newton
from kreisel.simulation.prescribed import UnassembledError, assemble, inverse_dynamics, kinematics
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
]
