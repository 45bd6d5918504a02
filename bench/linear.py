"""Microseconds to factorise and to solve, beside LAPACK's band solver and SuperLU. Usage: python bench/linear.py

Each number is the lowest of several repetitions: the machine may be shared. Matrices have the patterns of mechanical systems (nodes of six
unknowns, multipliers along the edges) and random values, with the diagonal of the nodes dominating.

Not quite like for like: LAPACK's time contains a copy of the matrix, which it destroys (ours keeps it, and scales the rows); SuperLU is
called from Python and finds its order anew every time, SciPy offers no other way.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from numba.extending import get_cython_function_address
from scipy.sparse.linalg import splu

from kreisel.engine import linear

_P = ctypes.c_void_p
dgbtrf = ctypes.CFUNCTYPE(None, *[_P] * 8)(get_cython_function_address("scipy.linalg.cython_lapack", "dgbtrf"))
dgbtrs = ctypes.CFUNCTYPE(None, *[_P] * 11)(get_cython_function_address("scipy.linalg.cython_lapack", "dgbtrs"))


@njit
def factors(meta, tables, A, work, piv, b, x, times):
    code = 0
    for _ in range(times):
        code |= linear.factor(meta, tables, A, work, piv)
    return code


@njit
def solves(meta, tables, A, work, piv, b, x, times):
    for _ in range(times):
        x[:] = b
        linear.solve(meta, tables, A, work, piv, x)
    return 0


@njit
def both(meta, tables, A, work, piv, b, x, times):
    code = 0
    for _ in range(times):
        x[:] = b
        code |= linear.factor_solve(meta, tables, A, work, piv, x)
    return code


@njit
def lapack_factors(A, B, sizes, piv, b, x, letter, times):
    for _ in range(times):
        B[:] = A
        dgbtrf(
            sizes[0:].ctypes, sizes[0:].ctypes, sizes[1:].ctypes, sizes[2:].ctypes, B.ctypes, sizes[3:].ctypes, piv.ctypes, sizes[4:].ctypes
        )
    return sizes[4]


@njit
def lapack_solves(A, B, sizes, piv, b, x, letter, times):
    for _ in range(times):
        x[:] = b
        dgbtrs(
            letter.ctypes, sizes[0:].ctypes, sizes[1:].ctypes, sizes[2:].ctypes, sizes[5:].ctypes, B.ctypes, sizes[3:].ctypes,
            piv.ctypes, x.ctypes, sizes[0:].ctypes, sizes[4:].ctypes,
        )  # fmt: skip
    return sizes[4]


def lowest(run: Callable[[int], Any], times: int, repetitions: int = 25) -> float:
    """Microseconds per call."""
    assert not run(2), "a factorisation failed"
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run(times)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / times * 1e6


def system(edges: list[tuple[int, int]], nodes: int, multipliers: list[int], stiff: bool) -> tuple[sp.csc_array, np.ndarray]:
    """A matrix [[M, B^T], [B, 0]] and its blocks."""
    rng = np.random.default_rng(0)
    sizes = [6] * nodes + multipliers
    starts = np.cumsum([0, *sizes])
    pairs = [(a, a) for a in range(nodes)]
    for e, (a, b) in enumerate(edges):
        pairs += [(a, b), (b, a)] * stiff + [(nodes + e, a), (nodes + e, b), (a, nodes + e), (b, nodes + e)]
    grids = [np.meshgrid(np.arange(starts[a], starts[a + 1]), np.arange(starts[b], starts[b + 1])) for a, b in pairs]
    i, j = (np.concatenate([g[k].ravel() for g in grids]) for k in (0, 1))
    values = np.where(i == j, 4.0, 0.3 * rng.standard_normal(len(i)))
    return sp.csc_array((values, (i, j))), np.repeat(np.arange(len(sizes)), sizes)


def own(A: sp.csc_array, blocks: np.ndarray, solver: str) -> tuple[list[float], linear.Plan]:
    """Microseconds for factor, solve, factor_solve."""
    n, entries = A.shape[0], A.tocoo()
    plan = linear.plan(n, *entries.coords, blocks, solver)
    values, b = plan.values(), np.random.default_rng(1).standard_normal(n)
    values[plan.index(*entries.coords)] = entries.data
    arguments = plan.meta, plan.tables, values, plan.work(2), plan.pivots(2), b[plan.order], np.empty(n)
    times = max(4, 20_000 // n)
    return [lowest(lambda k, f=f: f(*arguments, k), times) for f in (factors, solves, both)], plan


def lapack(A: sp.csc_array, plan: linear.Plan) -> tuple[list[float], int, int]:
    """Microseconds for factor (with a copy of the matrix, which it destroys) and solve, in the same order."""
    D = A.toarray()[np.ix_(plan.order, plan.order)]
    i, j = np.nonzero(D)
    n, below, above = len(D), int((i - j).max()), int((j - i).max())
    B = np.zeros((n, 2 * below + above + 1))
    B[j, below + above + i - j] = D[i, j]
    sizes = np.array([n, below, above, B.shape[1], 0, 1], dtype=np.int32)
    piv, b, letter = np.zeros(n, dtype=np.int32), np.ones(n), np.frombuffer(b"N\0", dtype=np.uint8).copy()
    arguments = B.ravel(), B.ravel().copy(), sizes, piv, b, np.empty(n), letter
    return [lowest(lambda k, f=f: f(*arguments, k), 40) for f in (lapack_factors, lapack_solves)], below, above


def superlu(A: sp.csc_array) -> list[float]:
    b = np.ones(A.shape[0])
    factor = splu(A)

    def repeat(f: Callable[[], Any], k: int) -> None:
        for _ in range(k):
            f()

    return [lowest(lambda k: repeat(lambda: splu(A), k), 2, 10), lowest(lambda k: repeat(lambda: factor.solve(b), k), 10, 10)]


def show(name: str, *groups: list[float]) -> None:
    print(f"{name:42}" + "   ".join(" ".join(f"{t:9.3f}" if t < 10 else f"{t:9.1f}" for t in g) for g in groups))


def main() -> None:
    print(f"{'dense':42}   factor     solve      both")
    rng = np.random.default_rng(2)
    for n in (6, 9, 12, 18, 24):
        k = n // 3
        M, B = np.diag(rng.uniform(1, 10, n - k)) + 0.1 * rng.standard_normal((n - k, n - k)), rng.standard_normal((k, n - k))
        saddle = sp.csc_array(np.block([[M, B.T], [B, np.zeros((k, k))]]))
        show(f"n = {n}, saddle point", own(saddle, np.zeros(n, dtype=int), "dense")[0])
        show(f"n = {n}, random (rows are exchanged)", own(sp.csc_array(rng.standard_normal((n, n))), np.zeros(n, dtype=int), "dense")[0])

    print(f"\n{'chain of 65 nodes: band | sparse | LAPACK':42}   factor     solve      both")
    edges = [(i, i + 1) for i in range(64)]
    for multipliers, stiff in ((0, False), (2, False), (0, True), (2, True)):
        A, blocks = system(edges, 65, [multipliers] * 64, stiff)
        band, plan = own(A, blocks, "band")
        peer, below, above = lapack(A, plan)
        show(f"half band {below}, {above}, n = {A.shape[0]}", band, own(A, blocks, "sparse")[0], peer)

    print(f"\n{'sparse | SuperLU':42}   factor     solve      both")
    for m in (60, 960):
        ring = [(i, (i + 1) % m) for i in range(m)]
        tree = [(max(0, i - 3), i) for i in range(1, m)]
        for name, edges in (("ring", ring), ("Y-tree", tree)):
            A, blocks = system(edges, m, [2 + e % 2 for e in range(len(edges))], True)
            show(f"{name} of {m} nodes, n = {A.shape[0]}", own(A, blocks, "sparse")[0], superlu(A))


if __name__ == "__main__":
    main()
