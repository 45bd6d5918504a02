r"""LU factorisation of band matrices.

A matrix of a chain, ordered along it, has entries only in ``below`` diagonals under the main one and ``above`` over it.
Row exchanges fill up to ``below`` more. The matrix is stored by columns whose vectors start at rows that are multiples
of eight, so that all columns meet in whole vectors: a vector is always loaded as it was stored.

The rules for pivots are those of :mod:`kreisel.engine.dense`, and the rows are scaled in the same way.
"""

from __future__ import annotations

from typing import Any

from numba import carray

from kreisel.engine import native
from kreisel.engine.dense import NOT_FINITE, PIVOT, SINGULAR, padded
from kreisel.engine.native import compiled
from kreisel.engine.ordering import Integers, Reals, Storage

# In meta, after the kind of solver: number of unknowns; diagonals below and above; the number of the first row, so that
# what exchanges add has a place before it; lengths of a column of A, of L, of U, and of a column with all rows.
UNKNOWNS, BELOW, ABOVE, SHIFT, VALUES, LOWER, UPPER, ROWS = range(1, 9)

# Column j of A starts at row ``j - above``, that of L at row j, both rounded down to a multiple of eight; that of U as much before
# A's as ``below`` rounded up.
# In work: the scaling of the rows, a right-hand side, 1/D, then the columns of L, then those of U.
# In piv: the row exchanged with each row, then the first row of each column of U.


@compiled
def _load(meta: Integers, work: Reals, b: Reals) -> None:
    shift, x = meta[SHIFT], meta[ROWS] + meta[SHIFT]
    for i in range(meta[UNKNOWNS]):
        work[x + i] = b[i] * work[shift + i]


