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

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kreisel.engine import dense, native, ordering
from kreisel.engine.dense import NOT_FINITE, PIVOT, SINGULAR, padded
from kreisel.engine.ordering import Integers
from kreisel.symbolic import machine

#: The arrays ``work`` and ``piv`` are too short for the delayed columns. The caller may go on with longer ones.
NO_ROOM = -2

_compiled = njit(cache=True, error_model="numpy", nogil=True)

# In meta, after the kind of solver.
UNKNOWNS, FRONTS = 1, 2

# In tables: for each place in the order of elimination the unknown that has it; then a record per front; then lists.
# A record: number of unknowns eliminated and of those updated; place of the first of the former; where its entries
# start in A; where the places of the latter are listed; number of children; where these are listed, as pairs of a number
# and the place of the list that says where the unknowns they update stand in this front; addresses of routines or 0.
FIELDS = 10
OWN, BORDER, START, VALUES, LIST, CHILDREN, CHILD, FRONT, FORWARD, BACKWARD = range(FIELDS)

# In work, with n rounded up to whole vectors: the scaling of the rows (n), the largest entries of the columns of U (8 for each,
# to be had without adding up a vector), a buffer (n), then front after front.
# In piv: a record per front, then their lists. A record: where the front starts in work; how many unknowns were
# eliminated; how many could have been; where its lists start (see :mod:`kreisel.engine.dense`).
FACTS = 4
PLACE, DONE, CANDIDATES, LISTS = range(FACTS)


@_compiled
def _rows(meta, tables, A, work):
    """Scaling of the rows, into the first of work; whether the matrix is finite."""
    n, values, scratch = meta[UNKNOWNS], A.ctypes.data, work.ctypes.data
    padding = (n + 7) // 8
    sums = 9 * 8 * padding
    buffer = scratch + 8 * sums
    native.clear(scratch, padding)
    for f in range(n, n + meta[FRONTS] * FIELDS, FIELDS):
        p, b, start, near = tables[f + OWN], tables[f + BORDER], tables[f + START], tables[f + LIST]
        column, short, at = (p + b + 7) // 8, (p + 7) // 8, values + 8 * tables[f + VALUES]
        native.clear(buffer, column)
        native.add_absolute(buffer, at, 64 * column, column, p)
        native.add_absolute(buffer, at + 64 * column * p, 64 * short, short, b)
        for i in range(p):
            work[start + i] += work[sums + i]
        for i in range(b):
            work[tables[near + i]] += work[sums + p + i]
    return native.reciprocal_powers(scratch, scratch, padding)


@_compiled
def _swap_rows(work, F, length, m, piv, lists, i, k):
    for j in range(F, F + m * length, length):
        work[j + i], work[j + k] = work[j + k], work[j + i]
    piv[lists + i], piv[lists + k] = piv[lists + k], piv[lists + i]


@_compiled
def _swap_columns(work, F, length, piv, owners, j, k):
    for i in range(F, F + length):
        work[i + j * length], work[i + k * length] = work[i + k * length], work[i + j * length]
    piv[owners + j], piv[owners + k] = piv[owners + k], piv[owners + j]


