"""Optimal control: what is asked, its transcription by any method, and solvers."""

from kreisel.control.conditions import Condition, Cost, Target, duration, effort, final, running
from kreisel.control.ipopt import Ipopt
from kreisel.control.problem import OptimalControl
from kreisel.control.result import Result
from kreisel.control.structured import Structured

__all__ = ["Condition", "Cost", "Ipopt", "OptimalControl", "Result", "Structured", "Target", "duration", "effort", "final", "running"]
