"""What a solver of problems with stages gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Ending(Enum):
    """How a solver ended."""

    SOLVED = "a local minimum, to the tolerance"
    ACCEPTABLE = "a local minimum as closely as rounding allows, but not to the tolerance"
    ITERATION_LIMIT = "the number of iterations was not enough"
    INFEASIBLE = "the conditions contradict each other, or no way to meet them was found from this guess"
    UNBOUNDED = "the cost falls without bound"
    STALLED = "no step makes progress"
    SINGULAR = "the equations of a step do not determine its unknowns"
    NOT_FINITE = "a formula gave nan or inf"
    INTERRUPTED = "interrupted from the keyboard"


@dataclass(frozen=True)
class Row:
    """Where something stands out: ``kind`` "R", "U" (z_{k+1} = U), "c", "e" or "u", the ``step``, the ``index`` in its kind; ``value`` is
    the violation.
    """

    kind: str
    step: int
    index: int
    value: float


@dataclass(frozen=True)
class Iteration:
    """A line of the history: the iterate and, but for the first, the step that led to it."""

    number: int
    cost: float
    #: As in the outcome.
    infeasibility: float
    stationarity: float
    #: The parameter of the barrier.
    mu: float = 0.0
    #: The part of Newton's step that was taken.
    alpha: float = 1.0
    #: What was added to the Hessian.
    regularisation: float = 0.0


Callback = Callable[[Iteration], None]


@dataclass(frozen=True)
class Multipliers:
    """Of a problem with stages, to start from: r (N, rows) of (R, U - z_{k+1}, c), s (e,) of the end, b (N, u) of the bounds of controls.

    Those of inequalities are positive at the upper bound and negative at the lower one. At a minimum the gradient of
    sum L + E + sum r . (R, U - z_{k+1}, c) + s . e + sum b . u vanishes.
    """

    r: Array
    s: Array
    b: Array


@dataclass(frozen=True)
class Outcome:
    """The best iterate, and how good it is."""

    y: Array
    end: Array
    multipliers: Multipliers
    cost: float
    ending: Ending
    message: str
    iterations: int
    #: Largest entry of the gradient of the Lagrangian (with complementarity) over the scale of its terms, and largest violation.
    stationarity: float
    infeasibility: float
    #: The condition that is violated most.
    worst: Row
    seconds: float
    derivative_seconds: float
    history: list[Iteration]

    @property
    def success(self) -> bool:
        return self.ending in (Ending.SOLVED, Ending.ACCEPTABLE)

    @property
    def kkt_residual(self) -> float:
        """Of the necessary conditions: the larger one of ``stationarity`` and ``infeasibility``."""
        return max(self.stationarity, self.infeasibility)


def key_figures(result: Any) -> dict[str, Any]:
    """Of a result of either route, for machines."""
    names = ["success", "message", "cost", "horizon", "iterations", "solve_seconds", "derivative_seconds", "kkt_residual"]
    H = result.hamiltonian
    return {
        **{name: getattr(result, name) for name in names},
        "hamiltonian": [float(H.min()), float(H.max())],
        "hamiltonian_spread": float(np.ptp(H)),
    }
