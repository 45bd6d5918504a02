"""Instructions that Numba has no words for: machine code called by its address, and vectors of eight.

Everything here works on addresses (``array.ctypes.data``), because the loops that use it run over pieces of one
flat array and a slice costs more than the arithmetic on it. ``n`` counts vectors of ``LANES`` doubles; nothing
needs to be aligned beyond 8 bytes, but a vector that lies on a cache line is loaded faster, and one that was
stored as a whole and is loaded as a whole again does not wait for the memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic
from numpy.typing import NDArray

#: Doubles per vector. Processors with narrower vectors split them.
LANES = 8

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_VECTOR, _BITS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_INT, LANES)
_FUSED = ("contract",)  # a product and a sum may become one instruction; nothing else is relaxed

_EXPONENT = 0x7FF0000000000000
_TWICE_BIAS = 0x7FE0000000000000

#: A matrix with an entry from here on is called not finite: the reciprocal of this one is no longer a normal number.
HUGE = 2.0**1023


_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def _sources() -> str:
    """A digest of all files of this package, as they were when it was imported."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _kept(made: Any) -> Any:
    """Lets what Numba keeps on disk for a function depend on all files of this package.

    By itself it depends on the file of the function alone. But functions of other files, and their constants, are built into it: after a
    change there, or an upgrade, old code would run. If Numba no longer has the stamp that is extended here, nothing is kept.
    """
    file: Any = getattr(made._cache, "_cache_file", None)
    if not hasattr(file, "_source_stamp"):
        return None
    file._source_stamp = (file._source_stamp, _sources())
    return made


def _compile(function: _Function, **options: Any) -> _Function:
    options |= {"error_model": "numpy", "nogil": True}
    return cast(_Function, _kept(njit(cache=True, **options)(function)) or njit(**options)(function))


def compiled(function: _Function) -> _Function:
    """Compiles a function with Numba, for good: the result is kept on disk and runs without the interpreter's lock."""
    return _compile(function)


def summed(function: _Function) -> _Function:
    """The same for a sum of products, whose order is free: in vectors, for there is no need to wait for the sum so far."""
    return _compile(function, fastmath={"contract", "reassoc"})


def inlined(function: _Function) -> _Function:
    """Compiles a function with Numba as a part of its callers: for a few lines that a call would cost more than."""
    return _compile(function, inline="always")


def exported(function: Callable[..., Any], arguments: str) -> int:
    """Address of a compiled function for :func:`call`, kept on disk like others.

    ``arguments``: a letter for each, "i" for a pointer to int64, "x" for one to float64, "n" for an int64. The answer is an int64. Callers
    that know only the address need not be compiled together with the function, nor is it compiled before it is used.
    """
    kinds = {"i": types.CPointer(types.int64), "x": types.CPointer(types.float64), "n": types.int64}
    made = CFunc(function, (tuple(kinds[a] for a in arguments), types.int64), {}, {"error_model": "numpy"})
    made.enable_caching()
    _kept(made)
    made.compile()
    _exports.append(made)
    return int(made.address)


_exports: list[Any] = []  # as lasting as the addresses


def _instruction(write: Callable[..., Any]) -> Any:
    return intrinsic(write)