@_compiled
def _eliminate(work, F, length, fs, m, piv, lists, largest):
    """Eliminates what it can of the first fs unknowns of a front: how many, or -1 - place of a dependent column."""
    address = work.ctypes.data
    triangle = F + m * length
    short = (fs + 7) // 8 * 8
    inverse = triangle + fs * short
    k, end, progress = 0, fs, False
    while True:
        if k == end:
            # Columns put off behind the others are tried again after these, as long as that helps.
            if end == fs or not progress:
                break
            end, progress = fs, False
        column = F + k * length
        at, best, rest, above = k, abs(work[column + k]), 0.0, 0.0
        diagonal = best
        for i in range(k):
            above = max(above, abs(work[column + i]))
        for i in range(k + 1, fs):
            if abs(work[column + i]) > best:
                at, best = i, abs(work[column + i])
        for i in range(fs, m):
            rest = max(rest, abs(work[column + i]))
        owner = piv[lists + m + k]
        for i in range(8):
            above = max(above, work[largest + 8 * owner + i])
        if not max(best, rest) > SINGULAR * above:
            return -1 - owner
        if not best > SINGULAR * above or best <= PIVOT * rest:
            end -= 1
            _swap_columns(work, F, length, piv, lists + m, k, end)
            _swap_rows(work, F, length, m, piv, lists, k, end)
            continue
        if diagonal <= PIVOT * max(best, rest) or not diagonal > SINGULAR * above:
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
        first = (k + 1) // 8 * 8
        for j in range(k + 1, m):
            u = work[F + j * length + k]
            if u != 0.0:
                native.subtract(address + 8 * (F + j * length + first), address + 8 * (column + first), u, (length - first) // 8)
        k += 1
        progress = True
    for j in range(k, m):
        column, owner, above = F + j * length, piv[lists + m + j], 0.0
        for i in range(k):
            above = max(above, abs(work[column + i]))
            work[column + i] *= work[inverse + i]
        work[largest + 8 * owner] = max(work[largest + 8 * owner], above)
    return k



@_compiled
def _set_up(n, tables, front, A, work, piv, fact, delayed):
    """Sums up a front from the matrix and from its children, and fills in its lists."""
    p, b, start, near = tables[front + OWN], tables[front + BORDER], tables[front + START], tables[front + LIST]
    F, lists, scratch, values = piv[fact + PLACE], piv[fact + LISTS], work.ctypes.data, A.ctypes.data + 8 * tables[front + VALUES]
    fs, m, buffer = p + delayed, p + delayed + b, 9 * ((n + 7) // 8 * 8)
    length, column, short = (m + 7) // 8 * 8, (p + b + 7) // 8, (p + 7) // 8
    for i in range(p):
        piv[lists + i] = start + i
        piv[lists + m + i] = start + i
        work[buffer + i] = work[start + i]
    for i in range(b):
        near_i = tables[near + i]
        piv[lists + fs + i] = near_i
        piv[lists + m + fs + i] = near_i
        work[buffer + p + i] = work[near_i]
    if delayed == 0:
        target, r = scratch + 8 * F, scratch + 8 * buffer
        native.scale(target, 64 * column, values, 64 * column, r, column, p)
        values += 64 * column * p
        target += 64 * column * p
        for j in range(b):
            native.scale(target, 0, values + 64 * short * j, 0, r, short, 1)
            native.clear(target + 64 * short, column - short)
            target += 64 * column
    else:
        native.clear(scratch + 8 * F, m * length // 8)
        values = tables[front + VALUES]
        for j in range(p):
            for i in range(p + b):
                work[F + j * length + i + (delayed if i >= p else 0)] = A[values + 8 * column * j + i] * work[buffer + i]
        values += 8 * column * p
        for j in range(b):
            for i in range(p):
                work[F + (fs + j) * length + i] = A[values + 8 * short * j + i] * work[buffer + i]
    taken = p
    for c in range(tables[front + CHILD], tables[front + CHILD] + 2 * tables[front + CHILDREN], 2):
        child, places = FACTS * tables[c], tables[c + 1]
        done, candidates, updated = piv[child + DONE], piv[child + CANDIDATES], tables[n + FIELDS * tables[c] + BORDER]
        late, size = candidates - done, candidates + updated
        width = (size + 7) // 8 * 8
        source = piv[child + PLACE] + done * width + done
        if delayed == 0:
            places_at = tables.ctypes.data + 8 * places
            native.assemble(scratch + 8 * F, 8 * length, scratch + 8 * source, 8 * width, places_at, updated)
            continue
        for i in range(late):
            owner = piv[piv[child + LISTS] + size + done + i]
            piv[lists + taken + i] = owner
            piv[lists + m + taken + i] = owner
        for j in range(size - done):
            to = F + _place(tables, places, j, late, taken, p, delayed) * length
            for i in range(size - done):
                work[to + _place(tables, places, i, late, taken, p, delayed)] += work[source + j * width + i]
        taken += late


@_compiled
def _place(tables, places, i, late, taken, p, delayed):
    """Where row i of what a child hands on stands in a front with delayed columns."""
    if i < late:
        return taken + i
    place = tables[places + i - late]
    return place if place < p else place + delayed


@_compiled
def _forward(n, tables, front, work, piv, fact, b):
    F, lists, done, fs = piv[fact + PLACE], piv[fact + LISTS], piv[fact + DONE], piv[fact + CANDIDATES]
    scratch = work.ctypes.data
    if tables[front + FORWARD] != 0 and done == tables[front + OWN] and fs == done:
        native.call(tables[front + FORWARD], scratch + 8 * F, piv.ctypes.data + 8 * lists, b.ctypes.data)
        return
    m, buffer = fs + tables[front + BORDER], 9 * ((n + 7) // 8 * 8)
    vectors = (m + 7) // 8
    for i in range(m):
        work[buffer + i] = b[piv[lists + i]]
    for k in range(done):
        first = (k + 1) // 8
        if first < vectors:
            native.subtract(
                scratch + 8 * (buffer + 8 * first),
                scratch + 8 * (F + 8 * (k * vectors + first)),
                work[buffer + k],
                vectors - first,
            )
    for i in range(m):
        b[piv[lists + m + i]] = work[buffer + i]


@_compiled
def _backward(n, tables, front, work, piv, fact, b):
    F, lists, done, fs = piv[fact + PLACE], piv[fact + LISTS], piv[fact + DONE], piv[fact + CANDIDATES]
    scratch = work.ctypes.data
    if tables[front + BACKWARD] != 0 and done == tables[front + OWN] and fs == done:
        native.call(tables[front + BACKWARD], scratch + 8 * F, piv.ctypes.data + 8 * lists, b.ctypes.data)
        return
    m, buffer = fs + tables[front + BORDER], 9 * ((n + 7) // 8 * 8)
    vectors, short = (m + 7) // 8, (fs + 7) // 8
    triangle, needed = F + m * 8 * vectors, (done + 7) // 8
    owners = lists + m
    for i in range(done):
        work[buffer + i] = b[piv[owners + i]] * work[triangle + fs * 8 * short + i]
    for j in range(done, m):
        native.subtract(scratch + 8 * buffer, scratch + 8 * (F + j * 8 * vectors), b[piv[owners + j]], needed)
    for k in range(done - 1, 0, -1):
        native.subtract(scratch + 8 * buffer, scratch + 8 * (triangle + k * 8 * short), work[buffer + k], (k + 7) // 8)
    for i in range(done):
        b[piv[owners + i]] = work[buffer + i]


@_compiled
def factor(meta, tables, A, work, piv, b, eliminate):
    """Factorises; with ``eliminate`` also does the first half of solving for b."""
    n, fronts = meta[UNKNOWNS], meta[FRONTS]
    if not _rows(meta, tables, A, work):
        return NOT_FINITE
    padded_n = (n + 7) // 8 * 8
    scratch, largest, top, room = work.ctypes.data, padded_n, 10 * padded_n + 8, FACTS * fronts
    native.clear(scratch + 8 * largest, n)
    if eliminate:
        for i in range(n):
            b[i] *= work[i]
    for f in range(fronts):
        front, fact, delayed = n + f * FIELDS, f * FACTS, 0
        for c in range(tables[front + CHILD], tables[front + CHILD] + 2 * tables[front + CHILDREN], 2):
            child = FACTS * tables[c]
            delayed += piv[child + CANDIDATES] - piv[child + DONE]
        fs = tables[front + OWN] + delayed
        m = fs + tables[front + BORDER]
        length = (m + 7) // 8 * 8
        size = m * length + (fs + 1) * ((fs + 7) // 8 * 8)
        if top + size > work.size or room + 2 * m > piv.size:
            return NO_ROOM
        piv[fact + PLACE], piv[fact + LISTS], piv[fact + CANDIDATES] = top, room, fs
        _set_up(n, tables, front, A, work, piv, fact, delayed)
        routine, done = tables[front + FRONT], fs
        if (
            routine == 0
            or delayed != 0
            or native.call(routine, scratch + 8 * top, scratch + 8 * largest, piv.ctypes.data + 8 * room) != 0
        ):
            done = _eliminate(work, top, length, fs, m, piv, room, largest)
            if done < 0:
                return 1 + tables[-1 - done]
            if done < fs and m == fs:
                return 1 + tables[piv[room + m + done]]
        piv[fact + DONE] = done
        top += size
        room += 2 * m
        if eliminate:
            _forward(n, tables, front, work, piv, fact, b)
    return 0


@_compiled
def solve(meta, tables, work, piv, b, eliminated):
    """Solves in place; if b was ``eliminated`` during factorisation, only the second half."""
    n, fronts = meta[UNKNOWNS], meta[FRONTS]
    if not eliminated:
        for i in range(n):
            b[i] *= work[i]
        for f in range(fronts):
            _forward(n, tables, n + f * FIELDS, work, piv, f * FACTS, b)
    for f in range(fronts - 1, -1, -1):
        _backward(n, tables, n + f * FIELDS, work, piv, f * FACTS, b)


#: The largest fronts that routines are compiled for, and how many sizes of them.
LARGEST_OWN, LARGEST, SIZES = 20, 48, 12


def cost(own: int, border: int) -> float:
    """Nanoseconds that a front takes, roughly: a charge for each front, pivot and column, and the arithmetic."""
    m = own + border
    flops = sum(2 * (m - k) ** 2 for k in range(1, own + 1))
    return 80 + 8 * own + 6 * border + border**2 + flops / 20


def plan(n: int, g: ordering.Graph, rows: Integers, cols: Integers):
    """Tables of a matrix with entries at (rows, cols)."""
    tree = ordering.fronts(g, cost)
    order, starts = [], [0]
    for f in tree:
        own = np.concatenate([g.members[b] for b in f.own])
        # Unknowns without an entry on the diagonal come last: by then there is one.
        hollow = np.concatenate([np.full(len(g.members[b]), g.hollow[b]) for b in f.own])
        order.append(own[np.argsort(hollow, kind="stable")])
        starts.append(starts[-1] + len(own))
    origin = np.concatenate(order)
    place = np.empty(n, dtype=np.int64)
    place[origin] = np.arange(n)
    number = {id(f): i for i, f in enumerate(tree)}
    near = [np.sort(np.concatenate([place[g.members[b]] for b in f.border] or [np.zeros(0, np.int64)])) for f in tree]
    sizes = [(stop - start, len(b)) for start, stop, b in zip(starts[:-1], starts[1:], near, strict=True)]
    value = np.cumsum([0] + [p * padded(p + b) + b * padded(p) for p, b in sizes])

    common = Counter({shape: 0.0 for shape in sizes})
    for shape in sizes:
        common[shape] += cost(*shape)
    compiled = {}
    if machine.available():
        fit = [(p, b) for (p, b), _ in common.most_common() if p <= LARGEST_OWN and p + b <= LARGEST]
        for shape in fit[:SIZES]:
            compiled[shape] = [dense.routine(name, *shape) for name in ("front", "forward", "backward")]

    lists: list[Integers] = []
    end = n + FIELDS * len(tree)

    def listed(values: Integers) -> int:
        nonlocal end
        lists.append(values)
        end += len(values)
        return end - len(values)

    records = np.zeros((len(tree), FIELDS), dtype=np.int64)
    borders = [listed(b) for b in near]
    for i, f in enumerate(tree):
        p, b = sizes[i]
        pairs = []
        for child in f.children:
            c = number[id(child)]
            own = near[c] - starts[i]
            inside = np.where(own < p, own, p + np.searchsorted(near[i], near[c]))
            pairs += [c, listed(inside)]
        routines = compiled.get((p, b), [0, 0, 0])
        records[i] = [p, b, starts[i], value[i], borders[i], len(f.children), listed(np.array(pairs, dtype=np.int64)), *routines]
    tables = np.concatenate([origin, records.ravel(), *lists])

    # Entries: an entry belongs to the front in which the first of its two unknowns is eliminated.
    front_of = np.repeat(np.arange(len(tree)), np.diff(starts))
    i, j = place[rows], place[cols]
    f = np.minimum(front_of[i], front_of[j])
    start = np.array(starts)[f]
    p, b = np.array(sizes, dtype=np.int64).reshape(-1, 2)[f].T
    # Place among the updated unknowns of the front, by one search for all.
    keys = np.concatenate([c * n + places for c, places in enumerate(near)])
    offsets = np.array(borders) - borders[0]

    def inner(x: Integers) -> Integers:
        return np.where(front_of[x] == f, x - start, p + np.searchsorted(keys, f * n + x) - offsets[f])

    r, c = inner(i), inner(j)
    long, short = (p + b + 7) // 8 * 8, (p + 7) // 8 * 8
    position = value[f] + np.where(c < p, c * long + r, p * long + (c - p) * short + r)
    room = sum((p + b) * padded(p + b) + (p + 1) * padded(p) for p, b in sizes)
    return dict(
        origin=origin,
        meta=[n, len(tree)],
        tables=tables,
        position=position,
        size=int(value[-1]),
        work=10 * padded(n) + 8 + room + room // 4,
        piv=FACTS * len(tree) + 5 * sum(p + b for p, b in sizes) // 2,
        sizes=sizes,
        cost=sum(cost(*s) for s in sizes),
    )
