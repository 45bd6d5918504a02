r"""LU factorisation of small dense matrices, compiled for their size.

A matrix is stored by columns, a column in a few vectors, so that a row is a lane. All columns stay in
registers (as far as there are enough of them) while they are eliminated,

.. math:: R A = P^T L D U, \qquad l_k = a_k / d_k, \quad a_j \leftarrow a_j - l_k u_{kj},

with R the scaling of the rows by powers of two, D the pivots, L and U with unit diagonals. Loops are unrolled
and the whole is one straight line as long as the diagonal serves as pivot. Two things branch off it, at the price
of one comparison of vectors per column: the exchange of rows and the refusal of a column, see :func:`_eliminate`.

Two families of routines are made of it, all of the form ``int64 (void *, ...)``:

``factor(A, work, piv)``, ``solve(work, piv, b)``, ``factor_solve(A, work, piv, b)``
    for a whole matrix of n unknowns. The first and the last answer 0, 1 + column if that column
    depends on those before it, or ``NOT_FINITE``. A is only read.
``front(values, places, scaling, handed, F, lists, largest)``, ``forward(F, lists, b)``, ``backward(F, lists, b)``
    for a front of :mod:`kreisel.engine.sparse`: p unknowns to eliminate and b to update. ``front`` answers
    0 or, if some column must be refused, 1; then it is up to the caller to do better, and only F and ``lists`` have changed.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from kreisel.engine.ordering import Integers, Storage
from kreisel.symbolic import machine

#: A pivot is larger than this fraction of any entry below it. Small enough to find most pivots on the diagonal, where they cost nothing,
#: and large enough for the errors: the backward error of random matrices of 24 unknowns is 3e-16 (median; 5e-15 at most),
#: with 1 it is 0.7e-16 (2e-16), with 0.01 it is 1e-15 (8e-14).
PIVOT = 0.1

#: A pivot is larger than this fraction of any entry in rows that are not to be eliminated in the same front. It is smaller
#: than ``PIVOT`` since the alternative, to wait for these rows, costs more than the exchange of two rows, and an entry of a
#: multiplier's column is easily ten times its pivot without harm: the product of the multiplier's row with it is what counts.
DELAY = 0.01

#: A pivot no larger than this fraction of the largest entry above it in U is called zero. What is left of a dependent
#: column after elimination is round-off of the numbers that were subtracted from it, and these stand above it in
#: U: so the test needs no scale of the unknowns, and growth during the elimination is accounted for.
#: Measured on 432 planar loops of 4 to 61 revolute joints (three redundant rows; lengths 1e-3 to 1e3), against as many without
#: the redundant rows: for masses up to 1e3 apart the ratio was at most 2.4e-13 where a column is dependent and at least 5.7e-6
#: where none is; for 1e6 at most 2.5e-11 and at least 2.2e-8. A larger bound would miss fewer of the latter, but refuse stiff systems:
#: two masses m with a spring k have the ratio 2 m / (h^2 k).
SINGULAR = 2.0**-40

#: The matrix contains an infinity or something that is not a number.
NOT_FINITE = -1

Value = str
Column = list[Value]


def _double(x: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def _reals(values: Sequence[float]) -> str:
    return "<" + ", ".join(f"double {_double(x)}" for x in values) + ">"


def _truths(values: Sequence[bool]) -> str:
    return "<" + ", ".join(f"i1 {str(x).lower()}" for x in values) + ">"


def _indices(values: Sequence[int]) -> str:
    return f"<{len(values)} x i32> <" + ", ".join(f"i32 {i}" for i in values) + ">"


ZERO = "zeroinitializer"


class _Writer:
    """Writes IR over columns of n numbers, each a list of vectors."""

    def __init__(self, n: int) -> None:
        self.n = n
        rest = n % 8
        self.widths = [8] * (n // 8) + ([2 if rest <= 2 else 4 if rest <= 4 else 8] if rest else [])
        self.size = sum(self.widths)
        self.vectors = range(len(self.widths))
        self.types = [f"<{w} x double>" for w in self.widths]
        self.rows = [range(8 * q, 8 * q + w) for q, w in enumerate(self.widths)]
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.block = "entry"
        self._count = 0

    def do(self, line: str) -> None:
        self.lines.append(line)

    def emit(self, instruction: str) -> Value:
        self._count += 1
        self.do(f"%v{self._count} = {instruction}")
        return f"%v{self._count}"

    def label(self, name: str) -> None:
        self.do(f"{name}:")
        self.block = name

    def intrinsic(self, name: str, answer: str, *arguments: tuple[str, Value]) -> Value:
        self.declarations.add(f"declare {answer} @{name}({', '.join(t for t, _ in arguments)})")
        return self.emit(f"call {answer} @{name}({', '.join(f'{t} {x}' for t, x in arguments)})")

    # Memory. Places are counted in doubles, or in integers of the same size.

    def at(self, pointer: Value, place: int | Value) -> Value:
        return self.emit(f"getelementptr double, ptr {pointer}, i64 {place}")

    def load(self, pointer: Value, place: int = 0) -> Column:
        return [self.emit(f"load {t}, ptr {self.at(pointer, place + 8 * q)}, align 8") for q, t in enumerate(self.types)]

    def store(self, x: Column, pointer: Value, place: int = 0) -> None:
        for q, t in enumerate(self.types[: len(x)]):
            self.do(f"store {t} {x[q]}, ptr {self.at(pointer, place + 8 * q)}, align 8")

    def pieces(self, n: int) -> list[list[tuple[int, int]]]:
        """The first n entries per vector, as pieces (start, width) that touch nothing else."""
        found: list[list[tuple[int, int]]] = []
        for q, w in enumerate(self.widths):
            start, stop = 0, max(min(w, n - 8 * q), 0)
            found.append([])
            for width in (8, 4, 2, 1):
                while stop - start >= width:
                    found[-1].append((start, width))
                    start += width
        return found

    def load_exactly(self, pointer: Value, n: int) -> Column:
        """n entries; the other lanes are zero."""
        x = []
        for q, pieces in enumerate(self.pieces(n)):
            w, y = self.widths[q], ZERO
            for start, width in pieces:
                z = self.emit(f"load <{width} x double>, ptr {self.at(pointer, 8 * q + start)}, align 8")
                if width == w:
                    y = z
                else:
                    z = self.emit(
                        f"shufflevector <{width} x double> {z}, <{width} x double> poison, {_indices([i % width for i in range(w)])}"
                    )
                    mixed = [w + i - start if start <= i < start + width else i for i in range(w)]
                    y = self.emit(f"shufflevector {self.types[q]} {y}, {self.types[q]} {z}, {_indices(mixed)}")
            x.append(y)
        return x

    def store_exactly(self, x: Column, pointer: Value, n: int) -> None:
        for q, pieces in enumerate(self.pieces(n)):
            for start, width in pieces:
                part = f"shufflevector {self.types[q]} {x[q]}, {self.types[q]} poison, {_indices(range(start, start + width))}"
                self.do(f"store <{width} x double> {self.emit(part)}, ptr {self.at(pointer, 8 * q + start)}, align 8")

    def load_number(self, pointer: Value, place: int | Value) -> Value:
        return self.emit(f"load double, ptr {self.at(pointer, place)}, align 8")

    def load_integer(self, pointer: Value, place: int | Value) -> Value:
        return self.emit(f"load i64, ptr {self.at(pointer, place)}, align 8")

    def gather(self, pointer: Value, indices: Value, n: int) -> Column:
        """x[i] = pointer[indices[i]] for the first n."""
        x = [ZERO for _ in self.vectors]
        for i in range(n):
            x = self.insert(x, i, self.load_number(pointer, self.load_integer(indices, i)))
        return x

    # Columns.

    def where(self, i: int) -> tuple[int, int]:
        return i // 8, i % 8

    def lane(self, x: Column, i: int) -> Value:
        q, lane = self.where(i)
        return self.emit(f"extractelement {self.types[q]} {x[q]}, i32 {lane}")

    def insert(self, x: Column, i: int, value: Value) -> Column:
        q, lane = self.where(i)
        y = self.emit(f"insertelement {self.types[q]} {x[q]}, double {value}, i32 {lane}")
        return [*x[:q], y, *x[q + 1 :]]

    def splat(self, value: Value, kind: str = "double") -> dict[int, Value]:
        """A number in all lanes, per width of vector."""
        x = {}
        for w in sorted(set(self.widths)):
            one = self.emit(f"insertelement <{w} x {kind}> poison, {kind} {value}, i32 0")
            x[w] = self.emit(f"shufflevector <{w} x {kind}> {one}, <{w} x {kind}> poison, <{w} x i32> zeroinitializer")
        return x

    def spread(self, x: Column, i: int) -> dict[int, Value]:
        """Entry i in all lanes, per width of vector."""
        q, lane = self.where(i)
        t = self.types[q]
        return {w: self.emit(f"shufflevector {t} {x[q]}, {t} poison, {_indices([lane] * w)}") for w in sorted(set(self.widths))}

    def multiply(self, x: Column, y: Column) -> Column:
        return [self.emit(f"fmul {t} {a}, {b}") for t, a, b in zip(self.types, x, y, strict=True)]

    def subtract(self, x: Column, y: Column, a: dict[int, Value]) -> Column:
        """x - a y; vectors of y that are zero cost nothing."""
        z = []
        for q, t in enumerate(self.types):
            if y[q] == ZERO:
                z.append(x[q])
            else:
                product = self.emit(f"fmul contract {t} {y[q]}, {a[self.widths[q]]}")
                z.append(self.emit(f"fsub contract {t} {x[q]}, {product}"))
        return z

    def keep(self, x: Column, wanted: Callable[[int], bool]) -> Column:
        """x in the wanted rows, zero in the others."""
        y = []
        for q, t in enumerate(self.types):
            mask = [wanted(i) for i in self.rows[q]]
            if all(mask) or x[q] == ZERO:
                y.append(x[q])
            elif any(mask):
                y.append(self.emit(f"select <{self.widths[q]} x i1> {_truths(mask)}, {t} {x[q]}, {t} {ZERO}"))
            else:
                y.append(ZERO)
        return y

    def absolute(self, x: Column) -> Column:
        return [self.intrinsic(f"llvm.fabs.v{w}f64", t, (t, x[q])) for q, (w, t) in enumerate(zip(self.widths, self.types, strict=True))]

    def reaches(self, x: Column, factors: Sequence[float], bound: dict[int, Value]) -> list[tuple[int, Value]]:
        """Where x[i] factors[i] >= bound, or one of them is not a number: (width, mask) per vector."""
        masks = []
        for q, t in enumerate(self.types):
            product = self.emit(f"fmul {t} {x[q]}, {_reals([factors[i] for i in self.rows[q]])}")
            masks.append((self.widths[q], self.emit(f"fcmp uge {t} {product}, {bound[self.widths[q]]}")))
        return masks

    def any(self, masks: Sequence[tuple[int, Value]]) -> Value:
        joined: dict[int, Value] = {}
        for w, mask in masks:
            joined[w] = self.emit(f"or <{w} x i1> {joined[w]}, {mask}") if w in joined else mask
        answer = "false"
        for w, mask in joined.items():
            bits = self.emit(f"bitcast <{w} x i1> {mask} to i{w}")
            answer = self.emit(f"or i1 {answer}, {self.emit(f'icmp ne i{w} {bits}, 0')}")
        return answer

    def module(self, name: str, arguments: Sequence[str]) -> str:
        head = f"define i64 @{name}({', '.join(f'ptr noalias %{a}' for a in arguments)}) nounwind {{"
        scratch = f"%scratch = alloca [{self.size} x double], align 64"
        rarely = '!0 = !{!"branch_weights", i32 1, i32 1000000}'
        return "\n".join([*sorted(self.declarations), head, "entry:", scratch, *self.lines, "}", rarely, ""])


def _eliminate(
    w: _Writer,
    p: int,
    columns: list[Column],
    riders: list[Column],
    exchange: Callable[[int, Value], None],
    refuse: Callable[[int], str],
    largest: Callable[[int], Value] | None = None,
) -> tuple[list[Column], list[Column], Column]:
    """Eliminates p unknowns, the first of the columns, of n >= p rows: L, U (scaled by the pivots), and 1/D.

    The diagonal entry serves as pivot if, in absolute value, it is larger than ``PIVOT`` times any entry below it (``DELAY``
    times in rows from p on) and ``SINGULAR`` times any entry above it. If not, the largest of the rows k to p-1 is exchanged
    with row k; if that does not pass either, the column is refused. Comparisons are written such
    that what is not a number does not pass.

    ``largest(k)``, if given, is a vector of eight numbers that belong to the entries above, from earlier fronts.
    Further columns are updated in place, ``riders`` have their rows exchanged; ``exchange(k, at)`` does the same
    for what is in memory.
    """
    L: list[Column] = []
    inverse = [ZERO for _ in w.vectors]
    for k in range(p):
        size = w.absolute(columns[k])

        def fails(pivot: Value, candidates: float, k: int = k, size: Column = size) -> Value:
            bound = w.splat(pivot)
            factors = [SINGULAR] * k + [0.0] + [candidates] * (p - k - 1) + [DELAY] * (w.size - p)
            masks = w.reaches(size, factors, bound)
            if largest is not None:
                product = w.emit(f"fmul <8 x double> {largest(k)}, {_reals([SINGULAR] * 8)}")
                wide = bound.get(8) or w.emit(f"shufflevector {(t := w.types[0])} {bound[w.widths[0]]}, {t} poison, {_indices([0] * 8)}")
                masks.append((8, w.emit(f"fcmp uge <8 x double> {product}, {wide}")))
            return w.any(masks)

        usual = w.block
        w.do(f"br i1 {fails(w.lane(size, k), PIVOT)}, label %search{k}, label %join{k}, !prof !0")

        w.label(f"search{k}")
        candidates = w.keep(size, lambda i, k=k: k <= i < p)  # type: ignore[misc]
        live = [q for q in w.vectors if candidates[q] != ZERO]
        best = _double(0.0)
        for q in live:
            most = w.intrinsic(f"llvm.vector.reduce.fmax.v{w.widths[q]}f64", "double", (w.types[q], candidates[q]))
            best = w.intrinsic("llvm.maxnum.f64", "double", ("double", best), ("double", most))
        w.do(f"br i1 {fails(best, 0.0)}, label %refuse{k}, label %exchange{k}, !prof !0")
        w.label(f"refuse{k}")
        w.do(refuse(k))

        w.label(f"exchange{k}")
        bits = "0"
        for q in live:
            width = w.widths[q]
            mask = w.emit(f"fcmp oeq {w.types[q]} {candidates[q]}, {w.splat(best)[width]}")
            number = w.emit(f"zext i{width} {w.emit(f'bitcast <{width} x i1> {mask} to i{width}')} to i64")
            bits = w.emit(f"or i64 {bits}, {w.emit(f'shl i64 {number}, {8 * q}')}")
        at = w.intrinsic("llvm.cttz.i64", "i64", ("i64", bits), ("i1", "true"))
        index = w.splat(at, "i64")
        here = {
            q: w.emit(f"icmp eq <{w.widths[q]} x i64> {index[w.widths[q]]}, <{', '.join(f'i64 {i}' for i in w.rows[q])}>") for q in live
        }
        moving = [*L, *columns[k:], *riders]
        moved = []
        for x in moving:
            w.store(x, "%scratch")
            incoming, y = w.load_number("%scratch", at), list(x)
            outgoing = w.spread(x, k)
            for q in live:
                y[q] = w.emit(f"select <{w.widths[q]} x i1> {here[q]}, {w.types[q]} {outgoing[w.widths[q]]}, {w.types[q]} {x[q]}")
            moved.append(w.insert(y, k, incoming))
        exchange(k, at)
        unusual = w.block
        w.do(f"br label %join{k}")

        w.label(f"join{k}")
        joined = []
        for x, y in zip(moving, moved, strict=True):
            joined.append([
                x[q] if x[q] == y[q] else w.emit(f"phi {w.types[q]} [ {x[q]}, %{usual} ], [ {y[q]}, %{unusual} ]") for q in w.vectors
            ])  # fmt: skip
        L, columns[k:], riders[:] = joined[:k], joined[k : len(columns)], joined[len(columns) :]

        reciprocal = w.emit(f"fdiv double {_double(1.0)}, {w.lane(columns[k], k)}")
        inverse = w.insert(inverse, k, reciprocal)
        factor = w.splat(reciprocal)
        l = [w.emit(f"fmul {t} {columns[k][q]}, {factor[w.widths[q]]}") for q, t in enumerate(w.types)]
        L.append(w.keep(l, lambda i, k=k: i > k))  # type: ignore[misc]
        for j in range(k + 1, len(columns)):
            columns[j] = w.subtract(columns[j], L[k], w.spread(columns[j], k))
    U = []
    for k in range(p):
        U.append(w.keep(w.multiply(columns[k], inverse), lambda i, k=k: i < k))  # type: ignore[misc]
    return L, U, inverse


def _forward(w: _Writer, L: Sequence[Column], x: Column) -> Column:
    for k, l in enumerate(L):
        x = w.subtract(x, l, w.spread(x, k))
    return x


def _backward(w: _Writer, U: Sequence[Column], x: Column) -> Column:
    for k in reversed(range(1, len(U))):
        x = w.subtract(x, U[k], w.spread(x, k))
    return x


def _scaled(w: _Writer) -> tuple[list[Column], Column]:
    """The columns of A with scaled rows, and the scaling: powers of two that bring the largest entry of a row to [1, 2).

    Rows of a mechanical system have different units (forces, moments, lengths, ...); after this the choice of
    pivots and the test for dependence no longer know them.
    """
    columns = [w.load("%A", k * w.size) for k in range(w.n)]
    # The bits of numbers without sign are ordered like the numbers, with what is not finite at the end: so the largest
    # of integers misses nothing.
    scaling, unfit = [], []
    for q, width in enumerate(w.widths):
        t = f"<{width} x i64>"

        def all_lanes(x: int, t: str = t, width: int = width) -> str:
            return f"{t} <{', '.join([f'i64 {x}'] * width)}>"

        most = ZERO
        for x in columns:
            size = w.emit(f"and {all_lanes((1 << 63) - 1)}, {w.emit(f'bitcast {w.types[q]} {x[q]} to {t}')}")
            most = w.intrinsic(f"llvm.umax.v{width}i64", t, (t, most), (t, size))
        exponent = w.emit(f"and {all_lanes(0x7FF << 52)}, {most}")
        unfit.append((width, w.emit(f"icmp uge {t} {most}, {all_lanes(0x7FE << 52).removeprefix(t)}")))
        scaling.append(w.emit(f"bitcast {t} {w.emit(f'sub {all_lanes(0x7FE << 52)}, {exponent}')} to {w.types[q]}"))
    w.do(f"br i1 {w.any(unfit)}, label %infinite, label %finite, !prof !0")
    w.label("infinite")
    w.do(f"ret i64 {NOT_FINITE}")
    w.label("finite")
    return [w.multiply(x, scaling) for x in columns], scaling


def _swap_integers(w: _Writer, pointer: Value, k: int, at: Value) -> None:
    x, y = w.load_integer(pointer, k), w.load_integer(pointer, at)
    w.do(f"store i64 {y}, ptr {w.at(pointer, k)}, align 8")
    w.do(f"store i64 {x}, ptr {w.at(pointer, at)}, align 8")


# In work: L, U, the scaling in the order of the pivots, 1/D; in piv: the row of each pivot.


def factor_ir(n: int) -> str:
    """IR module with the entry point ``factor``."""
    w = _Writer(n)
    _factor(w, *_scaled(w))
    w.do("ret i64 0")
    return w.module("factor", ("A", "work", "piv"))


def factor_solve_ir(n: int) -> str:
    """IR module with the entry point ``factor_solve``: the right-hand side is one more column."""
    w = _Writer(n)
    columns, scaling = _scaled(w)
    columns.append(w.multiply(w.load_exactly("%b", n), scaling))
    U, inverse = _factor(w, columns, scaling)
    w.store_exactly(_backward(w, U, w.multiply(columns[n], inverse)), "%b", n)
    w.do("ret i64 0")
    return w.module("factor_solve", ("A", "work", "piv", "b"))


def _factor(w: _Writer, columns: list[Column], scaling: Column) -> tuple[list[Column], Column]:
    """Eliminates, stores the factors and answers with U and 1/D."""
    for i in range(w.n):
        w.do(f"store i64 {i}, ptr {w.at('%piv', i)}, align 8")
    riders = [scaling]
    L, U, inverse = _eliminate(w, w.n, columns, riders, lambda k, at: _swap_integers(w, "%piv", k, at), lambda k: f"ret i64 {k + 1}")
    for k, x in enumerate([*L, *U, riders[0], inverse]):
        w.store(x, "%work", k * w.size)
    return U, inverse


def solve_ir(n: int) -> str:
    """IR module with the entry point ``solve``."""
    w = _Writer(n)
    stored = [w.load("%work", k * w.size) for k in range(2 * n + 2)]
    L = [w.keep(x, lambda i, k=k: i >= 8 * ((k + 1) // 8)) for k, x in enumerate(stored[:n])]  # type: ignore[misc]
    U = [w.keep(x, lambda i, k=k: i < 8 * ((k + 7) // 8)) for k, x in enumerate(stored[n : 2 * n])]  # type: ignore[misc]
    x = _forward(w, L[:-1], w.multiply(w.gather("%b", "%piv", n), stored[-2]))
    w.store_exactly(_backward(w, U, w.multiply(x, stored[-1])), "%b", n)
    w.do("ret i64 0")
    return w.module("solve", ("work", "piv", "b"))


def plan(order: Integers, place: Integers, rows: Integers, cols: Integers) -> Storage:
    """Storage of a matrix with entries at (rows, cols), and unknowns at the given places."""
    n = len(place)
    length = _Writer(n).size
    return Storage(
        meta=[routine("factor", n), routine("solve", n), routine("factor_solve", n)],
        tables=order,
        position=place[cols] * length + place[rows],
        values=n * length,
        work=(2 * n + 2) * length,
        pivots=n,
        fill=n * n,
        flops=sum(2 * k * k for k in range(n)),
    )


# A front of p unknowns to eliminate and b to update, m = p + b: m columns of length padded(m), where L takes the place
# of the first p and U of the first p rows of the others; then p columns of length padded(p) with the rest of U; then 1/D.
# Its entries of the matrix: p columns of length padded(m), b of length padded(p). What its children hand on: as m columns.
# Its lists: where the rows come from (m places), where the unknowns belong (m places, the first p one after the other).


def padded(n: int) -> int:
    """Length of n numbers in whole vectors of eight."""
    return (n + 7) // 8 * 8


def front_ir(p: int, b: int, leaf: bool) -> str:
    """IR module with the entry point ``front``; a ``leaf`` has no children."""
    m, length, short = p + b, padded(p + b), padded(p)
    w = _Writer(m)
    upper = range(len(_Writer(p).widths))  # vectors with rows to eliminate
    owners = w.at("%lists", m)
    places = [w.load_integer("%places", i) for i in range(m)]
    for i, place in enumerate(places):
        w.do(f"store i64 {place}, ptr {w.at('%lists', i)}, align 8")
        w.do(f"store i64 {place}, ptr {w.at(owners, i)}, align 8")
    scaling = w.load_exactly(w.at("%scaling", places[0]), p)
    for i in range(p, m):
        scaling = w.insert(scaling, i, w.load_number("%scaling", places[i]))

    def summed(x: Column, j: int) -> Column:
        x = [w.emit(f"fmul {t} {a}, {r}") for t, a, r in zip(w.types, x, scaling, strict=True)]
        if not leaf:
            x = [w.emit(f"fadd {t} {a}, {c}") for t, a, c in zip(w.types, x, w.load("%handed", j * length), strict=True)]
        return x

    columns = [summed(w.load("%values", k * length), k) for k in range(p)]
    for j in range(b):
        entries = [ZERO for _ in w.vectors]
        entries[: upper.stop] = w.load("%values", p * length + j * short)[: upper.stop]
        w.store(summed(entries, p + j), "%F", (p + j) * length)

    def exchange(k: int, at: Value) -> None:
        for j in range(p, m):
            column = w.at("%F", j * length)
            x, y = w.load_number(column, k), w.load_number(column, at)
            w.do(f"store double {y}, ptr {w.at(column, k)}, align 8")
            w.do(f"store double {x}, ptr {w.at(column, at)}, align 8")
        _swap_integers(w, "%lists", k, at)

    def largest(place: Value) -> Value:
        return w.at("%largest", w.emit(f"shl i64 {place}, 3"))

    def known(k: int) -> Value:
        return w.emit(f"load <8 x double>, ptr {w.at(largest(places[0]), 8 * k)}, align 8")

    L, U, inverse = _eliminate(w, p, columns, [], exchange, lambda k: "ret i64 1", None if leaf else known)
    for k in range(p):
        w.store(L[k], "%F", k * length)
        w.store(U[k][: upper.stop], "%F", m * length + k * short)
    w.store(inverse[: upper.stop], "%F", m * length + p * short)
    for j in range(p, m):
        x = _forward(w, L, w.load("%F", j * length))
        most = w.emit(f"load <8 x double>, ptr {(place := largest(places[j]))}, align 8")
        for q, y in enumerate(w.absolute(w.keep(x, lambda i: i < p))[: upper.stop]):
            if w.widths[q] < 8:
                t, filled = w.types[q], [min(i, w.widths[q]) for i in range(8)]
                y = w.emit(f"shufflevector {t} {y}, {t} {ZERO}, {_indices(filled)}")
            larger = w.emit(f"fcmp ogt <8 x double> {y}, {most}")
            most = w.emit(f"select <8 x i1> {larger}, <8 x double> {y}, <8 x double> {most}")
        w.do(f"store <8 x double> {most}, ptr {place}, align 8")
        for q in upper:
            product = w.emit(f"fmul {w.types[q]} {x[q]}, {inverse[q]}")
            mask = _truths([i < p for i in w.rows[q]])
            x[q] = w.emit(f"select <{w.widths[q]} x i1> {mask}, {w.types[q]} {product}, {w.types[q]} {x[q]}")
        w.store(x, "%F", j * length)
    w.do("ret i64 0")
    return w.module("front", ("values", "places", "scaling", "handed", "F", "lists", "largest"))


def forward_ir(p: int, b: int) -> str:
    """IR module with the entry point ``forward``."""
    m, length = p + b, padded(p + b)
    w = _Writer(m)
    owners = w.at("%lists", m)
    L = [w.keep(w.load("%F", k * length), lambda i, k=k: i >= 8 * ((k + 1) // 8)) for k in range(p)]  # type: ignore[misc]
    x = _forward(w, L, w.gather("%b", "%lists", m))
    w.store_exactly(x, w.at("%b", w.load_integer(owners, 0)), p)
    for i in range(p, m):
        w.do(f"store double {w.lane(x, i)}, ptr {w.at('%b', w.load_integer(owners, i))}, align 8")
    w.do("ret i64 0")
    return w.module("forward", ("F", "lists", "b"))


def backward_ir(p: int, b: int) -> str:
    """IR module with the entry point ``backward``."""
    m, length = p + b, padded(p + b)
    w = _Writer(p)
    owners, rest = w.at("%lists", m), m * length
    own = w.at("%b", w.load_integer(owners, 0))
    x = w.multiply(w.load_exactly(own, p), w.load("%F", rest + p * padded(p)))
    for j in range(p, m):
        known = w.load_number("%b", w.load_integer(owners, j))
        x = w.subtract(x, w.load("%F", j * length), w.splat(known))
    U = [w.keep(w.load("%F", rest + k * padded(p)), lambda i, k=k: i < 8 * ((k + 7) // 8)) for k in range(p)]  # type: ignore[misc]
    w.store_exactly(_backward(w, U, x), own, p)
    w.do("ret i64 0")
    return w.module("backward", ("F", "lists", "b"))


@cache
def _version() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def routine(name: str, *sizes: int) -> int:
    """The address of a routine, by the name it has at the head of this file."""
    write: Callable[..., str] = globals()[f"{name}_ir"]
    return machine.address(lambda: write(*sizes), f"{name} {sizes} {_version()}".encode(), name)
