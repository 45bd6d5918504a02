"""Runs of solvers of others around our compiled equations of motion: scipy's, and IDA of SUNDIALS."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.engine import driver
from kreisel.mechanics.system import System
from kreisel.methods.base import Stage
from kreisel.methods.index_one import Stabilised
from kreisel.methods.outside import Ida, SolveIvp
from kreisel.methods.starts import ProjectPosition, ProjectVelocity
from kreisel.simulation import controls as control
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.diagnose import near_singularities
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import H, Layout, T
from kreisel.simulation.prepare import Prepared
from kreisel.simulation.program import Program
from kreisel.simulation.run import steps_of
from kreisel.simulation.solution import Solution
from kreisel.simulation.start import explain, start
from kreisel.simulation.status import Statistics, Status
from kreisel.symbolic import compile

Array = NDArray[np.float64]

#: Steps of IDA between two outputs, at most.
MAX_STEPS = 100_000
#: An absolute tolerance that nothing fails.
LEFT_OUT = 1e30


def integrate(
    system: System,
    until: float,
    step: float | ArrayLike,
    method: SolveIvp | Ida,
    initial: Any,
    acceleration: Any,
    values: Mapping[str, Array],
    project: bool,
    every: int,
    events: tuple[Any, ...],
) -> Solution:
    """From t = 0 to ``until``, with output at the end of every k-th step. ``values``: of the inputs, per step."""
    begun = time.perf_counter()
    if events:
        raise ValueError(f"{method} does not look for events; methods of ours do")
    outer, ts = steps_of(until, step)
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    layout = Layout(system, method)
    inputs = control.inputs(layout.controls, values, 1) if layout.controls else None
    prepared = Prepared(layout, steps=False)
    started, errors = start(prepared, [layout], [float(outer[0])], initial, acceleration, project, None if inputs is None else inputs[0])
    for error in errors.values():
        raise error
    S = started[0, : layout.size]
    motion = _Motion(layout, S, method.alpha, method.beta)
    wanted = np.unique(np.append(np.arange(every, len(ts), every), len(ts) - 1))
    records = [S[: layout.n_state].copy()]
    run: Any = _scipy if isinstance(method, SolveIvp) else _ida
    ready = time.perf_counter()
    status, message = Status.REACHED_END, Status.REACHED_END.value
    try:
        for first, last in _pieces(inputs, len(outer)):
            if inputs is not None:
                motion.S[layout.inputs] = inputs[first]
            times = ts[wanted[(wanted > first) & (wanted <= last)]]
            for t, y in run(motion, method, float(ts[first]), float(ts[last]), times):
                records.append(motion.record(t, y))
    except _FailedError as failure:
        status, message = failure.status, f"{failure}, after t = {records[-1][T]:.9g}"
    except KeyboardInterrupt:
        status, message = Status.INTERRUPTED, f"{Status.INTERRUPTED.value} at t = {records[-1][T]:.6g}"
    rows = np.array(records)
    rows[1:, H] = np.diff(rows[:, T])
    stats = Statistics(
        steps=motion.steps,
        newton_iterations=0,
        factorisations=motion.evaluations,
        halvings=0,
        seconds=time.perf_counter() - ready,
        preparation_seconds=ready - begun,
        evaluations=motion.evaluations,
    )
    recorded = None
    if inputs is not None:  # of the steps that led to the recorded times
        recorded = inputs[np.clip(np.searchsorted(ts, rows[:, T] * (1 - 1e-12)) - 1, 0, len(inputs) - 1)]
    message += near_singularities(layout, rows)
    return Solution(layout, rows, status, message, stats, None, every, None, recorded)


class _FailedError(Exception):
    """Why a run ends before its time."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


