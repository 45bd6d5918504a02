"""How the nonlinear equations of a step are solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kreisel.engine import driver


@dataclass(frozen=True)
class Newton:
    """Newton's method and its stopping test on the increment, |dx_i| <= atol_i + rtol_i |x_i| in the maximum or the root mean square.

    By default it goes on to the rounding floor, so that constraints, energies and momenta hold to round-off. ``matrix``: ``"exact"`` (new
    in every iteration), ``"simplified"`` (one per step), ``"frozen"`` (kept until convergence gets slow; faster for large systems, but it
    costs structure at equal tolerance). ``start``: ``"extrapolated"``, ``"zero"``, or a function (node, h) that gives the unknown of a
    node in symbols. ``atol`` and ``rtol`` may be arrays over the unknowns (nodes in order, then multipliers). ``halvings``: how often a
    step that fails may be halved.
    """

    matrix: str = "exact"
    atol: ArrayLike = 1e-15
    rtol: ArrayLike = 1e-15
    max_iterations: int = 30
    norm: str = "max"
    start: str | Callable[[Any, Any], Any] = "extrapolated"
    halvings: int = 0

    def __post_init__(self) -> None:
        if self.matrix not in _MODES:
            raise ValueError(f"Newton: matrix must be one of {', '.join(map(repr, _MODES))}, got {self.matrix!r}")
        if self.norm not in ("max", "rms"):
            raise ValueError(f"Newton: norm must be 'max' or 'rms', got {self.norm!r}")
        if not (self.start in ("extrapolated", "zero") or callable(self.start)):
            raise ValueError(f"Newton: start must be 'extrapolated', 'zero' or a function, got {self.start!r}")
        if self.max_iterations < 1 or self.halvings < 0:
            raise ValueError("Newton: max_iterations must be at least 1 and halvings at least 0")
        if (
            np.any(np.asarray(self.atol) < 0)
            or np.any(np.asarray(self.rtol) < 0)
            or not np.all(np.asarray(self.atol) + np.asarray(self.rtol) > 0)
        ):
            raise ValueError("Newton: atol and rtol must not be negative, nor both zero")

    def options(self, inexact: bool = False) -> Any:
        """For the driver. ``inexact``: the matrix lacks the derivatives of some force."""
        # Convergence with a kept matrix slower than 0.03 per iteration asks for a fresh one. An increment that no longer shrinks is
        # rounding, and counts as convergence, if it is below a thousand tolerances, or 1e-10 of the unknown. With an exact matrix, which
        # converges quadratically, 1e-4 if it does so twice: a constraint with a short step has rounding of eps |q| / h in its rows.
        tolerance = float(np.max(np.maximum(self.atol, self.rtol)))
        slow, floor, stall = 0.03, max(1e3, 1e-10 / tolerance), max(1e3, 1e-4 / tolerance)
        return np.array([_MODES[self.matrix], self.max_iterations, self.norm == "rms", slow, inexact, floor, stall], dtype=float)


_MODES = {"exact": driver.EXACT, "simplified": driver.SIMPLIFIED, "frozen": driver.FROZEN}
