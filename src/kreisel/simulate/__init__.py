"""Simulation: from a system and a method to a solution."""

from kreisel.simulate.newton import Newton
from kreisel.simulate.run import When, simulate
from kreisel.simulate.solution import Solution, State
from kreisel.simulate.status import InconsistentStart, Statistics, Status

__all__ = ["InconsistentStart", "Newton", "Solution", "State", "Statistics", "Status", "When", "simulate"]
