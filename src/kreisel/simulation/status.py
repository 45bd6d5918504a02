"""How a run ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a run ended. The message of the solution says where and whose fault it was."""

    REACHED_END = "reached the end of the interval"
    EVENT = "an event stopped the run"
    NOT_CONVERGED = "Newton's method did not converge; try a smaller step, or halvings"
    SINGULAR = "the matrix of a step is singular: constraints are redundant or contradict each other"
    NOT_FINITE = "a force, potential or constraint gave nan or inf"
    TOO_FAR = "a step turned a body by 2 pi or more; try a smaller step, or halvings"
    INTERRUPTED = "interrupted from the keyboard"


@dataclass(frozen=True)
class Statistics:
    """What a run cost."""

    steps: int
    newton_iterations: int
    factorisations: int
    halvings: int
    seconds: float
    preparation_seconds: float
    #: Evaluations of the equations of motion by a solver of others.
    evaluations: int = 0
    #: Constraints that follow from the others: how many rows of which joints.
    redundant: tuple[str, ...] = ()

    @property
    def newton_iterations_mean(self) -> float:
        """Newton iterations per step, over all stages."""
        return self.newton_iterations / max(self.steps, 1)


class InconsistentStart(ValueError):
    """The given start violates the constraints."""


class SingularStart(InconsistentStart):
    """The constraints at the start are not independent of each other."""
