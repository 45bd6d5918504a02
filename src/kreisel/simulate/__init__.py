"""Simulation: from a system and a method to a solution."""

import sys
from types import ModuleType
from typing import Any

from kreisel.simulate.newton import Newton
from kreisel.simulate.run import When, random_steps, simulate
from kreisel.simulate.solution import Solution, State
from kreisel.simulate.status import InconsistentStart, Statistics, Status
from kreisel.simulate.storage import load

__all__ = ["InconsistentStart", "Newton", "Solution", "State", "Statistics", "Status", "When", "load", "random_steps", "simulate"]


class _Callable(ModuleType):
    """Whoever imports from this package before using ``kreisel.simulate`` has bound that name to the package: it simulates, too."""

    def __call__(self, *args: Any, **options: Any) -> Solution:
        return simulate(*args, **options)


sys.modules[__name__].__class__ = _Callable
