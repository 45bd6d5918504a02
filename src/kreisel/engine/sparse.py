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
from dataclasses import dataclass

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

# meta, after the kind of solver: number of unknowns, of fronts, and where these stand in the tables.
UNKNOWNS, FRONTS = 1, 2

# A front in the tables.
FIELDS = 10
OWN, BORDER, START, VALUES, LIST, CHILDREN, CHILD, FRONT, FORWARD, BACKWARD = range(FIELDS)


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
def _eliminate(work, F, length, fs, m, piv, lists, largest):
    """Eliminates what it can of the first fs unknowns of a front: how many, or -1 - place of a dependent column."""
    address = work.ctypes.data
    triangle = F + m * length
    short = (fs + 7) // 8 * 8
    inverse = triangle + fs * short
    k, end, progress = 0, fs, False
    while k < end:
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
            # Put off behind the others; when they are through, it is tried again.
            end -= 1
            _swap_unknowns(work, F, length, m, piv, lists, k, end)
            if k == end and progress:
                end, progress = fs, False
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
        if k == end and end < fs:
            end, progress = fs, False
    for j in range(k, m):
        column, owner, above = F + j * length, piv[lists + m + j], 0.0
        for i in range(k):
            above = max(above, abs(work[column + i]))
            work[column + i] *= work[inverse + i]
        work[largest + 8 * owner] = max(work[largest + 8 * owner], above)
    return k
