"""Small dense matrices within a compiled loop, one after the other: Cholesky, and LU of matrices most of whose entries are zero.

For many systems of one size and pattern, :mod:`kreisel.engine.dense` and :mod:`kreisel.engine.sparse` are faster, for they are compiled for
it; these here take any size at any time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kreisel.engine.native import LANES, compiled, subtract, summed

#: A row of a positive semi-definite matrix depends on others if what these leave of its diagonal, as a fraction, is no more than this.
DEPENDENT = 1e-11


@compiled
def cholesky(A: Any) -> bool:
    """A = L L^T in place of the lower triangle; whether A is positive definite."""
    n = len(A)
    for j in range(n):
        d = A[j, j]
        for i in range(j):
            d -= A[j, i] * A[j, i]
        # Also what is not a number is not positive.
        if not d > 1e-14 * abs(A[j, j]) or d == np.inf:
            return False
        d = np.sqrt(d)
        A[j, j] = d
        for i in range(j + 1, n):
            x = A[i, j]
            for k in range(j):
                x -= A[i, k] * A[j, k]
            A[i, j] = x / d
    return True


@compiled
def pivoted_cholesky(A: Any, reach: Any, size: Any, order: Any) -> int:
    """The same for a matrix that is only positive semi-definite, of rows and columns in an ``order`` that it finds; gives the rank."""
    n = len(A)
    for i in range(n):
        order[i] = i
    # Below this, a row is round-off alone.
    scale = np.maximum(np.diag(A), 1e-14 * reach)
    for j in range(n):
        best, at = 0.0, j
        for i in range(j, n):
            d = A[i, i] / size[i] if A[i, i] > DEPENDENT * scale[i] else 0.0
            if d > best:
                best, at = d, i
        if best == 0.0:
            return j
        order[j], order[at] = order[at], order[j]
        size[j], size[at] = size[at], size[j]
        scale[j], scale[at] = scale[at], scale[j]
        for i in range(n):
            A[i, j], A[i, at] = A[i, at], A[i, j]
        for i in range(n):
            A[j, i], A[at, i] = A[at, i], A[j, i]
        d = np.sqrt(A[j, j])
        A[j, j] = d
        for i in range(j + 1, n):
            A[i, j] /= d
        for i in range(j + 1, n):
            for k in range(j + 1, n):
                A[i, k] -= A[i, j] * A[k, j]
    return n


@compiled
def forward_back(L: Any, B: Any) -> None:
    """B <- (L L^T)^{-1} B."""
    n = len(L)
    for i in range(n):
        for k in range(i):
            B[i] -= L[i, k] * B[k]
        B[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            B[i] -= L[k, i] * B[k]
        B[i] /= L[i, i]


@compiled
def markowitz(A: Any, rows: Any, columns: Any) -> None:
    """An order of elimination for A, which is overwritten: pivots of at least a tenth of the largest entry of their column, with the
    smallest product of other entries in row and column; of equal ones, the larger."""
    n = len(A)
    for k in range(n):
        rows[k] = columns[k] = k
    in_row, in_column = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for k in range(n):
        in_row[:], in_column[:] = 0, 0
        for i in range(k, n):
            for j in range(k, n):
                if A[i, j] != 0.0:
                    in_row[i] += 1
                    in_column[j] += 1
        cost, size, p, q = np.inf, 0.0, k, k
        for j in range(k, n):
            largest = 0.0
            for i in range(k, n):
                largest = max(largest, abs(A[i, j]))
            for i in range(k, n):
                own = abs(A[i, j])
                if own > 0.0 and own >= 0.1 * largest:
                    fill = float((in_row[i] - 1) * (in_column[j] - 1))
                    if fill < cost or (fill == cost and own > size):
                        cost, size, p, q = fill, own, i, j
        if cost == np.inf:
            return
        rows[k], rows[p] = rows[p], rows[k]
        columns[k], columns[q] = columns[q], columns[k]
        for j in range(n):
            A[k, j], A[p, j] = A[p, j], A[k, j]
        for i in range(n):
            A[i, k], A[i, q] = A[i, q], A[i, k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]


@compiled
def lu_factor(A: Any, pivots: Any, lower: Any, upper: Any, counts: Any) -> bool:
    """P A = L U in place; rows are exchanged where the diagonal is less than a tenth of the largest entry below. Whether A is regular.

    ``lower`` and ``upper`` (n, n): the columns of entries in the rows of L and of U, ``counts`` (n, 2) of each.
    """
    n = len(A)
    below = np.zeros(n, dtype=np.int64)
    counts[:] = 0
    for k in range(n):
        best, at, count = abs(A[k, k]), k, 0
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                below[count] = i
                count += 1
                if abs(A[i, k]) > best:
                    best, at = abs(A[i, k]), i
        if not best > 0.0 or best == np.inf:
            return False
        if abs(A[k, k]) >= 0.1 * best:
            at = k
        pivots[k] = at
        if at != k:
            for j in range(n):
                A[k, j], A[at, j] = A[at, j], A[k, j]
            for m in range(max(counts[k, 0], counts[at, 0])):
                lower[k, m], lower[at, m] = lower[at, m], lower[k, m]
            counts[k, 0], counts[at, 0] = counts[at, 0], counts[k, 0]
        own = 0
        for j in range(k + 1, n):
            if A[k, j] != 0.0:
                upper[k, own] = j
                own += 1
        counts[k, 1] = own
        for c in range(count):
            i = below[c]
            if A[i, k] != 0.0:  # not what has been exchanged for a zero
                factor = A[i, k] / A[k, k]
                A[i, k] = factor
                lower[i, counts[i, 0]] = k
                counts[i, 0] += 1
                for m in range(own):
                    A[i, upper[k, m]] -= factor * A[k, upper[k, m]]
    return True


@compiled
def lu_solve(A: Any, pivots: Any, lower: Any, upper: Any, counts: Any, B: Any) -> None:
    """B <- A^{-1} B, for rows that fill whole vectors."""
    n, row = len(B), 8 * B.shape[1]
    at, vectors = B.ctypes.data, B.shape[1] // LANES
    filled = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        other = pivots[k]
        if other != k:
            for j in range(B.shape[1]):
                B[k, j], B[other, j] = B[other, j], B[k, j]
    for i in range(n):
        for m in range(counts[i, 0]):
            k = lower[i, m]
            if filled[k]:
                subtract(at + i * row, at + k * row, A[i, k], vectors)
        for j in range(B.shape[1]):
            if B[i, j] != 0.0:
                filled[i] = True
                break
    for i in range(n - 1, -1, -1):
        for m in range(counts[i, 1]):
            subtract(at + i * row, at + upper[i, m] * row, A[i, upper[i, m]], vectors)
        factor = 1.0 / A[i, i]
        for j in range(B.shape[1]):
            B[i, j] *= factor


@compiled
def lu_solve_one(A: Any, pivots: Any, b: Any) -> None:
    """b <- A^{-1} b."""
    n = len(b)
    for k in range(n):
        at = pivots[k]
        b[k], b[at] = b[at], b[k]
    for i in range(1, n):
        b[i] -= dot(A[i, :i], b[:i])
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - dot(A[i, i + 1 :], b[i + 1 :])) / A[i, i]


@compiled
def lu_solve_transposed(A: Any, pivots: Any, b: Any) -> None:
    """b <- A^{-T} b."""
    n = len(b)
    for i in range(n):
        b[i] /= A[i, i]
        add(b[i + 1 :], -b[i], A[i, i + 1 :])
    for i in range(n - 1, -1, -1):
        add(b[:i], -b[i], A[i, :i])
    for k in range(n - 1, -1, -1):
        at = pivots[k]
        b[k], b[at] = b[at], b[k]


@compiled
def add(target: Any, factor: float, row: Any) -> None:
    for w in range(len(target)):
        target[w] += factor * row[w]


@summed
def dot(a: Any, b: Any) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total