def aligned(size: int) -> NDArray[np.float64]:
    """Zeros that start on a cache line."""
    x = np.zeros(size + LANES)
    start = -(x.ctypes.data // 8) % LANES
    return x[start : start + size]


@_instruction
def run(typing: Any, address: Any, source: Any, target: Any) -> Any:
    """Calls ``void (double *source, double *target)``, the form of :class:`kreisel.symbolic.Kernel`."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        b.call(b.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [_INT] * 2).as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build


@_instruction
def call(typing: Any, address: Any, arguments: Any) -> Any:
    """Calls ``int64 (void *, ...)`` with a tuple of addresses."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        values = cgutils.unpack_tuple(b, args[1])
        return b.call(b.inttoptr(args[0], ir.FunctionType(_INT, [_INT] * len(values)).as_pointer()), values)

    return types.int64(types.int64, types.UniTuple(types.int64, len(arguments))), build


def _vectors(b: Any, address: Any) -> Any:
    return b.inttoptr(address, _VECTOR.as_pointer())


def _load(b: Any, base: Any, i: Any) -> Any:
    x = b.load(b.gep(base, [i]))
    x.align = 8
    return x


def _store(b: Any, x: Any, base: Any, i: Any) -> None:
    b.store(x, b.gep(base, [i])).align = 8


def _splat(b: Any, x: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    v = b.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0))
    return b.shuffle_vector(v, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _all(value: Any, kind: Any = _BITS) -> Any:
    return ir.Constant(kind, [value] * LANES)


_A, _X, _NOTHING = types.int64, types.float64, types.void


@_instruction
def clear(typing: Any, y: Any, n: Any) -> Any:
    """y = 0."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, n = args
        with cgutils.for_range(b, n) as loop:
            _store(b, _all(0.0, _VECTOR), _vectors(b, y), loop.index)
        return context.get_dummy_value()

    return _NOTHING(_A, _A), build


@_instruction
def subtract(typing: Any, y: Any, x: Any, a: Any, n: Any) -> Any:
    """y -= a x with a number a."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, x, a, n = args
        y, x, a = _vectors(b, y), _vectors(b, x), _splat(b, a)
        with cgutils.for_range(b, n) as loop:
            product = b.fmul(_load(b, x, loop.index), a, flags=_FUSED)
            _store(b, b.fsub(_load(b, y, loop.index), product, flags=_FUSED), y, loop.index)
        return context.get_dummy_value()

    return _NOTHING(_A, _A, _X, _A), build


@_instruction
def eliminate(typing: Any, y: Any, step: Any, columns: Any, a: Any, x: Any, n: Any) -> Any:
    """y_j -= a_j x for columns whose starts, and the numbers at the addresses a, are ``step`` bytes apart."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, step, columns, a, x, n = args
        x = _vectors(b, x)
        with cgutils.for_range(b, columns) as outer:
            ahead = b.mul(outer.index, step)
            to = _vectors(b, b.add(y, ahead))
            factor = _splat(b, b.load(b.inttoptr(b.add(a, ahead), _DOUBLE.as_pointer())))
            with cgutils.for_range(b, n) as loop:
                product = b.fmul(_load(b, x, loop.index), factor, flags=_FUSED)
                _store(b, b.fsub(_load(b, to, loop.index), product, flags=_FUSED), to, loop.index)
        return context.get_dummy_value()

    return _NOTHING(*[_A] * 6), build


@_instruction
def scale(typing: Any, y: Any, y_step: Any, x: Any, x_step: Any, r: Any, n: Any, columns: Any) -> Any:
    """y_j = x_j r, entry by entry, for columns whose starts are ``step`` bytes apart."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, y_step, x, x_step, r, n, columns = args
        r = _vectors(b, r)
        with cgutils.for_range(b, columns) as outer:
            to = _vectors(b, b.add(y, b.mul(outer.index, y_step)))
            of = _vectors(b, b.add(x, b.mul(outer.index, x_step)))
            with cgutils.for_range(b, n) as loop:
                _store(b, b.fmul(_load(b, of, loop.index), _load(b, r, loop.index)), to, loop.index)
        return context.get_dummy_value()

    return _NOTHING(*[_A] * 7), build


@_instruction
def largest(typing: Any, y: Any, x: Any, x_step: Any, n: Any, columns: Any) -> Any:
    """y = max over j of y and |x_j|, entry by entry, for columns whose starts are ``step`` bytes apart; y >= 0.

    The bits are compared as integers, which orders what is not finite behind everything else.
    """

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, x, x_step, n, columns = args
        y = _vectors(b, y)
        most = cgutils.alloca_once(b, _BITS)
        with cgutils.for_range(b, n) as outer:
            b.store(b.bitcast(_load(b, y, outer.index), _BITS), most)
            with cgutils.for_range(b, columns) as loop:
                of = _vectors(b, b.add(x, b.mul(loop.index, x_step)))
                size = b.and_(b.bitcast(_load(b, of, outer.index), _BITS), _all(0x7FFFFFFFFFFFFFFF))
                found = b.load(most)
                b.store(b.select(b.icmp_signed(">", size, found), size, found), most)
            _store(b, b.bitcast(b.load(most), _VECTOR), y, outer.index)
        return context.get_dummy_value()

    return _NOTHING(*[_A] * 5), build


@_instruction
def reciprocal_powers(typing: Any, y: Any, x: Any, n: Any) -> Any:
    """y = 2**-floor(log2 x), entry by entry, for x >= 0; 2**1023 for x = 0. True if all x are below ``HUGE``.

    Only the bits of the exponent are touched, so that products with y are exact.
    """

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, x, n = args
        y, x = _vectors(b, y), _vectors(b, x)
        truths = ir.VectorType(ir.IntType(1), LANES)
        fit = cgutils.alloca_once_value(b, _all(1, truths))
        with cgutils.for_range(b, n) as loop:
            v = _load(b, x, loop.index)
            b.store(b.and_(b.load(fit), b.fcmp_ordered("<", v, _all(HUGE, _VECTOR))), fit)
            exponent = b.and_(b.bitcast(v, _BITS), _all(_EXPONENT))
            _store(b, b.bitcast(b.sub(_all(_TWICE_BIAS), exponent), _VECTOR), y, loop.index)
        bits = b.bitcast(b.load(fit), ir.IntType(LANES))
        return b.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), -1))

    return types.boolean(_A, _A, _A), build