def _pieces(inputs: Array | None, steps: int) -> list[tuple[int, int]]:
    """Where inputs jump, solvers begin anew: (first, last) times of the pieces in between."""
    jumps = [] if inputs is None else (1 + np.flatnonzero(np.any(np.diff(inputs, axis=0), axis=1))).tolist()
    ends = [0, *jumps, steps]
    return list(pairwise(ends))


class _Motion:
    """The equations of motion as functions of one column y = (q, v), or of (q, v, lam, mu) and its derivative."""

    def __init__(self, layout: Layout, S: Array, alpha: float, beta: float) -> None:
        self.layout, system = layout, layout.system
        targets = layout.method.acceleration_targets
        self.equations = Stabilised(alpha, beta, *targets)
        self.rates = _Solver(layout, (self.equations,))
        # The same once more as a step in time, of length zero: so elements remember.
        self.accepted = _Solver(layout, (self.equations,), steps=True)
        self.back = _Solver(layout, (ProjectPosition(), ProjectVelocity())) if system.constrained or system.nonholonomic else None
        self.S = S
        self.n = system.n_params
        pairs = list(zip(system.nodes, layout.nodes, strict=True))
        self.q = np.concatenate([p["q"] + np.arange(n.group.n_params) for n, p in pairs])
        self.v, self.a = (np.concatenate([p[name] + np.arange(n.group.dim) for n, p in pairs]) for name in ("v", "a"))
        self.multipliers = np.array(
            [p[name] + i for rows, where, name in ((system.rows, layout.lam, "lam"), (system.pfaffian_rows, layout.mu, "mu"))
             for k, p in zip(rows, where, strict=True) for i in range(k)], dtype=np.int64,
        )  # fmt: skip
        q, v = [n.group.symbol("q") for n in system.nodes], [ca.SX.sym("v", n.group.dim) for n in system.nodes]
        dq = [n.group.rate(q_i, v_i) for n, q_i, v_i in zip(system.nodes, q, v, strict=True)]
        self._turn = compile(ca.Function("turn", [ca.vertcat(*q, *v)], ca.cse([ca.densify(ca.vertcat(*dq))])))
        self.evaluations = self.steps = 0
        self.remembers = any(e.remember is not None for e in system.elements)

    def start(self) -> Array:
        """y = (q, v), as it stands."""
        return np.array(self.S[np.concatenate([self.q, self.v])])

    def turn(self, y: Array) -> Array:
        """q', from q and v."""
        return np.asarray(self._turn(y[:, None])[:, 0])

    def __call__(self, t: float, y: Array) -> Array:
        """y' = (q', a)."""
        self.evaluations += 1
        self._place(t, y)
        self.rates(self.S)
        return np.concatenate([self.turn(y), self.S[self.a]])

    def _place(self, t: float, y: Array) -> None:
        if not np.all(np.isfinite(y)):
            raise _FailedError(Status.NOT_FINITE, "the solver got nan or inf")
        self.S[T] = t
        self.S[self.q], self.S[self.v] = y[: self.n], y[self.n : self.n + len(self.v)]

    def on_group(self, y: Array) -> Array:
        """y with configurations that are elements of their groups."""
        y, at = y.copy(), 0
        for node in self.layout.system.nodes:
            part = slice(at, at + node.group.n_params)
            y[part] = node.group.project(y[part])
            at = part.stop
        return y

    def projected(self, t: float, y: Array) -> Array:
        """On the constraints, besides."""
        self._place(t, self.on_group(y))
        if self.back is not None:
            self.back(self.S)
        return self.start()

    def accept(self, t: float, y: Array) -> None:
        """Elements remember."""
        self._place(t, y)
        self.accepted(self.S)

    def record(self, t: float, y: Array) -> Array:
        """The states at an output, with accelerations and multipliers that belong to q and v."""
        self.accept(t, self.projected(t, y) if getattr(self.layout.method, "project", False) else self.on_group(y))
        return self.S[: self.layout.n_state].copy()


