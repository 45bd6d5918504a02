"""Optimal control problems: what is asked, apart from how it is discretised and solved."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from kreisel.control import guess as guesses
from kreisel.control.conditions import Condition, Cost, Joined, Target, effort
from kreisel.control.discrete import Discrete, Limits
from kreisel.control.guess import Course
from kreisel.control.ipopt import Ipopt
from kreisel.control.result import Result
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.system import System
from kreisel.methods import Method
from kreisel.methods.midpoint import HamiltonianMethod
from kreisel.simulation.solution import Solution, State

if TYPE_CHECKING:
    from kreisel.control.indirect import Extremal

Array = NDArray[np.float64]
Guess = str | Solution | Result | Mapping[Joined, Any] | Course


@dataclass(frozen=True)
class OptimalControl:
    r"""The cheapest motion from a start to a target:

    .. math:: \min \int_0^T \ell\,dt + E \quad\text{such that the system moves from the start to the target, within bounds.}

    ``horizon``: its length T in s, or bounds (shortest, longest) between which it is free. ``steps``: the number of steps, in each of which
    controls are constant. ``start``: another one than the system's, as ``initial`` of :func:`kreisel.simulate`. ``end``: see
    :class:`Target`. ``cost``: default the control effort. ``bounds``: (lower, upper) of controls and joint coordinates by name, None for
    none. ``path``: conditions at all times. ``guess``: "constant" (the start), "linear" (straight on in joint coordinates, free bodies
    along geodesics), a solution, an earlier result, or ``{name: values or function of s in [0, 1]}`` of joint coordinates, controls and
    free bodies (positions, rotation matrices).

    >>> import kreisel as kr
    >>> m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    >>> rod = m.body("rod", mass=1.0, inertia=1 / 12, position=(0, -0.5))
    >>> m.joint(kr.Revolute("ground", rod, at=(0, 0, 0), axis=(0, 0, 1), name="pin"))
    >>> m.force(kr.Torque("pin", control="motor"))
    >>> swing_up = OptimalControl(m.system("minimal"), horizon=2.0, steps=40, end=Target({"pin": np.pi}, rates="rest"))
    >>> res = swing_up.solve(method=kr.GC())
    >>> res.success, res.controls["motor"].shape, round(float(res.solution.joint("pin").angle[-1]), 6)
    (True, (40,), 3.141593)
    """

    system: System
    horizon: float | tuple[float, float]
    steps: int
    end: Target
    start: State | Mapping[str, Any] | None = None
    cost: Cost = field(default_factory=effort)
    bounds: Mapping[Joined, Limits] = field(default_factory=dict)
    path: Sequence[Condition] = ()
    guess: Guess = "linear"

    def __post_init__(self) -> None:
        lengths = self.horizon if isinstance(self.horizon, tuple) else (self.horizon, self.horizon)
        if len(lengths) != 2 or not all(np.isfinite(t) and t > 0 for t in lengths) or lengths[0] > lengths[1]:
            raise ValueError(f"horizon must be positive, or (shortest, longest), got {self.horizon!r}")
        if int(self.steps) != self.steps or self.steps < 2:
            raise ValueError(f"steps must be at least 2, got {self.steps!r}")
        if not self.system.controls:
            raise ValueError("the system has no controls; add actuators with one, as kr.Torque('shoulder', control='u1')")

    @overload
    def solve(
        self,
        method: Method | None = None,
        route: Literal["direct"] = "direct",
        solver: Any = None,
        refine: int = 0,
        progress: bool = False,
    ) -> Result: ...

    @overload
    def solve(
        self, method: Method | None, route: Literal["indirect"], solver: Any = None, refine: int = 0, progress: bool = False
    ) -> Extremal: ...

    def solve(
        self,
        method: Method | None = None,
        route: str = "direct",
        solver: Any = None,
        refine: int = 0,
        progress: bool = False,
    ) -> Result | Extremal:
        """Transcribes the problem by the steps of a method, and solves it.

        ``method``: any that fits the coordinates; default RATTLie. ``route``: "direct", the best of all discrete motions; or "indirect",
        the discrete necessary conditions that conserve the Hamiltonian of the problem (:mod:`kreisel.control.indirect`; for
        :class:`kreisel.Hamiltonian` systems, the whole state at the end and effort as cost). ``solver``: ``kr.Ipopt()`` (default) or
        ``kr.Structured()``, the fast one. ``refine``: solve so many times more, each time with twice the steps, from the solution before.
        ``progress``: print a line per iteration. An interrupt from the keyboard ends the search and keeps what was found.
        """
        from kreisel.methods import RATTLie

        method = RATTLie() if method is None else method
        solver = Ipopt() if solver is None else solver
        if route == "indirect":
            return self._indirect(method, solver)
        if route != "direct":
            raise ValueError(f"route must be 'direct' or 'indirect', got {route!r}")
        result = self._solve(method, solver, progress)
        problem = self
        for _ in range(refine):
            if not result.success:
                break
            problem = replace(problem, steps=2 * problem.steps, guess=result)
            result = problem._solve(method, solver, progress)
        return result

    def _indirect(self, method: Method, solver: Any) -> Extremal:
        from kreisel.control import indirect

        system, end = self.system, self.end
        if not isinstance(system, Hamiltonian) or not method.hamiltonian:
            raise ValueError("the indirect route is for Hamiltonian systems with kr.Greenspan(), kr.Gonzalez() or kr.Midpoint()")
        if end.q is None or end.v is None or end != Target(q=end.q, v=end.v):
            raise ValueError("the indirect route needs q and v, the momenta, at the end, and nothing else")
        if self.cost.weights is None or self.bounds or self.path or isinstance(self.horizon, tuple):
            raise ValueError("the indirect route is for effort alone as cost, without bounds, and with a fixed horizon")
        weights = [self.cost.weights.get(name, 1.0) for name in system.controls]
        start = None if self.start is None else self._state()
        guess = self.guess if isinstance(self.guess, Result | indirect.Extremal) else None
        assert isinstance(method, HamiltonianMethod)
        return indirect.solve(system, method, self.horizon, self.steps, end.q, end.v, weights, guess=guess, start=start, solver=solver)

    def _state(self) -> tuple[Any, Any]:
        """q and v of the start."""
        if isinstance(self.start, State):
            return self.start.q, self.start.v
        assert self.start is not None
        ((q, v),) = self.start.values()
        return q, v

    def discrete(self, method: Method) -> Discrete:
        """The discrete problem."""
        return Discrete(self.system, method, self.horizon, self.steps, self.start, self.end, self.cost, self.bounds, self.path)

    def _solve(self, method: Method, solver: Any, progress: bool) -> Result:
        begun = time.perf_counter()
        d = self.discrete(method)
        self._count(d)
        y, end, multipliers = self._first(d)
        for name, values in (("y", y), ("end", end)):
            if not np.all(np.isfinite(values)):
                raise ValueError(f"guess: it is not finite ({name})")
        prepared = time.perf_counter() - begun
        with _Interrupt() as interrupt:
            outcome = solver.solve(d.stages, y, end, multipliers, _Report(progress, interrupt))
        return Result.of(d, outcome, prepared)

    def _count(self, d: Discrete) -> None:
        """More conditions of the end than there are controls to meet them cannot hold."""
        s = d.stages.sizes
        equations = int(np.sum(d.stages.bounds.e[0] == d.stages.bounds.e[1]))
        if equations > self.steps * s.u + int(d.stages.free.sum()):
            raise ValueError(f"end: {equations} conditions are more than {self.steps} steps with {s.u} controls can meet")

    def _first(self, d: Discrete) -> tuple[Array, Array, Any]:
        times = np.linspace(0.0, d.h * d.steps, d.steps + 1)
        g = self.guess
        if isinstance(g, Result):
            same = g.discrete.stages.sizes == d.stages.sizes and g.discrete.steps == d.steps and type(g.discrete.method) is type(d.method)
            if same:
                return g.outcome.y.copy(), g.outcome.end.copy(), g.outcome.multipliers
            course = Course.of_result(g.discrete, g.outcome, g.solution, times)
        elif isinstance(g, Solution):
            course = Course.of_solution(g, times)
        elif isinstance(g, Course):
            course = g
        elif isinstance(g, Mapping):
            course = guesses.given(d, times, g)
        elif g == "constant":
            course = Course()
        elif g == "linear":
            course = guesses.linear(d, self.end, times)
        else:
            raise ValueError(f"guess must be 'constant', 'linear', joint coordinates, a solution or a result, got {g!r}")
        y, end = guesses.variables(d, course)
        return y, end, None


class _Interrupt:
    """Notes an interrupt from the keyboard instead of raising it within a solver of others."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> _Interrupt:
        self._old: Any = None
        if threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGINT, lambda *_: setattr(self, "asked", True))
        return self

    def __exit__(self, *_: Any) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)


class _Report:
    """What is done after each iteration: a line, if asked for; an end, if interrupted."""

    def __init__(self, progress: bool, interrupt: _Interrupt) -> None:
        self.progress, self.interrupt = progress, interrupt

    def __call__(self, iteration: Any) -> None:
        if self.progress:
            print(f"{iteration.number:5d}  cost {iteration.cost:.10g}  violation {iteration.infeasibility:.2e}", flush=True)
        if self.interrupt.asked:
            raise KeyboardInterrupt
