"""Linear equations with a fixed pattern: planned once, then factorised and solved again and again by compiled code.

    plan = linear.plan(n, rows, cols, blocks)      # what can be nonzero, and which unknowns belong together
    A, work, piv = plan.values(), plan.work(), plan.pivots()
    to = plan.index(rows, cols)

and then, in Numba code, as often as wanted, for any plan without compiling anew:

    A[:] = 0.0
    for k in range(len(to)):
        A[to[k]] += entry[k]                       # A[-1] is for what is not wanted
    code = linear.factor(meta, tables, A, work, piv)
    linear.solve(meta, tables, A, work, piv, b)    # in place; b[k] belongs to the unknown plan.order[k]

``meta`` and ``tables`` are constant and may be shared by any number of threads; ``A``, ``work`` and ``piv`` belong to one. A is
only read. A factorisation does not depend on those before it: the same matrix gives the same bits.

Three solvers stand behind this: :mod:`~kreisel.engine.dense` for a handful of unknowns, :mod:`~kreisel.engine.sparse` for chains,
trees, rings and nets, and :mod:`~kreisel.engine.band` for chains where there is no compiler for the former. The cost of each is
estimated from the pattern.

**Codes.** 0: done. k > 0: the column of unknown k-1 is, numerically, a combination of the columns eliminated before it; so is, in a
mechanical system, the multiplier of a redundant constraint. ``NOT_FINITE``: the matrix has an entry that is not a number or not below
2**1023 in absolute value. ``NO_ROOM``: so many columns had to be delayed (see :mod:`~kreisel.engine.sparse`) that the work
space is too short; with longer arrays, ``plan.work(2)`` and ``plan.pivots(2)``, the same call will do.

**When a column counts as dependent.** Rows are scaled first, by powers of two that bring their largest entry to [1, 2), so that the units
of forces, moments and constraints do not matter. Then a pivot must exceed ``SINGULAR`` (2**-40, 4000 units in the last place) times the
largest entry above it in U. Both change by the same factor if the unknown's unit changes, and the entries of U measure the numbers whose
differences the pivot is made of, and with it its round-off. A bound relative to the largest entry of the matrix has neither property.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kreisel.engine import band, dense, native, ordering, sparse
from kreisel.engine.dense import NOT_FINITE, SINGULAR
from kreisel.engine.native import inlined
from kreisel.engine.ordering import Front, Graph, Integers, Reals, Storage
from kreisel.engine.sparse import NO_ROOM
from kreisel.symbolic import machine

__all__ = ["NOT_FINITE", "NO_ROOM", "SINGULAR", "Plan", "factor", "factor_solve", "plan", "solve"]

# In meta, of this length.
META = 12
KIND = 0
DENSE, BAND, SPARSE = range(3)
# Addresses. The solvers are called by address, so that only those in use are compiled.
FACTOR, SOLVE, FACTOR_SOLVE = 9, 10, 11

#: The most unknowns that a dense solver is compiled for; more would take seconds to compile, and gain little.
LARGEST_DENSE = 24


@dataclass(frozen=True, eq=False)
class Plan:
    """How a matrix with a given pattern is stored, factorised and solved."""

    #: Number of unknowns.
    n: int
    #: "dense", "band" or "sparse".
    solver: str
    #: The unknown at each place of the right-hand side and the solution; and the place of each unknown.
    order: Integers
    place: Integers
    #: What the compiled functions read. ``meta`` has the same length for all plans.
    meta: Integers
    tables: Integers
    #: Lengths of the arrays of values (with one more at the end that is read by nobody), of work space, and of pivots.
    n_values: int
    n_work: int
    n_pivots: int
    #: Numbers in L and U, and multiplications and additions to find them, if no rows are exchanged.
    fill: int
    flops: int
    _blocks: Integers
    _keys: Integers
    _position: Integers

    @property
    def waste(self) -> int:
        """The place in the array of values for what is not wanted."""
        return self.n_values - 1

    def index(self, i: ArrayLike, j: ArrayLike) -> Integers:
        """Where in the array of values the entry in row i and column j has its place, in the original numbering."""
        row, column = np.broadcast_arrays(np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64))
        key = row * self.n + column
        at = np.searchsorted(self._keys, key)
        known = (column >= 0) & (column < self.n) & (np.append(self._keys, -1)[at] == key)
        if not known.all():
            bad = tuple(np.argwhere(~known)[0])
            raise IndexError(f"the pattern has no entry in row {row[bad]}, column {column[bad]}")
        return np.asarray(self._position[at])

    def values(self) -> Reals:
        """A new array of values, zero."""
        return native.aligned(self.n_values)

    def work(self, times: int = 1) -> Reals:
        """A new work space; ``times`` longer than planned after ``NO_ROOM``."""
        return native.aligned(times * self.n_work)

    def pivots(self, times: int = 1) -> Integers:
        """A new array for pivots; ``times`` longer than planned after ``NO_ROOM``."""
        return np.zeros(times * self.n_pivots, dtype=np.int64)

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[Any, ...]]:
        # Addresses of compiled routines mean nothing to another process.
        return plan, (self.n, self._keys // self.n, self._keys % self.n, self._blocks, self.solver)


def plan(n: int, rows: ArrayLike, cols: ArrayLike, blocks: ArrayLike, solver: str = "auto") -> Plan:
    """Plans for a matrix of n rows and columns whose entries may be nonzero at (rows, cols); duplicates do no harm.

    ``blocks`` names for each unknown, and the row of the same number, the node or group of multipliers it belongs to.

    >>> p = plan(3, [0, 1, 2, 0, 2], [0, 1, 0, 2, 2], blocks=[0, 1, 2])
    >>> A, work, piv, b = p.values(), p.work(), p.pivots(), np.array([2.0, 3.0, 4.0])[p.order]
    >>> A[p.index([0, 1, 2, 0, 2], [0, 1, 0, 2, 2])] = [2.0, 3.0, 1.0, 1.0, 1.0]
    >>> factor_solve(p.meta, p.tables, A, work, piv, b), b[np.argsort(p.order)]
    (0, array([-2.,  1.,  6.]))
    """
    rows, cols, blocks = (np.asarray(x, dtype=np.int64).ravel() for x in (rows, cols, blocks))
    if n < 1:
        raise ValueError(f"a matrix must have at least one row, got {n}")
    if blocks.shape != (n,):
        raise ValueError(f"blocks must name the block of each of the {n} unknowns, got shape {blocks.shape}")
    if rows.shape != cols.shape:
        raise ValueError(f"rows and cols must be of equal length, got {len(rows)} and {len(cols)}")
    if rows.size and (min(rows.min(), cols.min()) < 0 or max(rows.max(), cols.max()) >= n):
        raise ValueError(f"rows and cols must lie between 0 and {n - 1}")
    if solver not in ("auto", "dense", "band", "sparse"):
        raise ValueError(f"solver must be 'auto', 'dense', 'band' or 'sparse', got '{solver}'")
    keys = np.unique(rows * n + cols)
    rows, cols = keys // n, keys % n
    g = ordering.graph(n, rows, cols, blocks)
    name, kind, order, storage = _choose(n, g, rows, cols, solver)
    return Plan(
        n=n,
        solver=name,
        order=order,
        place=_inverse(order),
        meta=_meta(kind, storage),
        tables=storage.tables,
        n_values=storage.values + 1,
        n_work=storage.work,
        n_pivots=storage.pivots,
        fill=storage.fill,
        flops=storage.flops,
        _blocks=blocks,
        _keys=keys,
        _position=storage.position,
    )


def _choose(n: int, g: Graph, rows: Integers, cols: Integers, solver: str) -> tuple[str, int, Integers, Storage]:
    whole = [Front(list(range(len(g.members))), set())]
    chain = np.concatenate([g.members[b] for b in ordering.cuthill_mckee(g)])
    tree = ordering.fronts(g, sparse.cost)
    if solver == "auto":
        small = n <= LARGEST_DENSE and machine.available()
        costs = {
            "sparse": sum(sparse.cost(g.size(f.own), g.size(f.border)) for f in tree),
            "band": band.cost(n, *band.diagonals(_inverse(chain), rows, cols)),
            "dense": 20 + 3 * n + 0.04 * n**3 if small else sparse.cost(n, 0),
        }
        solver = min(costs, key=costs.__getitem__)
    if solver == "band":
        return solver, BAND, chain, band.plan(chain, _inverse(chain), rows, cols)
    if solver == "dense":
        tree = whole
    order = np.concatenate([_own(g, f) for f in tree])
    place = _inverse(order)
    if solver == "dense" and n <= LARGEST_DENSE and machine.available():
        return solver, DENSE, order, dense.plan(order, place, rows, cols)
    return solver, SPARSE, order, sparse.plan(g, tree, order, place, rows, cols)


def _own(g: Graph, f: Front) -> Integers:
    """Unknowns of a front, those of hollow blocks last: by then there is something on their diagonal."""
    members = np.concatenate([g.members[b] for b in f.own])
    hollow = np.repeat([g.hollow[b] for b in f.own], [len(g.members[b]) for b in f.own])
    return members[np.argsort(hollow, kind="stable")]


def _inverse(order: Integers) -> Integers:
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _meta(kind: int, storage: Storage) -> Integers:
    meta = np.zeros(META, dtype=np.int64)
    meta[KIND] = kind
    if kind == DENSE:
        meta[FACTOR : FACTOR_SOLVE + 1] = storage.meta
    else:
        meta[1 : 1 + len(storage.meta)] = storage.meta
        meta[FACTOR : FACTOR_SOLVE + 1] = _routines(kind)
    return meta


@cache
def _routines(kind: int) -> tuple[int, int, int]:
    """Addresses of factor, solve and factor_solve."""
    entries = (band.factor_entry, band.solve_entry, band.factor_solve_entry)
    if kind == SPARSE:
        entries = (sparse.factor_entry, sparse.solve_entry, sparse.factor_solve_entry)
    a, b, c = (native.exported(entry, "iixxixnnnnn") for entry in entries)
    return a, b, c


@inlined
def _call(address: int, meta: Integers, tables: Integers, A: Reals, work: Reals, piv: Integers, b: Reals) -> int:
    pointers = (meta.ctypes.data, tables.ctypes.data, A.ctypes.data, work.ctypes.data, piv.ctypes.data, b.ctypes.data)
    return int(native.call(address, (*pointers, tables.size, A.size, work.size, piv.size, b.size)))


@inlined
def factor(meta: Integers, tables: Integers, A: Reals, work: Reals, piv: Integers) -> int:
    """Factorises A, for :func:`solve`; the answer is a code."""
    if meta[KIND] == DENSE:
        code = native.call(meta[FACTOR], (A.ctypes.data, work.ctypes.data, piv.ctypes.data))
        return int(1 + tables[code - 1] if code > 0 else code)
    return int(_call(meta[FACTOR], meta, tables, A, work, piv, work))


@inlined
def solve(meta: Integers, tables: Integers, A: Reals, work: Reals, piv: Integers, b: Reals) -> None:
    """Solves A x = b in place, after :func:`factor` answered with 0."""
    if meta[KIND] == DENSE:
        native.call(meta[SOLVE], (work.ctypes.data, piv.ctypes.data, b.ctypes.data))
    else:
        _call(meta[SOLVE], meta, tables, A, work, piv, b)


@inlined
def factor_solve(meta: Integers, tables: Integers, A: Reals, work: Reals, piv: Integers, b: Reals) -> int:
    """:func:`factor`, then :func:`solve`, at one go, which is faster. The answer is a code; if it is not 0, b is lost."""
    if meta[KIND] == DENSE:
        code = native.call(meta[FACTOR_SOLVE], (A.ctypes.data, work.ctypes.data, piv.ctypes.data, b.ctypes.data))
        return int(1 + tables[code - 1] if code > 0 else code)
    return int(_call(meta[FACTOR_SOLVE], meta, tables, A, work, piv, b))
