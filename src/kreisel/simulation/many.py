"""Many runs at once: the same formulas and method with other numbers, starts and steps, in one call of compiled code.

What is kept of a run are the figures of a sweep: how it ended, its effort, and its energies. They are the very numbers that
:func:`simulate` gives, to the last bit. They come in columns, one per figure, so that there is next to nothing left to do for the
interpreter, which has only one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.engine import driver
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import COUNT, Layout
from kreisel.simulation.prepare import SYMBOLS, Prepared, prepare
from kreisel.simulation.program import Record
from kreisel.simulation.run import check, simulate, steps_of, steps_of_each
from kreisel.simulation.solution import Solution
from kreisel.simulation.start import explain, start
from kreisel.simulation.status import Status

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Figures = dict[str, Any]
Columns = dict[str, list[Any]]

_ENERGIES = "energy_start", "energy_end", "energy_max", "energy_rise"
_KINDS: dict[str, type] = {"status": object, "message": object, "t_end": float, "steps": int, "newton_iterations": int}
_KINDS |= dict.fromkeys(_ENERGIES, float)
#: So many energies on record at once, at most: long runs go together in smaller groups.
NUMBERS = 4_000_000


def figures(solution: Solution) -> Figures:
    """The figures of a run: ``status``, ``message``, ``t_end``, ``steps``, ``newton_iterations``, and of the energy ``energy_start``,
    ``energy_end``, ``energy_max`` and ``energy_rise``, the largest change from one recorded time to the next.

    >>> import kreisel as kr
    >>> figures(kr.simulate(kr.models.oscillator(damping=1.0), until=1.0, step=0.01))["energy_rise"] < 0
    True
    """
    E = solution.energy
    return {
        "status": solution.status.name,
        "message": solution.message,
        "t_end": float(solution.t[-1]),
        "steps": solution.stats.steps,
        "newton_iterations": solution.stats.newton_iterations,
        **dict(zip(_ENERGIES, map(float, (E[0], E[-1], E.max(), np.diff(E).max(initial=-np.inf))), strict=True)),
    }


def simulate_each(
    systems: Sequence[System], until: Sequence[float] | Array, step: Sequence[float] | Array, method: Method, newton: Newton | None = None
) -> tuple[Columns, dict[int, Exception]]:
    """The figures of many runs with one method, in columns; and for those that cannot start, whose figures are None, the exception that
    says why, by their numbers.

    Systems that differ only in numbers run together, without the interpreter and its lock.

    >>> import kreisel as kr
    >>> tops = [kr.models.extended_top("SO3", stiffness=k, damping=1.0) for k in (10.0, 100.0)]
    >>> columns, errors = simulate_each(tops, [1.0, 1.0], [0.01, 0.02], kr.GeneralizedAlpha())
    >>> columns["status"], columns["steps"], errors
    (['REACHED_END', 'REACHED_END'], [100, 50], {})
    """
    newton = Newton() if newton is None else newton
    runs = _Runs(method, newton, np.array(until, dtype=float), np.array(step, dtype=float))
    numbers: dict[int, list[int]] = {}
    different: list[System] = []
    for i, system in enumerate(systems):
        if id(system) not in numbers:
            numbers[id(system)] = []
            different.append(system)
        numbers[id(system)].append(i)
    groups: dict[Prepared, list[tuple[Layout, list[int]]]] = {}
    with SYMBOLS:
        for system, own in zip(different, numbers.values(), strict=True):
            if not together(system, method, newton):
                runs.alone(system, own)
                continue
            try:
                check(system, method)
                groups.setdefault(prepare(system, method, newton.start), []).append((Layout(system, method), own))
            except ValueError as error:
                runs.errors |= dict.fromkeys(own, error)
        for prepared in groups:
            prepared.warm()
    for prepared, members in groups.items():
        which = np.repeat(np.arange(len(members)), [len(own) for _, own in members])
        runs.together(prepared, [layout for layout, _ in members], which, np.concatenate([own for _, own in members]))
    return runs.columns(), runs.errors


def together(system: System, method: Method, newton: Newton) -> bool:
    """Whether such runs can go together: compiled from beginning to end, in the coordinates of the system, with velocities that are there
    after each step."""
    own_way = method.outside or method.reduces or type(method).velocities is not Method.velocities
    return not (own_way or system.black_boxes or newton.halvings)


class _Runs:
    """Runs with one method, and what is known of them."""

    def __init__(self, method: Method, newton: Newton, until: Array, step: Array) -> None:
        self.method, self.newton, self.until, self.step = method, newton, until, step
        count = len(until)
        self.found: dict[str, NDArray[Any]] = {name: np.zeros(count, dtype=kind) for name, kind in _KINDS.items()}
        self.errors: dict[int, Exception] = {}

    def columns(self) -> Columns:
        columns = {name: values.tolist() for name, values in self.found.items()}
        for i in self.errors:
            for column in columns.values():
                column[i] = None
        return columns

    def alone(self, system: System, numbers: list[int]) -> None:
        """One run after the other."""
        for i in numbers:
            try:
                solution = simulate(system, float(self.until[i]), float(self.step[i]), self.method, newton=self.newton)
            except ValueError as error:
                self.errors[i] = error
                continue
            for name, value in figures(solution).items():
                self.found[name][i] = value

    def together(self, prepared: Prepared, layouts: list[Layout], which: Integers, numbers: Integers) -> None:
        """Runs of systems with equal formulas; ``which``: the layout of each. As many at a time as there is room for."""
        until, step = self.until[numbers], self.step[numbers]
        good = np.isfinite(until) & (until > 0) & np.isfinite(step) & (step > 0)
        for i in numbers[~good].tolist():
            try:
                steps_of(float(self.until[i]), float(self.step[i]))
            except ValueError as error:
                self.errors[i] = error
        which, numbers = which[good], numbers[good]
        room = np.cumsum((until[good] / step[good] + 2) * sum(prepared.energies.instances))
        for some in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(room // NUMBERS)) + 1):
            used, own = np.unique(which[some], return_inverse=True)
            if len(some):
                self._go(prepared, [layouts[k] for k in used], own, numbers[some])

    def _go(self, prepared: Prepared, layouts: list[Layout], which: Integers, numbers: Integers) -> None:
        starts, hs, ts = steps_of_each(self.until[numbers], self.step[numbers], self.method)
        S, errors = start(prepared, layouts, hs[starts[:-1]].tolist(), which=which)
        if errors:
            self.errors |= {int(numbers[k]): error for k, error in errors.items()}
            good = np.array([k for k in range(len(numbers)) if k not in errors], dtype=np.int64)
            if len(good):
                self._go(prepared, layouts, which[good], numbers[good])
            return
        S[:, COUNT] = 0
        stride, lengths = prepared.energies.every, np.diff(starts)
        record = Record(prepared.energies, np.concatenate([[0], np.cumsum(lengths // stride + 1)]))
        codes, failures, stats, ends = self._steps(prepared, [layouts[k] for k in which], S, starts, hs, ts, record)
        done = np.where(codes == driver.DONE, lengths, failures[:, 0])
        times = starts[:-1] + np.arange(len(S))
        status, message = [Status.REACHED_END.name] * len(S), [Status.REACHED_END.value] * len(S)
        for k, (end, culprit) in ends.items():
            t, h = ts[times[k] + done[k]], hs[starts[k] + done[k]]
            status[k], message[k] = end.name, f"{end.value}{culprit}, in the step from t = {t:.9g} with h = {h:.6g}"
        energies = _ends_and_extremes(prepared.energy(record), record.rows[:-1], done // stride + 1)
        t_end = ts[times + stride * (done // stride)]
        columns = status, message, t_end, stats[:, driver.STEPS], stats[:, driver.ITERATIONS], *energies
        for name, column in zip(_KINDS, columns, strict=True):
            self.found[name][numbers] = column

    def _steps(
        self, prepared: Prepared, layouts: list[Layout], S: Array, starts: Integers, hs: Array, ts: Array, record: Record
    ) -> tuple[Integers, Integers, Integers, dict[int, tuple[Status, str]]]:
        """All steps. -> codes and failures of the driver, counts, and why runs ended early."""
        newton, end = self.newton, len(hs)
        stats, codes, failures = (np.zeros(shape, dtype=np.int64) for shape in ((len(S), 8), len(S), (len(S), 3)))
        reasons: dict[int, tuple[Status, str]] = {}
        first = [(prepared.opening, (0, 1))] if prepared.opening else []
        for program, span in [*first, (prepared.main, (len(first), end))]:
            tolerances = program.tolerances(newton.atol, newton.rtol)
            program.run_each(S, starts, hs, ts, tolerances, newton.options(), stats, record, span, (codes, failures))
            for k in np.flatnonzero(codes != driver.DONE).tolist():
                if k not in reasons:
                    reasons[k] = explain(program, layouts[k], failures[k], int(codes[k]), S[k])
        return codes, failures, stats, reasons


def _ends_and_extremes(E: Array, begins: Integers, lengths: Integers) -> tuple[Array, Array, Array, Array]:
    """First and last energy, the largest, and the largest change from one to the next, of runs that stand one after the other."""
    ends = begins + lengths
    rise = np.append(np.diff(E), -np.inf)
    rise[ends - 1] = -np.inf
    # Every second part is what lies between two runs.
    parts = np.stack([begins, ends], axis=1).ravel()
    largest, steepest = (np.maximum.reduceat(np.append(a, 0.0), parts)[::2] for a in (E, rise))
    return E[begins], E[ends - 1], largest, steepest