class _Solver:
    """Solves the equations of some stages at a state, in place."""

    def __init__(self, layout: Layout, stages: tuple[Stage, ...], steps: bool = False) -> None:
        self.program = Program(layout, stages, steps=steps)
        self.memory = self.program.memory()
        self.full = np.zeros(self.program.size)
        self.length = np.array([0.0 if steps else 1.0])
        self.tolerances = self.program.tolerances(1e-13, 1e-13)
        self.options = Newton().options(inexact=bool(layout.system.black_boxes))

    def __call__(self, S: Array) -> None:
        self.full[: len(S)] = S
        now = np.array([S[T], S[T]])
        code = self.program.run(self.full, self.length, now, 0, 1, self.tolerances, self.options, self.memory)
        if code != driver.DONE:
            status, culprit = explain(self.program, self.program.layout, self.memory.failure, code, S)
            raise _FailedError(status, f"{status.value}{culprit}")
        S[:] = self.full[: len(S)]
        S[T] = now[0]


def _scipy(motion: _Motion, method: SolveIvp, begin: float, end: float, times: Array) -> Iterator[tuple[float, Array]]:
    from scipy import integrate as scipy_integrate

    make = getattr(scipy_integrate, method.method)
    solver = make(motion, begin, motion.start(), end, rtol=max(method.rtol, 100 * np.finfo(float).eps), atol=method.atol)
    at = 0
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            raise _FailedError(Status.NOT_CONVERGED, f"scipy's {method.method} failed: {message}")
        motion.steps += 1
        y, dense = solver.y, solver.dense_output()
        while at < len(times) and times[at] <= solver.t:
            yield float(times[at]), y if times[at] == solver.t else dense(times[at])
            at += 1
        if method.project:
            solver.y = motion.projected(solver.t, y)
            solver.f = motion(solver.t, solver.y)
        if motion.remembers or solver.status == "finished":  # the next piece begins there
            motion.accept(solver.t, solver.y)


def _ida(motion: _Motion, method: Ida, begin: float, end: float, times: Array) -> Iterator[tuple[float, Array]]:
    try:
        from sksundae.ida import IDA
    except ImportError:
        raise ImportError("kr.Ida needs scikit-sundae, which is not installed; pip install kreisel[sundials]") from None

    assembly, n = Assembly(motion.layout, motion.equations), motion.n + len(motion.v)
    failed: list[_FailedError] = []

    def residual(t: float, y: Array, rate: Array, out: Array) -> None:
        motion.evaluations += 1
        try:
            motion._place(t, y)
        except _FailedError as failure:
            failed.append(failure)
            out[:] = np.nan
            return
        out[: motion.n] = rate[: motion.n] - motion.turn(y[:n])
        out[motion.n :] = assembly.residual(motion.S, np.concatenate([rate[motion.n : n], y[n:]]))

    # Multipliers are left out of the test of a step: they follow from the rest, and at the outputs they are computed anew.
    algebraic = np.arange(n, n + len(motion.multipliers))
    atol = np.full(n + len(algebraic), method.atol)
    atol[algebraic] = LEFT_OUT
    solver = IDA(residual, rtol=method.rtol, atol=atol, max_num_steps=MAX_STEPS, algebraic_idx=algebraic if len(algebraic) else None)
    y = motion.start()
    motion.rates(motion.S)
    rates = np.concatenate([motion.turn(y), motion.S[motion.a], np.zeros(len(motion.multipliers))])
    solver.init_step(begin, np.concatenate([y, motion.S[motion.multipliers]]), rates)
    for t in times if len(times) and times[-1] == end else [*times, end]:
        found = solver.step(float(t))
        if failed:
            raise failed[0]
        if not found.success:
            raise _FailedError(Status.NOT_CONVERGED, f"IDA failed: {found.message}")
        motion.steps += 1
        if t in times:
            yield float(t), found.y[:n]
        motion.accept(float(t), motion.on_group(found.y[:n]))  # the next piece begins there
