"""Simulation: from a system and a method to a solution."""

from kreisel.simulation.newton import Newton
from kreisel.simulation.run import When, random_steps, simulate
from kreisel.simulation.solution import Solution, State
from kreisel.simulation.status import InconsistentStart, Statistics, Status
from kreisel.simulation.storage import load

__all__ = ["InconsistentStart", "Newton", "Solution", "State", "Statistics", "Status", "When", "load", "random_steps", "simulate"]