@_instruction
def assemble(typing: Any, y: Any, y_step: Any, x: Any, x_step: Any, places: Any, n: Any) -> Any:
    """y[places[i], places[j]] += x[i, j] for square arrays by columns whose starts are ``step`` bytes apart."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        y, y_step, x, x_step, places, n = args
        places = b.inttoptr(places, _INT.as_pointer())
        with cgutils.for_range(b, n) as outer:
            column = b.add(y, b.mul(b.load(b.gep(places, [outer.index])), y_step))
            to = b.inttoptr(column, _DOUBLE.as_pointer())
            of = b.inttoptr(b.add(x, b.mul(outer.index, x_step)), _DOUBLE.as_pointer())
            with cgutils.for_range(b, n) as loop:
                place = b.gep(to, [b.load(b.gep(places, [loop.index]))])
                b.store(b.fadd(b.load(place), b.load(b.gep(of, [loop.index]))), place)
        return context.get_dummy_value()

    return _NOTHING(*[_A] * 6), build


def _beyond(b: Any, lane: Any, comparison: str) -> Any:
    """Which lanes have a number that compares so with a given one."""
    lanes = ir.Constant(_BITS, list(range(LANES)))
    undefined = ir.Constant(_BITS, ir.Undefined)
    v = b.insert_element(undefined, lane, ir.Constant(ir.IntType(32), 0))
    v = b.shuffle_vector(v, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
    return b.icmp_signed(comparison, lanes, v)


@_instruction
def split(typing: Any, lower: Any, upper: Any, lane: Any, a: Any, n: Any) -> Any:
    """lower = a upper behind a lane of the first vector and zero before; upper = 0 from that lane of the first vector on."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        lower, upper, lane, a, n = args
        lower, upper, a, first = _vectors(b, lower), _vectors(b, upper), _splat(b, a), ir.Constant(_INT, 0)
        with cgutils.for_range(b, n) as loop:
            _store(b, b.fmul(_load(b, upper, loop.index), a), lower, loop.index)
        zero = _all(0.0, _VECTOR)
        _store(b, b.select(_beyond(b, lane, ">"), _load(b, lower, first), zero), lower, first)
        _store(b, b.select(_beyond(b, lane, "<"), _load(b, upper, first), zero), upper, first)
        return context.get_dummy_value()

    return _NOTHING(_A, _A, _A, _X, _A), build


@_instruction
def exceeds(typing: Any, x: Any, lane: Any, a: Any, before: Any, above: Any, n: Any) -> Any:
    """Whether a > before |x| ahead of a lane of the first of n vectors, and a > above |x| behind it."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        x, lane, a, before, above, n = args
        x, a, before, above = _vectors(b, x), _splat(b, a), _splat(b, before), _splat(b, above)
        truths = ir.VectorType(ir.IntType(1), LANES)
        fit = cgutils.alloca_once_value(b, _all(1, truths))
        zero = _all(0.0, _VECTOR)
        with cgutils.for_range(b, n) as loop:
            shifted = b.sub(lane, b.mul(loop.index, ir.Constant(_INT, LANES)))
            factor = b.select(_beyond(b, shifted, "<"), before, b.select(_beyond(b, shifted, ">"), above, zero))
            size = b.bitcast(b.and_(b.bitcast(_load(b, x, loop.index), _BITS), _all(0x7FFFFFFFFFFFFFFF)), _VECTOR)
            b.store(b.and_(b.load(fit), b.fcmp_ordered(">", a, b.fmul(size, factor))), fit)
        bits = b.bitcast(b.load(fit), ir.IntType(LANES))
        return b.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), -1))

    return types.boolean(_A, _A, _X, _X, _X, _A), build