@compiled
def factor(meta: Integers, tables: Integers, A: Reals, work: Reals, piv: Integers, b: Reals, eliminate: bool) -> int:
    """Factorises; with ``eliminate`` it also does the first half of solving for b, and leaves the result in work."""
    n, below, above, shift = meta[UNKNOWNS], meta[BELOW], meta[ABOVE], meta[SHIFT]
    length, lower, upper, rows = meta[VALUES], meta[LOWER], meta[UPPER], meta[ROWS]
    extra, x, inverse, L = upper - length, rows, 2 * rows, 3 * rows
    U = L + n * lower
    scratch = work.ctypes.data
    native.clear(scratch, rows // 8)
    # Columns that start at the same row are taken together.
    j = 0
    while j < n:
        first = j + shift - above
        count = min(8 - first % 8, n - j)
        native.largest(scratch + 8 * (first - first % 8), A.ctypes.data + 8 * j * length, 8 * length, length // 8, count)
        j += count
    if not native.reciprocal_powers(scratch, scratch, rows // 8):
        return NOT_FINITE
    j = 0
    while j < n:
        first = j + shift - above
        count = min(8 - first % 8, n - j)
        for i in range(j, j + count):
            native.clear(scratch + 8 * (U + i * upper), extra // 8)
        target, scaling = scratch + 8 * (U + j * upper + extra), scratch + 8 * (first - first % 8)
        native.scale(target, 8 * upper, A.ctypes.data + 8 * j * length, 8 * length, scaling, length // 8, count)
        j += count
    if eliminate:
        _load(meta, work, b)

    reach = -1  # the last column in which a row above the present one has an entry
    for k in range(n):
        row = k + shift
        start = (row - above) // 8 * 8 - extra
        column = U + k * upper - start
        pivot, top = abs(work[column + row]), piv[n + k] + shift if k <= reach else row
        first = top // 8 * 8
        last = min(row + below, n - 1 + shift)
        best = row
        if not native.exceeds(scratch + 8 * (column + first), row - first, pivot, SINGULAR, PIVOT, last // 8 + 1 - first // 8):
            for i in range(row + 1, last + 1):
                if abs(work[column + i]) > pivot:
                    best, pivot = i, abs(work[column + i])
            if not native.exceeds(scratch + 8 * (column + first), row - first, pivot, SINGULAR, 0.0, row // 8 + 1 - first // 8):
                return 1 + int(tables[k])
        piv[k] = best - shift
        farther = min(best - shift + above, n - 1)
        for j in range(max(reach, k - 1) + 1, farther + 1):
            piv[n + j] = k
        reach = max(reach, farther)
        if best != row:
            for j in range(k, reach + 1):
                other = U + j * upper - (j + shift - above) // 8 * 8 + extra
                work[other + row], work[other + best] = work[other + best], work[other + row]
            if eliminate:
                work[x + row], work[x + best] = work[x + best], work[x + row]
        reciprocal = 1.0 / work[column + row]
        work[inverse + row] = reciprocal
        place = row // 8 * 8
        end = last // 8 + 1
        native.split(scratch + 8 * (L + k * lower), scratch + 8 * (column + place), row - place, reciprocal, end - row // 8)
        first = (row + 1) // 8 * 8
        multipliers, count = scratch + 8 * (L + k * lower + first - place), end - first // 8
        for j in range(k + 1, reach + 1):
            other = U + j * upper - (j + shift - above) // 8 * 8 + extra
            if work[other + row] != 0.0:
                native.subtract(scratch + 8 * (other + first), multipliers, work[other + row], count)
        if eliminate:
            native.subtract(scratch + 8 * (x + first), multipliers, work[x + row], count)
    return 0


@compiled
def solve(meta: Integers, work: Reals, piv: Integers, b: Reals, eliminated: bool) -> None:
    """Solves in place; if b was ``eliminated`` during factorisation, only the second half."""
    n, below, above, shift = meta[UNKNOWNS], meta[BELOW], meta[ABOVE], meta[SHIFT]
    length, lower, upper, rows = meta[VALUES], meta[LOWER], meta[UPPER], meta[ROWS]
    x, inverse, L = rows, 2 * rows, 3 * rows
    U = L + n * lower + upper - length
    scratch = work.ctypes.data
    if not eliminated:
        _load(meta, work, b)
        for k in range(n):
            row, other = x + k + shift, x + piv[k] + shift
            if other != row:
                work[row], work[other] = work[other], work[row]
            place, first = (k + shift) // 8, (k + shift + 1) // 8
            count = min(k + below, n - 1) + shift
            column = scratch + 8 * (L + k * lower) + 64 * (first - place)
            native.subtract(scratch + 8 * x + 64 * first, column, work[row], count // 8 + 1 - first)
    for k in range(n - 1, -1, -1):
        row, first = k + shift, (piv[n + k] + shift) // 8
        value = work[x + row] * work[inverse + row]
        column = scratch + 8 * (U + k * upper) + 64 * (first - (row - above) // 8)
        native.subtract(scratch + 8 * x + 64 * first, column, value, row // 8 + 1 - first)
        b[k] = value


def cost(n: int, below: int, above: int) -> float:
    """Nanoseconds to factorise and solve, roughly: a charge for each column and the arithmetic, as measured."""
    return n * (25 + 1.6 * above * (1 + below / 8))


def diagonals(place: Integers, rows: Integers, cols: Integers) -> tuple[int, int]:
    """How many there are below and above the main one, with unknowns at the given places."""
    distance = place[rows] - place[cols]
    return max(int(distance.max(initial=0)), 0), max(-int(distance.min(initial=0)), 0)


def plan(origin: Integers, place: Integers, rows: Integers, cols: Integers) -> Storage:
    """Storage of a matrix with entries at (rows, cols), and unknowns at the given places."""
    n = len(place)
    below, above = diagonals(place, rows, cols)
    i, j = place[rows], place[cols]
    extra, length = padded(below), padded(below + above + 8)
    shift, lower, upper = padded(above) + extra, padded(below + 8), length + extra
    count = padded(n + shift + below + 8)
    return Storage(
        meta=[n, below, above, shift, length, lower, upper, count],
        tables=origin,
        position=j * length + i + shift - (j + shift - above) // 8 * 8,
        values=n * length,
        work=3 * count + n * (lower + upper),
        pivots=2 * n,
        fill=n * (below + above + 1),
        flops=2 * n * below * (above + 1),
    )


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
    solve(meta, work, piv, b, n_values < 0)
    return 0


def factor_solve_entry(
    meta: Any, tables: Any, A: Any, work: Any, piv: Any, b: Any, n_tables: int, n_values: int, n_work: int, n_pivots: int, n_b: int
) -> int:
    meta, tables, A = carray(meta, META_LENGTH), carray(tables, n_tables), carray(A, n_values)
    work, piv, b = carray(work, n_work), carray(piv, n_pivots), carray(b, n_b)
    code = factor(meta, tables, A, work, piv, b, n_values >= 0)
    if code == 0:
        solve(meta, work, piv, b, n_values >= 0)
    return code
