"""simulate(): the front of the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.engine import driver
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.system import System
from kreisel.methods import Method, RATTLie
from kreisel.simulation import controls as control
from kreisel.simulation.diagnose import expression_at, near_singularities
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import COUNT, Layout, T
from kreisel.simulation.prepare import Prepared, prepare
from kreisel.simulation.program import Memory, Program
from kreisel.simulation.solution import Event, Solution, State
from kreisel.simulation.start import explain, place_initial, start
from kreisel.simulation.status import InconsistentStart, SingularStart, Statistics, Status

Array = NDArray[np.float64]

# The driver is called for about so long at a time, so that an interrupt is noticed and a progress bar moves.
CHUNK_SECONDS = 0.2


@dataclass(frozen=True)
class When:
    """An event: a function of the frames of some bodies changes its sign.

    >>> import kreisel as kr
    >>> When("floor", "ball", lambda t, ball: ball.x[2], stop=True)
    When(name='floor', stop=True)
    """

    name: str
    bodies: tuple[str, ...]
    formula: Callable[..., ca.SX]
    stop: bool = False

    def __init__(self, name: str, *bodies_and_formula: Any, stop: bool = False) -> None:
        *bodies, formula = bodies_and_formula
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "bodies", tuple(bodies))
        object.__setattr__(self, "formula", formula)
        object.__setattr__(self, "stop", stop)

    def __repr__(self) -> str:
        return f"When(name={self.name!r}, stop={self.stop})"


def simulate(
    system: System,
    until: float,
    step: float | ArrayLike,
    method: Method | None = None,
    *,
    newton: Newton | None = None,
    initial: State | Mapping[str, Any] | None = None,
    acceleration: Mapping[str, ArrayLike] | None = None,
    controls: Mapping[str, Any] | None = None,
    project: bool = False,
    every: int = 1,
    events: Sequence[When] = (),
    solver: str = "auto",
    progress: bool = False,
) -> Solution:
    """Integrates the equations of motion from t = 0 to ``until``.

    ``step``: a length, or the sequence of all steps. ``method``: default RATTLie. ``initial``: another start than the system's: a state
    of an earlier solution, or ``{body: (q, v)}``. ``acceleration``: ``{body: a}`` if the initial accelerations are known better than the
    equations of motion would give them. ``controls``: ``{name: input}`` of actuators: a number, a function of time (with CasADi's
    functions), or an array with a value for each step; zero, if not given. ``project``: move a start that violates the constraints onto
    them. ``every``: record every k-th step. ``events``: what to look for. ``progress``: show a bar.

    A run always gives a solution: its ``status`` and ``message`` say how it ended, and it holds all accepted steps. What is wrong before
    the first step is an error. Redundant constraints are named in the message and in ``stats``, and get multipliers of least norm.

    >>> import kreisel as kr
    >>> oscillator = kr.System(kr.R(1), mass=[[1.0]], potential=lambda q: q[0] ** 2 / 2, q=[1.0])
    >>> sol = kr.simulate(oscillator, until=2 * np.pi, step=2 * np.pi / 1000)
    >>> sol.success, float(sol.q[-1, 0].round(4))
    (True, 1.0)
    """
    method = RATTLie() if method is None else method
    newton = Newton() if newton is None else newton
    check(system, method)
    system, values = control.divide(system, controls, len(steps_of(until, step)[0]))
    given = until, step, method, newton, initial, acceleration, values, project, every, tuple(events), solver, progress
    if method.reduces:
        from kreisel.simulation.reduction import Reduction

        reduction = Reduction(system, method, initial, project)
        return reduction.restore(_simulate(reduction.system, until, step, method, newton, None, None, *given[6:]))
    failure: InconsistentStart | None = None
    try:
        solution = _simulate(system, *given)
        if solution.status is not Status.SINGULAR:
            return solution
    except InconsistentStart as error:
        if not (project or isinstance(error, SingularStart)):
            raise
        failure = error
    from kreisel.simulation.redundancy import reduce, unassembled

    layout = Layout(system, method)
    S = layout.start()
    place_initial(layout, S, initial)
    q = np.concatenate([S[p["q"] : p["q"] + n.group.n_params] for n, p in zip(system.nodes, layout.nodes, strict=True)])
    if failure is None or isinstance(failure, SingularStart):
        reduced = reduce(system, q)
        if reduced is not None:
            return reduced.restore(_simulate(reduced.system, *given))
    if failure is None:
        return solution
    reason = unassembled(system, q) if project else ""
    raise InconsistentStart(reason) if reason else failure


def _simulate(
    system: System,
    until: float,
    step: float | ArrayLike,
    method: Method,
    newton: Newton,
    initial: Any,
    acceleration: Any,
    values: Mapping[str, Array],
    project: bool,
    every: int,
    events: tuple[When, ...],
    solver: str,
    progress: bool,
) -> Solution:
    """With constraints that are independent of each other. ``values``: of the inputs, per step."""
    if method.outside:
        from kreisel.simulation.outside import integrate

        return integrate(system, until, step, method, initial, acceleration, values, project, every, events)  # type: ignore[arg-type]
    begun = time.perf_counter()
    outer, ts_outer = steps_of(until, step)
    if method.variable_steps is False and np.ptp(outer) > 1e-12 * outer.max():
        raise ValueError(f"{method} needs constant steps")
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    fractions = method.substeps()
    hs, ts = substeps_of(method, outer, ts_outer)

    layout = Layout(system, method)
    inputs = control.inputs(layout.controls, values, len(fractions)) if layout.controls else None
    if events:
        watch = tuple(_event(layout, e) for e in events)
        prepared = Prepared(layout, newton.start, solver, watch)
    else:
        prepared = prepare(system, method, newton.start, solver)
    started, errors = start(prepared, [layout], [float(hs[0])], initial, acceleration, project, None if inputs is None else inputs[0])
    for error in errors.values():
        raise error
    records = np.empty((len(outer) // every + 1, layout.n_state))
    S = started[0]
    S[COUNT] = 0
    records[0] = S[: layout.n_state]
    run = _Run(prepared, layout, S, hs, ts, every * len(fractions), records, newton, list(events), inputs)
    ready = time.perf_counter()
    status, message = run.go(progress)
    done = run.done // (every * len(fractions)) + 1
    records = records[:done]
    if run.stopped is not None:  # the last time is that of the event
        records = np.concatenate([records[records[:, T] < run.stopped[T]], run.stopped[None]])
    elif status is Status.REACHED_END and len(outer) % every:  # and else that of the end
        records = np.concatenate([records, S[None, : layout.n_state]])
    beyond = run.beyond(method.extra_steps * len(fractions)) if status is Status.REACHED_END else None
    stats = Statistics(
        steps=int(run.memory.stats[driver.STEPS]),
        newton_iterations=int(run.memory.stats[driver.ITERATIONS]),
        factorisations=int(run.memory.stats[driver.FACTORISATIONS]),
        halvings=run.halvings,
        seconds=time.perf_counter() - ready,
        preparation_seconds=ready - begun,
    )
    recorded = None
    if inputs is not None:  # of the steps that led to the recorded times
        last = np.clip(np.searchsorted(ts, records[:, T] * (1 - 1e-12)) - 1, 0, len(inputs) - 1)
        recorded = inputs[last]
    message += near_singularities(layout, records)
    return Solution(layout, records, status, message, stats, run.found, every, beyond, recorded, prepared.monitors)


def check(system: System, method: Method) -> None:
    """Refuses what is no system or no method, and a method that does not fit the system."""
    if not isinstance(system, System):
        raise TypeError(f"simulate takes a system; a mechanism gives one with .system(coordinates=...), got {type(system).__name__}")
    if not isinstance(method, Method):
        raise TypeError(f"method must be a method such as kr.RATTLie(), got {method!r}")
    reason = method.refuse(system)
    if isinstance(system, Hamiltonian) != method.hamiltonian:
        reason = (
            "it is for Hamiltonian systems"
            if method.hamiltonian
            else "a Hamiltonian system has momenta instead of velocities; kr.Midpoint() fits"
        )
    if reason:
        raise ValueError(f"{method} does not fit this system: {reason}")


def steps_of(until: float, step: float | ArrayLike) -> tuple[Array, Array]:
    """All steps and times. A constant step is shortened a little, if the interval is no multiple of it."""
    if not (np.isfinite(until) and until > 0):
        raise ValueError(f"until must be positive, got {until}")
    h = np.asarray(step, dtype=float)
    if not np.all(np.isfinite(h)) or not np.all(h > 0):
        raise ValueError(f"step must be positive, got {step!r}")
    if h.ndim == 0:
        n = max(1, int(np.ceil(until / float(h) * (1 - 1e-12))))
        return np.full(n, until / n, dtype=np.float64), np.asarray(until / n * np.arange(n + 1), dtype=np.float64)
    if h.ndim != 1 or abs(h.sum() - until) > 1e-9 * until:
        raise ValueError(f"the sequence of steps must add up to until = {until}, it adds up to {h.sum()}")
    return h, np.concatenate([[0.0], np.cumsum(h)])


def substeps_of(method: Method, outer: Array, ts_outer: Array) -> tuple[Array, Array]:
    """The steps and times of the driver: each step as the method divides it."""
    fractions = np.array(method.substeps())
    hs = np.multiply.outer(outer, fractions).ravel()
    ts = np.concatenate([[0.0], np.cumsum(hs)])
    ts[:: len(fractions)][: len(ts_outer)] = ts_outer
    return hs, ts


def steps_of_each(until: Array, step: Array, method: Method) -> tuple[NDArray[np.int64], Array, Array]:
    """The steps and times of many runs, one after the other, each with a constant step; where the steps of each run begin, and the end.

    They are those of :func:`steps_of` and :func:`substeps_of`.
    """
    n = np.maximum(1, np.ceil(until / step * (1 - 1e-12))).astype(np.int64)
    fractions, h = np.array(method.substeps()), until / n
    m = len(fractions)
    starts = np.concatenate([[0], m * np.cumsum(n)])
    hs = np.multiply.outer(np.repeat(h, n), fractions).ravel()
    firsts = starts[:-1] + np.arange(len(n))
    if m == 1:
        numbers = np.arange(starts[-1] + len(n)) - np.repeat(firsts, n + 1)
        return starts, hs, np.repeat(h, n + 1) * numbers
    ts = np.zeros(starts[-1] + len(n))
    for i, a in enumerate(firsts.tolist()):
        own = ts[a : a + m * n[i] + 1]
        np.cumsum(hs[starts[i] : starts[i + 1]], out=own[1:])
        own[::m] = h[i] * np.arange(n[i] + 1)
    return starts, hs, ts


def random_steps(until: float, largest: float, seed: int = 26031990) -> Array:
    """A random sequence of steps in [largest/4, largest] that add up to ``until``; the last two are equal.

    Each step is the one before it times a random number in [1/2, 3/2], drawn again while out of range (the grid of Hante, Remark 5.11).

    >>> h = random_steps(1.0, 0.01)
    >>> float(h.sum().round(12)), bool(h.max() <= 0.01)
    (1.0, True)
    """
    if not 0 < 4 * largest <= until:
        raise ValueError(f"largest must lie in (0, until/4], got {largest} with until = {until}")
    rng, steps, h, left = np.random.default_rng(seed), [], 0.75 * largest, until
    while left > 2 * largest:
        steps.append(h)
        left -= h
        low, high = max(0.5, largest / (4 * h)), min(1.5, largest / h)
        h *= rng.uniform(low, high)
    return np.array([*steps, left / 2, left / 2])


def _event(layout: Layout, event: When) -> tuple[list[ca.SX], ca.SX, NDArray[np.int64]]:
    return expression_at(layout, event.bodies, event.formula, f"event '{event.name}'")


class _Run:
    """A run in progress."""

    def __init__(
        self,
        prepared: Prepared,
        layout: Layout,
        S: Array,
        hs: Array,
        ts: Array,
        every: int,
        records: Array,
        newton: Newton,
        events: list[When],
        inputs: Array | None = None,
    ) -> None:
        self.main, self.opening, self.layout = prepared.main, prepared.opening, layout
        self.S, self.hs, self.ts, self.every, self.records = S, hs, ts, every, records
        self.newton, self.events, self.inputs = newton, events, inputs
        self.options = newton.options(inexact=bool(layout.system.black_boxes))
        self.memory = self.main.memory()
        self.tolerances = self.main.tolerances(newton.atol, newton.rtol)
        self.done = 0
        self.halvings = 0
        self.found: list[Event] = []
        #: The state at the event that stopped the run.
        self.stopped: Array | None = None

    def go(self, progress: bool) -> tuple[Status, str]:
        n, chunk = len(self.hs), 64
        bar = _Bar(n) if progress else None
        try:
            if self.opening is not None:
                memory = self.opening.memory()
                tolerances = self.opening.tolerances(self.newton.atol, self.newton.rtol)
                code = self.opening.run(
                    self.S, self.hs, self.ts, 0, 1, tolerances, self.options, memory, self.every, self.records, inputs=self.inputs
                )
                if code != driver.DONE:
                    return self._failed(self.opening, memory, code)
                self.memory.stats += memory.stats
                self.done = 1
            while self.done < n:
                begun = time.perf_counter()
                end = min(n, self.done + chunk)
                code = self.main.run(
                    self.S, self.hs, self.ts, self.done, end, self.tolerances, self.options, self.memory, self.every, self.records,
                    inputs=self.inputs,
                )  # fmt: skip
                if code == driver.DONE:
                    self.done = end
                    seconds = time.perf_counter() - begun
                    chunk = int(np.clip(chunk * CHUNK_SECONDS / max(seconds, 1e-6), chunk / 2, 4 * chunk)) or 1
                elif code == driver.CROSSING:
                    self.done = int(self.memory.failure[0]) + 1
                    # The state before the step is the driver's backup.
                    self._cross(self.memory.buffers[4].copy(), int(self.memory.failure[1]))
                else:
                    self.done = int(self.memory.failure[0])
                    if not self._halve():
                        return self._failed(self.main, self.memory, code)
                if self.stopped is not None:
                    return Status.EVENT, f"event '{self.found[-1].name}' stopped the run at t = {self.found[-1].t:.9g}"
                if bar:
                    bar.show(self.done)
        except KeyboardInterrupt:
            return Status.INTERRUPTED, f"{Status.INTERRUPTED.value} at t = {self.ts[self.done]:.6g}"
        finally:
            if bar:
                bar.close()
        return Status.REACHED_END, Status.REACHED_END.value

    def beyond(self, steps: int) -> Array:
        """Some more steps, like the last ones, for what the last output needs of them."""
        rows = np.empty((steps, self.layout.n_state))
        hs = self.hs[len(self.hs) - steps :]
        ts = self.ts[-1] + np.concatenate([[0.0], np.cumsum(hs)])
        counted = self.memory.stats.copy()
        made = 0
        while made < steps and self.main.run(self.S, hs, ts, made, made + 1, self.tolerances, self.options, self.memory) == driver.DONE:
            rows[made] = self.S[: rows.shape[1]]
            made += 1
        self.memory.stats[:] = counted
        return rows[:made]

    def _failed(self, program: Program, memory: Memory, code: int) -> tuple[Status, str]:
        status, culprit = explain(program, self.layout, memory.failure, code, self.S)
        return status, f"{status.value}{culprit}, in the step from t = {self.ts[self.done]:.9g} with h = {self.hs[self.done]:.6g}"

    def _halve(self) -> bool:
        """The step that failed, as 2, 4, 8, ... smaller ones."""
        k, n = self.done, self.layout.n_state
        before = self.S[:n].copy()
        for level in range(1, self.newton.halvings + 1):
            parts = 2**level
            self.S[:n] = before
            hs = np.full(parts, self.hs[k] / parts)
            ts = self.ts[k] + np.arange(parts + 1) * self.hs[k] / parts
            inputs = None if self.inputs is None else np.repeat(self.inputs[k : k + 1], parts, axis=0)
            code = self.main.run(self.S, hs, ts, 0, parts, self.tolerances, self.options, self.memory, watched=False, inputs=inputs)
            if code == driver.DONE:
                self.halvings += 1
                self.done += 1
                self.S[1] = self.ts[k + 1]
                if self.done % self.every == 0:
                    self.records[self.done // self.every] = self.S[:n]
                self._cross(before)
                return True
        self.S[:n] = before
        self.memory.failure[0] = k
        return False

    def _cross(self, before: Array, seen: int = -1) -> None:
        """Finds the times of all crossings between the state before the step and the present one, on the group.

        ``seen``: an event that the driver has seen to cross.
        """
        layout = self.layout
        n = layout.n_state
        before, after = before[:n], self.S[:n].copy()
        before[1] = self.ts[self.done - 1]
        crossings = []
        for k, event in enumerate(self.events):
            value = _scalar(layout, event)
            old, new = value(before), value(after)
            if k == seen or old * new < 0 or (new == 0 and old != 0):
                crossings.append((_crossing(layout, value, before, after), event))
        for tau, event in sorted(crossings, key=lambda c: c[0]):
            S = _between(layout, before, after, tau)
            self.found.append(_event_at(layout, event, S))
            if event.stop:
                self.stopped = S
                return


def _crossing(layout: Layout, value: Callable[[Array], float], before: Array, after: Array) -> float:
    """The part of the step after which the value has changed its sign, by bisection."""
    low, high = 0.0, 1.0
    sign = np.sign(value(before))
    for _ in range(60):
        middle = (low + high) / 2
        if np.sign(value(_between(layout, before, after, middle))) == sign:
            low = middle
        else:
            high = middle
    return high


def _event_at(layout: Layout, event: When, S: Array) -> Event:
    nodes = list(zip(layout.system.nodes, layout.nodes, strict=True))
    q = np.concatenate([S[p["q"] : p["q"] + node.group.n_params] for node, p in nodes])
    v = np.concatenate([S[p["v"] : p["v"] + node.size("v")] for node, p in nodes])
    return Event(event.name, float(S[1]), State(float(S[1]), q, v))


def _between(layout: Layout, before: Array, after: Array, tau: float) -> Array:
    S = before + tau * (after - before)
    for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
        part = slice(places["q"], places["q"] + node.group.n_params)
        S[part] = node.group.interpolate(before[part], after[part], tau)
    return S


def _scalar(layout: Layout, event: When) -> Callable[[Array], float]:
    symbols, expression, sources = _event(layout, event)
    f = ca.Function("event", [ca.vertcat(*symbols)], [expression])
    values = layout.start()

    def value(S: Array) -> float:
        values[: layout.n_state] = S
        return float(f(values[sources[0]]))

    return value


class _Bar:
    """A progress bar on the terminal."""

    def __init__(self, n: int) -> None:
        from rich.progress import Progress

        self.bar = Progress()
        self.bar.start()
        self.task = self.bar.add_task("simulating", total=n)

    def show(self, done: int) -> None:
        self.bar.update(self.task, completed=done)

    def close(self) -> None:
        self.bar.stop()
