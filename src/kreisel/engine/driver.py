"""The generic driver: time steps of any method on any system, at the speed of machine code.

It knows neither model nor method. One flat vector S holds the step h, the time t, a count of iterations, the states, the parameters and
the unknowns; every operation (first guess, residual, matrix, update) is a row of a table: gather numbers from S by index, call a kernel
by address, scatter the results by index into S, the residual or the matrix. The tables are built and checked once
(:mod:`kreisel.simulation.program`).

Indices into the tables are named below; all tables are int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kreisel.engine import linear
from kreisel.engine.native import call, compiled, run

# Columns of the table of operations.
ADDRESS, BLOCKS, N_IN, GATHER, N_FIRST, SCATTER_FIRST, N_SECOND, SCATTER_SECOND, TO_STATE = range(9)
OPERATION_COLUMNS = 9

# Columns of the table of stages. Operations of a stage: GUESS to CONSTANT_ROWS make the first guess, from there to RESIDUAL the rows free
# of unknowns, to MATRIX the other rows, to UPDATE rows and matrix together, to END the update.
UNKNOWNS, FIRST_UNKNOWN, IS_LINEAR, IS_CONSTANT, GUESS, CONSTANT_ROWS, RESIDUAL, MATRIX, UPDATE, END = range(10)
# GUARD to GUARD_END: places in S that the update must leave positive; else the stage went where its method makes no sense.
GUARD, GUARD_END, META, TABLES, TABLES_END, VALUES, VALUES_END, WORK, WORK_END, PIVOTS, PIVOTS_END = range(10, 21)
STAGE_COLUMNS = 21

# Options of Newton's method (float64).
MODE, MAX_ITERATIONS, USE_RMS, SLOW, INEXACT, FLOOR, STALL = range(7)
EXACT, SIMPLIFIED, FROZEN = range(3)

#: An increment that no longer shrinks may be this many times larger and still count as rounding, if the residual has become so much
#: smaller than that of the first guess.
LARGER, DROP = 100.0, 1e-5

# How a run ends.
DONE, SINGULAR, NOT_FINITE, NOT_CONVERGED, CROSSING, NO_ROOM, TOO_FAR = range(7)

# Columns of the table of looks: functions of the states on record. So many states at a time.
MAP, INPUTS, INSTANCES, SOURCES = range(4)
LOOK_ROWS = 64

# Counters.
STEPS, ITERATIONS, FACTORISATIONS, REFRESHES = range(4)


@compiled
def apply(ops: Any, start: int, end: int, S: Any, gather: Any, scatter: Any, x: Any, y: Any, first: Any, second: Any, add: bool) -> None:
    """The operations start to end: results to ``first`` and ``second``, added or assigned; or, where the table says so, to S."""
    source, target = x.ctypes.data, y.ctypes.data
    for k in range(start, end):
        address, n_in, n1, n2 = ops[k, ADDRESS], ops[k, N_IN], ops[k, N_FIRST], ops[k, N_SECOND]
        g, s1, s2 = ops[k, GATHER], ops[k, SCATTER_FIRST], ops[k, SCATTER_SECOND]
        for _ in range(ops[k, BLOCKS]):
            take = gather[g : g + n_in]
            for c in range(take.size):
                x[c] = S[take[c]]
            run(address, source, target)
            give = scatter[s1 : s1 + n1]
            if ops[k, TO_STATE]:
                for c in range(give.size):
                    S[give[c]] = y[c]
            elif add:
                for c in range(give.size):
                    first[give[c]] += y[c]
                if n2:
                    give = scatter[s2 : s2 + n2]
                    z = y[n1 : n1 + n2]
                    for c in range(give.size):
                        second[give[c]] += z[c]
            else:
                for c in range(give.size):
                    first[give[c]] = y[c]
            g += n_in
            s1 += n1
            s2 += n2


@compiled
def drive(
    begin: int,
    end: int,
    hs: Any,
    ts: Any,
    S: Any,
    n_state: int,
    ops: Any,
    gather: Any,
    scatter: Any,
    stages: Any,
    metas: Any,
    tables: Any,
    values: Any,
    work: Any,
    pivots: Any,
    tolerances: Any,
    options: Any,
    have: Any,
    buffers: Any,
    every: int,
    records: Any,
    watch: Any,
    stats: Any,
    failure: Any,
    input_places: Any,
    inputs: Any,
) -> int:
    """Steps begin to end of the sequence (hs, ts). -> how it ended; on failure S holds the last good state, ``failure`` step, stage,
    column.

    ``tolerances``: rows atol, rtol per unknown. ``have``: per stage, whether ``work`` holds a factorisation. ``watch``: operations first
    to last that evaluate event functions, first place of their values in S, and their number; the run stops after a step in which one
    changes its sign. ``inputs``: values of the controls per step, for the given places in S.
    """
    mode, max_iterations, rms, slow = int(options[MODE]), int(options[MAX_ITERATIONS]), options[USE_RMS] > 0, options[SLOW]
    inexact, floor, stall = options[INEXACT] > 0, options[FLOOR], options[STALL]
    x, y, r, r0, backup = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    old_signs = buffers[5]
    events, first_event = watch[3], watch[2]
    for step in range(begin, end):
        h = hs[step]
        S[0], S[1] = h, ts[step]
        for i in range(n_state):
            backup[i] = S[i]
        for i in range(input_places.size):
            S[input_places[i]] = inputs[step, i]
        S[2] = 0.0  # counts the iterations of the step
        if events:
            apply(ops, watch[0], watch[1], S, gather, scatter, x, y, S, S, False)
            for i in range(events):
                old_signs[i] = S[first_event + i]
        for s in range(stages.shape[0]):
            st = stages[s]
            n, x0, is_linear, constant = st[UNKNOWNS], st[FIRST_UNKNOWN], st[IS_LINEAR] > 0, st[IS_CONSTANT] > 0
            meta = metas[st[META]]
            tab = tables[st[TABLES] : st[TABLES_END]]
            A = values[st[VALUES] : st[VALUES_END]]
            W = work[st[WORK] : st[WORK_END]]
            piv = pivots[st[PIVOTS] : st[PIVOTS_END]]
            atol, rtol = tolerances[0, s], tolerances[1, s]
            apply(ops, st[GUESS], st[CONSTANT_ROWS], S, gather, scatter, x, y, S, S, False)
            for i in range(n + 1):
                r0[i] = 0.0
            apply(ops, st[CONSTANT_ROWS], st[RESIDUAL], S, gather, scatter, x, y, r0, r0, True)
            refresh = have[s] == 0 or (mode != FROZEN and not constant)
            old, converged, code, stalls = -1.0, False, NOT_CONVERGED, 0
            size, first = 0.0, 0.0
            for iteration in range(max_iterations):
                S[2] += 1.0
                for i in range(n + 1):
                    r[i] = r0[i]
                fresh = refresh
                if fresh:
                    for i in range(A.size):
                        A[i] = 0.0
                    apply(ops, st[MATRIX], st[UPDATE], S, gather, scatter, x, y, r, A, True)
                    if iteration == 0 or stalls > 0:
                        size = 0.0
                        for i in range(n):
                            size = max(size, abs(r[i]))
                        if iteration == 0:
                            first = size
                    bad = linear.factor_solve(meta, tab, A, W, piv, r)
                    if bad != 0:
                        have[s] = 0
                        failure[2] = bad
                        # What is singular only after an iteration is an iterate gone astray.
                        code = (
                            (SINGULAR if iteration == 0 else NOT_CONVERGED)
                            if bad > 0
                            else NOT_FINITE
                            if bad == linear.NOT_FINITE
                            else NO_ROOM
                        )
                        break
                    have[s] = 1
                    stats[FACTORISATIONS] += 1
                    refresh = mode == EXACT and not constant
                else:
                    apply(ops, st[RESIDUAL], st[MATRIX], S, gather, scatter, x, y, r, r, True)
                    linear.solve(meta, tab, A, W, piv, r)
                e = 0.0
                if rms:
                    for i in range(n):
                        z = S[x0 + i] - r[i]
                        S[x0 + i] = z
                        d = r[i] / (atol[i] + rtol[i] * abs(z))
                        e += d * d
                    e = np.sqrt(e / n)
                else:
                    bad_number = 0.0
                    for i in range(n):
                        z = S[x0 + i] - r[i]
                        S[x0 + i] = z
                        d = abs(r[i]) / (atol[i] + rtol[i] * abs(z))
                        bad_number += d * 0.0
                        e = max(e, d)
                    e += bad_number
                stats[ITERATIONS] += 1
                if not e < 1e300:
                    code = NOT_FINITE
                    if mode == FROZEN and not fresh:
                        # A stale matrix may have thrown the iterate away; try once with a fresh one.
                        apply(ops, st[GUESS], st[CONSTANT_ROWS], S, gather, scatter, x, y, S, S, False)
                        refresh, old = True, -1.0
                        stats[REFRESHES] += 1
                        continue
                    break
                if e <= 1.0 or (is_linear and not inexact and (fresh or constant)):
                    converged = True
                    break
                if old > 0.0:
                    rate = e / old
                    # What is left after this increment: quadratic with an exact matrix, linear with a kept one.
                    left = e * rate * rate if fresh and not inexact else e * rate / max(1.0 - rate, 1e-3)
                    # An exact matrix converges quadratically: what no longer shrinks, twice, is rounding, if it is small; or rather
                    # small and the residual gone: close to a position where constraints become dependent, multipliers are known to a few
                    # digits only, however well they do what they are for. A kept matrix may just be slow and does not count.
                    if rate <= 0.5:
                        stalls = 0
                    elif fresh and not inexact:
                        stalls += 1
                    rounding = e < floor or (stalls > 1 and (e < stall or (e < LARGER * stall and size < DROP * first)))
                    if (rate < 0.9 and left <= 1.0) or (rate > 0.5 and rounding and iteration > 1):
                        converged = True
                        break
                    if not fresh and rate > slow and e > floor and mode == FROZEN:
                        refresh = True
                        stats[REFRESHES] += 1
                old = e
            if converged or st[GUARD] < st[GUARD_END]:
                apply(ops, st[UPDATE], st[END], S, gather, scatter, x, y, S, S, False)
                # A stage that fails out there fails because it is there.
                for i in range(st[GUARD], st[GUARD_END]):
                    if S[i] <= 0.0:
                        converged, code, failure[2] = False, TOO_FAR, i - st[GUARD]
                        break
            if not converged:
                for i in range(n_state):
                    S[i] = backup[i]
                failure[0], failure[1] = step, s
                have[s] = 0
                return code
        stats[STEPS] += 1
        S[0], S[1] = h, ts[step + 1]
        if every and (step + 1) % every == 0:
            row = records[(step + 1) // every]
            for i in range(row.size):
                row[i] = S[i]
        if events:
            apply(ops, watch[0], watch[1], S, gather, scatter, x, y, S, S, False)
            for i in range(events):
                if old_signs[i] * S[first_event + i] < 0.0 or (S[first_event + i] == 0.0 and old_signs[i] != 0.0):
                    failure[0], failure[1] = step, i
                    return CROSSING
    return DONE


@compiled
def look(
    looks: Any, sources: Any, records: Any, begin: int, end: int, S: Any, n_state: int, rows: int, first: int, seen: Any, x: Any
) -> None:
    """Evaluates the functions of a table of looks at the recorded states begin to end of a run, whose values begin at row ``first``.

    The functions are maps (:meth:`kreisel.symbolic.ArrayFunction.address`) with one result per instance, which take states from the
    records and parameters from S. In ``seen`` the values of one function after the other have ``rows`` rows each.
    """
    ports, strides = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    at = 0
    for k in range(looks.shape[0]):
        n_in, instances, take = looks[k, INPUTS], looks[k, INSTANCES], sources[looks[k, SOURCES] :]
        strides[0] = n_in
        ports[0] = x.ctypes.data
        for a in range(begin, end, LOOK_ROWS):
            b = min(a + LOOK_ROWS, end)
            c = 0
            for row in range(a, b):
                state = records[row]
                for j in range(n_in * instances):
                    x[c] = state[take[j]] if take[j] < n_state else S[take[j]]
                    c += 1
            ports[1] = seen.ctypes.data + 8 * (at + (first + a) * instances)
            call(looks[k, MAP], ((b - a) * instances, ports.ctypes.data, strides.ctypes.data))
        at += rows * instances


@compiled
def drive_each(
    first: int,
    begin: int,
    end: int,
    starts: Any,
    hs: Any,
    ts: Any,
    S: Any,
    n_state: int,
    ops: Any,
    gather: Any,
    scatter: Any,
    stages: Any,
    metas: Any,
    tables: Any,
    values: Any,
    work: Any,
    pivots: Any,
    tolerances: Any,
    options: Any,
    have: Any,
    buffers: Any,
    every: int,
    records: Any,
    looks: Any,
    sources: Any,
    rows: Any,
    seen: Any,
    x: Any,
    watch: Any,
    stats: Any,
    failures: Any,
    codes: Any,
) -> int:
    """Runs ``first`` to the last, one after the other. Run i has the steps starts[i] to starts[i + 1] of hs, and times at starts[i] + i and
    following; it takes those from ``begin`` on that are before ``end``, from S[i], unless it has failed before. -> the number of runs, or
    of the one that a factorisation has no room for, which is to go on from ``failures`` on.

    With ``every`` > 0, ``looks`` are evaluated before the first step taken and after every k-th, with values from rows[i] on; see
    :func:`look`. ``records`` is room for the states of one run.
    """
    no_places, no_inputs = np.zeros(0, dtype=np.int64), np.zeros((0, 0))  # no controls: their values are parameters
    for i in range(first, codes.size):
        a, b = starts[i], starts[i + 1]
        last = min(end, b - a)
        # A run that is taken up again goes on from where it was.
        again = codes[i] == NO_ROOM
        if (codes[i] != DONE and not again) or last <= begin:
            continue
        have[:] = 0
        if every and not again:
            for c in range(n_state):
                records[begin // every, c] = S[i, c]
        codes[i] = drive(
            failures[i, 0] if again else begin, last, hs[a:b], ts[a + i : b + i + 1], S[i], n_state, ops, gather, scatter, stages, metas,
            tables, values, work, pivots, tolerances, options, have, buffers, every, records, watch, stats[i], failures[i],
            no_places, no_inputs,
        )  # fmt: skip
        if codes[i] == NO_ROOM:
            return i
        if every:
            done = last if codes[i] == DONE else failures[i, 0]
            look(looks, sources, records, begin // every, done // every + 1, S[i], n_state, rows[codes.size], rows[i], seen, x)
    return int(codes.size)
