r"""LU factorisation of sparse matrices: dense fronts along a tree.

Trees, rings and nets are eliminated front by front (the multifrontal method; I. Duff, J. Reid, ACM TOMS 9 (1983)).
A front is the dense matrix of the unknowns eliminated together and of those which this changes,

.. math::
    F = \begin{pmatrix} F_{11} & F_{12} \\ F_{21} & F_{22} \end{pmatrix}
      = \begin{pmatrix} L_1 & \\ L_2 & I \end{pmatrix} \begin{pmatrix} D & \\ & S \end{pmatrix}
        \begin{pmatrix} U_1 & U_2 \\ & I \end{pmatrix},

summed up from entries of the matrix and the S of its children in the tree. Which fronts there are is decided once
(:func:`kreisel.engine.ordering.fronts`); pivots are chosen anew every time, so a factorisation does not depend on those before it.

A pivot is taken from the rows eliminated in the same front. It must not be small beside the other entries of its
column (``PIVOT``); if there is none, the column is *delayed*: it stays in S and is eliminated in the parent,
where there are more rows to choose from. Fronts grow with that, and with them the need for room. Delays are an exception: multipliers share
a front with a node they act on.

Fronts of the planned size are left to routines compiled for it. The others, among them all those which columns were
delayed to or must be delayed from, are treated by the general loops of this file, which keep to the same rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import carray

from kreisel.engine import dense, native
from kreisel.engine.dense import DELAY, NOT_FINITE, PIVOT, SINGULAR, padded
from kreisel.engine.native import compiled
from kreisel.engine.ordering import Front, Graph, Integers, Reals, Storage
from kreisel.symbolic import machine

#: The arrays ``work`` and ``piv`` are too short for the delayed columns. The caller may go on with longer ones.
NO_ROOM = -2

# In meta, after the kind of solver: number of unknowns, of fronts, and where the fronts start in work.
UNKNOWNS, FRONTS, FIRST = 1, 2, 3

# In tables: for each place in the order of elimination the unknown that has it; then a record per front; then lists.
# A record: number of unknowns eliminated and of those updated; where their places are listed, the former first and
# one after the other; where its entries start in A; number of children; where these are listed, as pairs of a number
# and the place of the list that says where the unknowns they update stand in this front; addresses of routines or 0.
FIELDS = 9
OWN, BORDER, PLACES, VALUES, CHILDREN, CHILD, FRONT, FORWARD, BACKWARD = range(FIELDS)

# In work, with n rounded up to whole vectors: the scaling of the rows (n), the largest entries of the columns of U (8 for each,
# to be had without adding up a vector), a buffer (n), room to sum up what children hand on, then front after front.
# In piv: a record per front, then their lists. A record: where the front starts in work; how many unknowns were
# eliminated; how many could have been; where its lists start; whether it was eliminated by the routine compiled
# for it, so that those for solving apply. What a front and its lists contain is said in kreisel.engine.dense.
FACTS = 5
START, DONE, CANDIDATES, LISTS, PLAIN = range(FACTS)


@compiled
def _rows(meta: Integers, tables: Integers, A: Reals, work: Reals) -> bool:
    """Scaling of the rows, into the first of work; whether the matrix is finite."""
    n, scratch = meta[UNKNOWNS], work.ctypes.data
    vectors = (n + 7) // 8
    buffer = 72 * vectors
    native.clear(scratch, vectors)
    for front in range(n, n + meta[FRONTS] * FIELDS, FIELDS):
        p, b, places = tables[front + OWN], tables[front + BORDER], tables[front + PLACES]
        long, short, values = (p + b + 7) // 8, (p + 7) // 8, A.ctypes.data + 8 * tables[front + VALUES]
        native.clear(scratch + 8 * buffer, long)
        native.largest(scratch + 8 * buffer, values, 64 * long, long, p)
        native.largest(scratch + 8 * buffer, values + 64 * long * p, 64 * short, short, b)
        for i in range(p + b):
            row, value = tables[places + i], work[buffer + i]
            # What is not a number is larger than everything: it takes the place, and keeps it.
            if work[row] == work[row] and not value <= work[row]:
                work[row] = value
    return bool(native.reciprocal_powers(scratch, scratch, vectors))


@compiled
def _assemble(n: int, tables: Integers, front: int, work: Reals, piv: Integers, target: int, length: int) -> None:
    """Adds what the children hand on, if none of them delayed a column."""
    scratch, first = work.ctypes.data, tables[front + CHILD]
    for c in range(first, first + 2 * tables[front + CHILDREN], 2):
        child, handed = FACTS * tables[c], tables[n + FIELDS * tables[c] + BORDER]
        done = piv[child + DONE]
        width = (done + handed + 7) // 8 * 8
        source = piv[child + START] + done * width + done
        places = tables.ctypes.data + 8 * tables[c + 1]
        native.assemble(scratch + 8 * target, 8 * length, scratch + 8 * source, 8 * width, places, handed)


@compiled
def _place(tables: Integers, places: int, i: int, late: int, taken: int, p: int, delayed: int) -> int:
    """Where row i of what a child hands on stands in a front with delayed columns."""
    if i < late:
        return taken + i
    place = tables[places + i - late]
    return int(place if place < p else place + delayed)


@compiled
def _set_up(n: int, tables: Integers, front: int, A: Reals, work: Reals, piv: Integers, fact: int, delayed: int) -> None:
    """Sums up a front of any size from the matrix and from its children, and fills in its lists."""
    p, b, places, values = tables[front + OWN], tables[front + BORDER], tables[front + PLACES], tables[front + VALUES]
    F, lists = piv[fact + START], piv[fact + LISTS]
    fs, m = p + delayed, p + delayed + b
    length, long, short = (m + 7) // 8 * 8, (p + b + 7) // 8 * 8, (p + 7) // 8 * 8
    scratch = work.ctypes.data
    native.clear(scratch + 8 * F, m * length // 8)
    if delayed == 0:
        # The usual case, with whole vectors.
        buffer, entries = (n + 7) // 8 * 72, A.ctypes.data + 8 * values
        native.clear(scratch + 8 * (buffer + m // 8 * 8), (m + 7) // 8 - m // 8)
        for i in range(m):
            row = tables[places + i]
            piv[lists + i] = row
            piv[lists + m + i] = row
            work[buffer + i] = work[row]
        native.scale(scratch + 8 * F, 8 * length, entries, 8 * long, scratch + 8 * buffer, length // 8, p)
        native.scale(scratch + 8 * (F + p * length), 8 * length, entries + 8 * p * long, 8 * short, scratch + 8 * buffer, short // 8, b)
        _assemble(n, tables, front, work, piv, F, length)
        return
    for i in range(p + b):
        row = tables[places + i]
        to = i if i < p else i + delayed
        piv[lists + to] = row
        piv[lists + m + to] = row
        for j in range(p):
            work[F + j * length + to] = A[values + j * long + i] * work[row]
        if i < p:
            for j in range(b):
                work[F + (fs + j) * length + i] = A[values + p * long + j * short + i] * work[row]
    taken, first = p, tables[front + CHILD]
    for c in range(first, first + 2 * tables[front + CHILDREN], 2):
        child, places = FACTS * tables[c], tables[c + 1]
        done, late = piv[child + DONE], piv[child + CANDIDATES] - piv[child + DONE]
        size = piv[child + CANDIDATES] + tables[n + FIELDS * tables[c] + BORDER]
        width = (size + 7) // 8 * 8
        for i in range(late):
            owner = piv[piv[child + LISTS] + size + done + i]
            piv[lists + taken + i] = owner
            piv[lists + m + taken + i] = owner
        for j in range(size - done):
            source = piv[child + START] + (done + j) * width + done
            target = F + _place(tables, places, j, late, taken, p, delayed) * length
            for i in range(size - done):
                work[target + _place(tables, places, i, late, taken, p, delayed)] += work[source + i]
        taken += late


@compiled
def _swap_rows(work: Reals, F: int, length: int, m: int, piv: Integers, lists: int, i: int, k: int) -> None:
    for j in range(F, F + m * length, length):
        work[j + i], work[j + k] = work[j + k], work[j + i]
    piv[lists + i], piv[lists + k] = piv[lists + k], piv[lists + i]


@compiled
def _swap_columns(work: Reals, F: int, length: int, piv: Integers, owners: int, j: int, k: int) -> None:
    for i in range(F, F + length):
        work[i + j * length], work[i + k * length] = work[i + k * length], work[i + j * length]
    piv[owners + j], piv[owners + k] = piv[owners + k], piv[owners + j]


@compiled
def _eliminate(work: Reals, F: int, fs: int, m: int, piv: Integers, lists: int, largest: int) -> int:
    """Eliminates what it can of the first fs unknowns of a front: how many, or -1 - place of a dependent column."""
    address, length, short = work.ctypes.data, (m + 7) // 8 * 8, (fs + 7) // 8 * 8
    triangle = F + m * length
    inverse = triangle + fs * short
    k, end, progress = 0, fs, False
    while True:
        if k == end:
            # Columns put off behind the others are tried again after these, as long as that helps.
            if end == fs or not progress:
                break
            end, progress = fs, False
        column, owner = F + k * length, piv[lists + m + k]
        place, known = address + 8 * column, address + 8 * (largest + 8 * owner)
        diagonal = abs(work[column + k])
        if not (
            native.exceeds(place, k, diagonal, SINGULAR, PIVOT, length // 8) and native.exceeds(known, 8, diagonal, SINGULAR, PIVOT, 1)
        ):
            at, best, rest, above = k, diagonal, 0.0, 0.0
            for i in range(k):
                above = max(above, abs(work[column + i]))
            for i in range(8):
                above = max(above, work[largest + 8 * owner + i])
            for i in range(k + 1, fs):
                if abs(work[column + i]) > best:
                    at, best = i, abs(work[column + i])
            for i in range(fs, m):
                rest = max(rest, abs(work[column + i]))
            if not (best > SINGULAR * above or rest > SINGULAR * above):
                return -1 - int(owner)
            if not (best > SINGULAR * above and best > DELAY * rest):
                end -= 1
                _swap_columns(work, F, length, piv, lists + m, k, end)
                _swap_rows(work, F, length, m, piv, lists, k, end)
                continue
            if not (diagonal > PIVOT * best and diagonal > DELAY * rest and diagonal > SINGULAR * above):
                _swap_rows(work, F, length, m, piv, lists, k, at)
        reciprocal = 1.0 / work[column + k]
        for i in range(k):
            work[triangle + k * short + i] = work[column + i] * work[inverse + i]
            work[column + i] = 0.0
        for i in range(k, short):
            work[triangle + k * short + i] = 0.0
        work[inverse + k] = reciprocal
        work[column + k] = 0.0
        for i in range(k + 1, m):
            work[column + i] *= reciprocal
        first = (k + 1) // 8
        others, row = place + 8 * length + 64 * first, place + 8 * (length + k)
        native.eliminate(others, 8 * length, m - k - 1, row, place + 64 * first, length // 8 - first)
        k += 1
        progress = True
    for j in range(k, m):
        column, owner = F + j * length, largest + 8 * piv[lists + m + j]
        for i in range(k):
            work[owner] = max(work[owner], abs(work[column + i]))
            work[column + i] *= work[inverse + i]
    return k


@compiled
def _forward(n: int, tables: Integers, front: int, work: Reals, piv: Integers, fact: int, b: Reals) -> None:
    F, lists, done, scratch = piv[fact + START], piv[fact + LISTS], piv[fact + DONE], work.ctypes.data
    if piv[fact + PLAIN]:
        native.call(tables[front + FORWARD], (scratch + 8 * F, piv.ctypes.data + 8 * lists, b.ctypes.data))
        return
    m, buffer = piv[fact + CANDIDATES] + tables[front + BORDER], (n + 7) // 8 * 72
    vectors = (m + 7) // 8
    for i in range(m):
        work[buffer + i] = b[piv[lists + i]]
    for k in range(done):
        first = (k + 1) // 8
        column = scratch + 64 * (k * vectors + first) + 8 * F
        native.subtract(scratch + 8 * buffer + 64 * first, column, work[buffer + k], vectors - first)
    for i in range(m):
        b[piv[lists + m + i]] = work[buffer + i]


@compiled
def _backward(n: int, tables: Integers, front: int, work: Reals, piv: Integers, fact: int, b: Reals) -> None:
    F, lists, done, scratch = piv[fact + START], piv[fact + LISTS], piv[fact + DONE], work.ctypes.data
    if piv[fact + PLAIN]:
        native.call(tables[front + BACKWARD], (scratch + 8 * F, piv.ctypes.data + 8 * lists, b.ctypes.data))
        return
    fs = piv[fact + CANDIDATES]
    m, buffer = fs + tables[front + BORDER], (n + 7) // 8 * 72
    long, short = (m + 7) // 8, (fs + 7) // 8
    owners, triangle = lists + m, F + 8 * m * long
    for i in range(done):
        work[buffer + i] = b[piv[owners + i]] * work[triangle + 8 * fs * short + i]
    for j in range(done, m):
        native.subtract(scratch + 8 * buffer, scratch + 8 * F + 64 * j * long, b[piv[owners + j]], (done + 7) // 8)
    for k in range(done - 1, 0, -1):
        native.subtract(scratch + 8 * buffer, scratch + 8 * triangle + 64 * k * short, work[buffer + k], (k + 7) // 8)
    for i in range(done):
        b[piv[owners + i]] = work[buffer + i]


@compiled
def factor(meta: Integers, tables: Integers, A: Reals, work: Reals, piv: Integers, b: Reals, eliminate: bool) -> int:
    """Factorises; with ``eliminate`` it also does the first half of solving for b."""
    if not _rows(meta, tables, A, work):
        return NOT_FINITE
    n, fronts, start, lists = meta[UNKNOWNS], meta[FRONTS], meta[FIRST], FACTS * meta[FRONTS]
    vectors = (n + 7) // 8
    scratch, largest, handed = work.ctypes.data, 8 * vectors, 80 * vectors
    native.clear(scratch + 8 * largest, n)
    if eliminate:
        for i in range(n):
            b[i] *= work[i]
    for f in range(fronts):
        front, fact = n + f * FIELDS, f * FACTS
        first, children, delayed = tables[front + CHILD], tables[front + CHILDREN], 0
        for c in range(first, first + 2 * children, 2):
            child = FACTS * tables[c]
            delayed += piv[child + CANDIDATES] - piv[child + DONE]
        fs = tables[front + OWN] + delayed
        m = fs + tables[front + BORDER]
        length = (m + 7) // 8 * 8
        size = m * length + (fs + 1) * ((fs + 7) // 8 * 8)
        if start + size > work.size or lists + 2 * m > piv.size:
            return NO_ROOM
        piv[fact + START], piv[fact + LISTS], piv[fact + CANDIDATES] = start, lists, fs
        routine, done, plain = tables[front + FRONT], fs, False
        if routine != 0 and delayed == 0:
            if children > 0:
                native.clear(scratch + 8 * handed, m * length // 8)
                _assemble(n, tables, front, work, piv, handed, length)
            values, places = A.ctypes.data + 8 * tables[front + VALUES], tables.ctypes.data + 8 * tables[front + PLACES]
            into = (scratch + 8 * handed, scratch + 8 * start, piv.ctypes.data + 8 * lists, scratch + 8 * largest)
            plain = native.call(routine, (values, places, scratch, *into)) == 0
        if not plain:
            _set_up(n, tables, front, A, work, piv, fact, delayed)
            done = _eliminate(work, start, fs, m, piv, lists, largest)
            if done < 0:
                return 1 + int(tables[-1 - done])
            if done < fs and m == fs:
                return 1 + int(tables[piv[lists + m + done]])
        piv[fact + DONE], piv[fact + PLAIN] = done, plain
        if eliminate:
            _forward(n, tables, front, work, piv, fact, b)
        start += size
        lists += 2 * m
    return 0


@compiled
def solve(meta: Integers, tables: Integers, work: Reals, piv: Integers, b: Reals, eliminated: bool) -> None:
    """Solves in place; if b was ``eliminated`` during factorisation, only the second half."""
    n, fronts = meta[UNKNOWNS], meta[FRONTS]
    if not eliminated:
        for i in range(n):
            b[i] *= work[i]
        for f in range(fronts):
            _forward(n, tables, n + f * FIELDS, work, piv, f * FACTS, b)
    for f in range(fronts - 1, -1, -1):
        _backward(n, tables, n + f * FIELDS, work, piv, f * FACTS, b)


#: The largest fronts that routines are compiled for, the share of the cost that makes it worth while (compiling takes up to a second,
#: once), and how much longer the general loops take.
LARGEST_OWN, LARGEST, SHARE, GENERAL = 16, 40, 0.04, 3.5


def flops(own: int, border: int) -> int:
    """Multiplications and additions to eliminate a front."""
    return sum(2 * k * k for k in range(border, own + border))


def cost(own: int, border: int) -> float:
    """Nanoseconds that a front takes, roughly: a charge for each front, pivot and column, and the arithmetic, as measured."""
    fast = 40 + 8 * own + 4 * border + 0.5 * border**2 + flops(own, border) / 20
    return fast if machine.available() and own <= LARGEST_OWN and own + border <= LARGEST else GENERAL * fast


def plan(g: Graph, tree: Sequence[Front], origin: Integers, place: Integers, rows: Integers, cols: Integers) -> Storage:
    """Storage of a matrix with entries at (rows, cols) and a tree of fronts, which take up the given places one after the other."""
    n = len(place)
    sizes = [(g.size(f.own), g.size(f.border)) for f in tree]
    starts = np.cumsum([0] + [p for p, _ in sizes])
    near = [np.sort(np.concatenate([place[g.members[b]] for b in f.border] or [np.zeros(0, dtype=np.int64)])) for f in tree]
    lengths = [p * padded(p + b) + b * padded(p) for p, b in sizes]
    values = np.cumsum([0, *lengths])

    number = {id(f): i for i, f in enumerate(tree)}
    routines = _routines([(p, b, not f.children) for f, (p, b) in zip(tree, sizes, strict=True)])
    records = np.zeros((len(tree), FIELDS), dtype=np.int64)
    lists: list[Integers] = []
    end = n + records.size

    def listed(numbers: Integers) -> int:
        nonlocal end
        lists.append(numbers)
        end += len(numbers)
        return end - len(numbers)

    for i, (f, (p, b)) in enumerate(zip(tree, sizes, strict=True)):
        pairs = []
        for child in map(number.__getitem__, map(id, f.children)):
            inside = np.where(near[child] < starts[i + 1], near[child] - starts[i], p + np.searchsorted(near[i], near[child]))
            pairs += [child, listed(inside)]
        places = listed(np.concatenate([np.arange(starts[i], starts[i + 1]), near[i]]))
        children = listed(np.array(pairs, dtype=np.int64))
        records[i] = [p, b, places, values[i], len(f.children), children, *routines[i]]

    # An entry belongs to the front in which the first of its two unknowns is eliminated.
    front_of = np.repeat(np.arange(len(tree)), np.diff(starts))
    front = np.minimum(front_of[place[rows]], front_of[place[cols]])
    own, border = np.array(sizes, dtype=np.int64).T[:, front]
    # Where an unknown stands among those the front updates: one search for all fronts.
    keys = np.concatenate([k * n + b for k, b in enumerate(near)])
    before = np.cumsum([0] + [b for _, b in sizes])

    def within(x: Integers) -> Integers:
        among = np.searchsorted(keys, front * n + x) - before[front]
        return np.asarray(np.where(front_of[x] == front, x - starts[front], own + among))

    row, column = within(place[rows]), within(place[cols])
    long, short = (own + border + 7) // 8 * 8, (own + 7) // 8 * 8
    position = values[front] + np.where(column < own, column * long, own * long + (column - own) * short) + row

    first = 10 * padded(n) + max((p + b) * padded(p + b) for p, b in sizes)
    room = sum((p + b) * padded(p + b) + (p + 1) * padded(p) for p, b in sizes)
    return Storage(
        meta=[n, len(tree), first],
        tables=np.concatenate([origin, records.ravel(), *lists]),
        position=position,
        values=int(values[-1]),
        # A quarter more, for columns delayed.
        work=first + room + room // 4,
        pivots=FACTS * len(tree) + 5 * sum(p + b for p, b in sizes) // 2,
        fill=sum(p * (p + 2 * b) for p, b in sizes),
        flops=sum(flops(p, b) for p, b in sizes),
    )


def _routines(shapes: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, int]]:
    """Addresses of the routines for fronts of p unknowns to eliminate, b to update, and whether they are leaves."""
    weights: Counter[tuple[int, int, bool]] = Counter()
    for p, b, leaf in shapes:
        weights[p, b, leaf] += round(cost(p, b))
    found = {}
    if machine.available():
        enough = SHARE * weights.total()
        for (p, b, leaf), weight in weights.items():
            if weight >= enough and p <= LARGEST_OWN and p + b <= LARGEST:
                found[p, b, leaf] = dense.routine("front", p, b, leaf), dense.routine("forward", p, b), dense.routine("backward", p, b)
    return [found.get(shape, (0, 0, 0)) for shape in shapes]


# The same by address (kreisel.engine.native.exported): pointers, then lengths. Flags come from the lengths, so that Numba does not make a
# copy of everything for each value of a constant.
META_LENGTH = 12


def factor_entry(
    meta: Any, tables: Any, A: Any, work: Any, piv: Any, b: Any, n_tables: int, n_values: int, n_work: int, n_pivots: int, n_b: int
) -> int:
    meta, tables, A = carray(meta, META_LENGTH), carray(tables, n_tables), carray(A, n_values)
    work, piv, b = carray(work, n_work), carray(piv, n_pivots), carray(b, n_b)
    return factor(meta, tables, A, work, piv, b, n_values < 0)


def solve_entry(
    meta: Any, tables: Any, A: Any, work: Any, piv: Any, b: Any, n_tables: int, n_values: int, n_work: int, n_pivots: int, n_b: int
) -> int:
    meta, tables, A = carray(meta, META_LENGTH), carray(tables, n_tables), carray(A, n_values)
    work, piv, b = carray(work, n_work), carray(piv, n_pivots), carray(b, n_b)
    solve(meta, tables, work, piv, b, n_values < 0)
    return 0


def factor_solve_entry(
    meta: Any, tables: Any, A: Any, work: Any, piv: Any, b: Any, n_tables: int, n_values: int, n_work: int, n_pivots: int, n_b: int
) -> int:
    meta, tables, A = carray(meta, META_LENGTH), carray(tables, n_tables), carray(A, n_values)
    work, piv, b = carray(work, n_work), carray(piv, n_pivots), carray(b, n_b)
    code = factor(meta, tables, A, work, piv, b, n_values >= 0)
    if code == 0:
        solve(meta, tables, work, piv, b, n_values >= 0)
    return code
