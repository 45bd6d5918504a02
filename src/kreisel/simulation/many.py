"""Many runs at once: the same formulas and method with other numbers, starts and steps, in one call of compiled code.

What is kept of a run are the figures of a sweep: how it ended, its effort, and its energies. They are the very numbers that
:func:`simulate` gives, to the last bit.
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
from kreisel.simulation.packs import Layout, T
from kreisel.simulation.prepare import SYMBOLS, Prepared, prepare
from kreisel.simulation.program import Program
from kreisel.simulation.run import check, simulate, steps_of, substeps_of
from kreisel.simulation.solution import Solution
from kreisel.simulation.start import explain, start
from kreisel.simulation.status import Status

Array = NDArray[np.float64]
Figures = dict[str, Any]

_ENERGIES = "energy_start", "energy_end", "energy_max", "energy_rise"


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
    systems: Sequence[System], until: Sequence[float], step: Sequence[float], method: Method, newton: Newton | None = None
) -> list[Figures | Exception]:
    """The figures of many runs with one method; for a run that cannot start, the exception that says why.

    Systems that differ only in numbers run together, without the interpreter and its lock.

    >>> import kreisel as kr
    >>> tops = [kr.models.extended_top("SO3", stiffness=k, damping=1.0) for k in (10.0, 100.0)]
    >>> [f["status"] for f in simulate_each(tops, [1.0, 1.0], [0.01, 0.02], kr.GeneralizedAlpha())]
    ['REACHED_END', 'REACHED_END']
    """
    newton = Newton() if newton is None else newton
    out: list[Any] = [None] * len(systems)
    groups: dict[Prepared, list[tuple[int, Layout, Array, Array]]] = {}
    with SYMBOLS:
        made: dict[int, tuple[Prepared, Layout]] = {}
        grids: dict[tuple[float, float], tuple[Array, Array]] = {}
        for i, (system, t_end, h) in enumerate(zip(systems, until, step, strict=True)):
            try:
                if id(system) not in made:
                    if not together(system, method, newton):
                        out[i] = figures(simulate(system, t_end, h, method, newton=newton))
                        continue
                    check(system, method)
                    prepared = prepare(system, method, newton.start)
                    made[id(system)] = prepared, Layout(system, method)
                if (t_end, h) not in grids:
                    grids[t_end, h] = substeps_of(method, *steps_of(t_end, h))
                prepared, layout = made[id(system)]
                groups.setdefault(prepared, []).append((i, layout, *grids[t_end, h]))
            except ValueError as error:
                out[i] = error
        for prepared in groups:
            prepared.warm()
    for prepared, runs in groups.items():
        for i, answer in zip((i for i, *_ in runs), _run(prepared, [r[1:] for r in runs], newton), strict=True):
            out[i] = answer
    return out


def together(system: System, method: Method, newton: Newton) -> bool:
    """Whether such runs can go together: compiled from beginning to end, with velocities that are there after each step."""
    return not (system.black_boxes or newton.halvings or type(method).velocities is not Method.velocities)


def _run(prepared: Prepared, runs: list[tuple[Layout, Array, Array]], newton: Newton) -> list[Figures | Exception]:
    layouts = [layout for layout, *_ in runs]
    S, errors = start(prepared, layouts, [float(hs[0]) for _, hs, _ in runs])
    answers: list[Any] = [errors.get(i) for i in range(len(runs))]
    good = [i for i in range(len(runs)) if i not in errors]
    if not good:
        return answers
    hs, ts = [runs[i][1] for i in good], [runs[i][2] for i in good]
    records, done, codes, stats, ends_of = _steps(prepared, layouts, S[good], good, hs, ts, newton)
    stride = len(prepared.method.substeps())
    lengths = 1 + done // stride
    firsts = np.cumsum([0, *(len(h) + 1 for h in hs[:-1])])
    # The rows of the times that were reached, one run after the other.
    ends = np.cumsum(lengths)
    begins = ends - lengths
    rows = np.repeat(firsts - stride * begins, lengths) + stride * np.arange(ends[-1])
    seen = records if len(rows) == len(records) else records[rows]
    E = prepared.monitors.total("kinetic", seen)[:, 0] + prepared.monitors.total("potential", seen)[:, 0]
    rise = np.append(np.diff(E), -np.inf)
    rise[ends - 1] = -np.inf
    columns = zip(
        good,
        codes.tolist(),
        done.tolist(),
        seen[ends - 1, T].tolist(),
        stats[:, [driver.STEPS, driver.ITERATIONS]].tolist(),
        E[begins].tolist(),
        E[ends - 1].tolist(),
        np.maximum.reduceat(E, begins).tolist(),
        np.maximum.reduceat(rise, begins).tolist(),
        strict=True,
    )
    for k, (i, code, reached, t_end, (steps, iterations), *energies) in enumerate(columns):
        status, culprit = ends_of.get(k, (Status.REACHED_END, ""))
        message = f"{status.value}{culprit}"
        if code != driver.DONE:
            message += f", in the step from t = {runs[i][2][reached]:.9g} with h = {runs[i][1][reached]:.6g}"
        answers[i] = {"status": status.name, "message": message, "t_end": t_end, "steps": steps, "newton_iterations": iterations}
        answers[i].update(zip(_ENERGIES, energies, strict=True))
    return answers


def _steps(
    prepared: Prepared, layouts: list[Layout], S: Array, numbers: list[int], hs: list[Array], ts: list[Array], newton: Newton
) -> tuple[Array, Any, Any, Any, dict[int, tuple[Status, str]]]:
    """All steps of some runs, ``numbers`` of their layouts. -> states at all times, of all runs one after the other; steps done, codes of
    the driver, counts, and why runs ended early."""
    reasons: dict[int, tuple[Status, str]] = {}
    # The parameters are recorded, too: energies depend on them.
    n, count = prepared.layout.size, len(S)
    S[:, 2] = 0
    stats, codes = np.zeros((count, 8), dtype=np.int64), np.zeros(count, dtype=np.int64)
    lengths = np.array([len(h) for h in hs])
    firsts = np.cumsum([0, *(lengths[:-1] + 1)])
    records = np.empty((int(lengths.sum()) + count, n))
    records[firsts] = S[:, :n]
    done = np.zeros(count, dtype=np.int64)
    parts: list[tuple[Program, slice]] = [(prepared.main, slice(0, None))]
    if prepared.opening:
        parts = [(prepared.opening, slice(0, 1)), (prepared.main, slice(1, None))]
    for program, part in parts:
        going = [i for i in range(count) if codes[i] == driver.DONE and len(hs[i]) > part.start]
        if not going:
            break
        steps = [hs[i][part] for i in going]
        times = [ts[i][part.start : part.start + len(h) + 1] for i, h in zip(going, steps, strict=True)]
        starts = np.cumsum([0, *map(len, steps)])
        whole = len(parts) == 1
        rows = records if whole else np.empty((starts[-1] + len(going), n))
        states, counts = S[going], stats[going]
        tolerances, options = program.tolerances(newton.atol, newton.rtol), newton.options()
        ends, failures = program.run_each(states, starts, np.concatenate(steps), np.concatenate(times), tolerances, options, counts, rows)
        made = np.where(ends == driver.DONE, np.diff(starts), failures[:, 0])
        for k, i in enumerate(going if not whole else ()):
            to, of = firsts[i] + part.start + 1, starts[k] + k + 1
            records[to : to + made[k]] = rows[of : of + made[k]]
        for k in np.flatnonzero(ends != driver.DONE).tolist():
            i = going[k]
            reasons[i] = explain(program, layouts[numbers[i]], failures[k], int(ends[k]), states[k])
        S[going], stats[going], codes[going] = states, counts, ends
        done[going] += made
    return records, done, codes, stats, reasons
