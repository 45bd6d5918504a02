"""Solvers of others, on the index-1 form of the equations of motion (Müller, digest item 31)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.index_one import check_parameters

#: scipy's solvers, and whether a step of theirs begins anew from a single state, so that it may be moved in between.
SOLVERS = {"RK23": True, "RK45": True, "DOP853": True, "Radau": True, "BDF": False, "LSODA": False}


@dataclass(frozen=True)
class _Outside(Method):
    """What they share. The steps given to simulate() are output times; between them the solver takes its own. They run in Python around
    compiled equations of motion, some ten to a hundred times slower than methods of ours with as many evaluations."""

    outside: ClassVar[bool] = True
    states: ClassVar[tuple[str, ...]] = ("v", "a")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = (("a",), ("lam",), ("mu",))

    @property
    def stages(self) -> tuple[Stage, ...]:
        raise ValueError(f"{self} has no equations of a step: its solver chooses its own steps")


@dataclass(frozen=True)
class SolveIvp(_Outside):
    r"""scipy's solvers for q' = q v~, v' = a(t, q, v) with the accelerations of the index-1 form, and step size control.

    ``method``: "RK23", "RK45", "DOP853" (explicit, orders 3, 5, 8), "Radau", "BDF" (implicit), "LSODA". ``rtol``, ``atol``: of a step, for
    the numbers of q and v. Constraints: alpha, beta as in :class:`Baumgarte`; or ``project``: after every step of the solver back onto
    the group and the constraints (not with "BDF" and "LSODA", which remember earlier steps); without either they drift. Outputs are on
    the group in any case, and their accelerations and multipliers belong to their q and v.

    >>> import kreisel as kr
    >>> top = kr.models.heavy_top("SO3xR3", spin="slow")
    >>> sol = kr.simulate(top, until=1, step=0.1, method=SolveIvp(rtol=1e-9, atol=1e-9, project=True))
    >>> bool(sol.constraint_violation.max() < 1e-14), bool(abs(sol.energy - sol.energy[0]).max() < 1e-6)
    (True, True)
    """

    method: str = "DOP853"
    rtol: float = 1e-8
    atol: float = 1e-10
    alpha: float = 0.0
    beta: float = 0.0
    project: bool = False

    def __post_init__(self) -> None:
        check_parameters("SolveIvp", self.alpha, self.beta)
        check_tolerances("SolveIvp", self.rtol, self.atol)
        if self.method not in SOLVERS:
            raise ValueError(f"SolveIvp: method must be one of {', '.join(map(repr, SOLVERS))}, got {self.method!r}")
        if self.project and not SOLVERS[self.method]:
            raise ValueError(f"SolveIvp: {self.method} remembers earlier steps; it cannot be projected, but alpha and beta will do")

    def __str__(self) -> str:
        return f"SolveIvp({self.method})"


@dataclass(frozen=True)
class Ida(_Outside):
    r"""IDA of SUNDIALS (BDF of variable order, implicit) for the differential-algebraic equations

    .. math:: \dot q = q\,\tilde v, \quad M\dot v - \hat v^T M v + B^T\lambda + A^T\mu = f, \quad
              \ddot\Phi + 2\alpha\,\dot\Phi + \beta^2\,\Phi = 0

    in y = (q, v, lam, mu). Needs scikit-sundae: ``pip install kreisel[sundials]``. ``rtol``, ``atol``: of a step, for all numbers of y.
    What elements remember, as full turns of an angle, is noted at the output times only.
    """

    rtol: float = 1e-6
    atol: float = 1e-8
    alpha: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        check_parameters("Ida", self.alpha, self.beta)
        check_tolerances("Ida", self.rtol, self.atol)

    def refuse(self, system: System) -> str:
        if system.black_boxes:
            return f"'{system.black_boxes[0]}' is a plain function, which its equations cannot contain; kr.SolveIvp() fits"
        return ""


def check_tolerances(name: str, rtol: float, atol: float) -> None:
    """Neither may be negative, nor both zero."""
    if not (0 <= rtol < 1 and 0 <= atol < float("inf") and rtol + atol > 0):
        raise ValueError(f"{name}: rtol and atol must not be negative, nor both zero, got {rtol} and {atol}")
