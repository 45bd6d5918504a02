"""Instructions that Numba has no words for: machine code called by its address, and vectors of eight.

Everything here works on addresses (``array.ctypes.data``), because the loops that use it run over pieces of one
flat array and a slice costs more than the arithmetic on it. ``n`` counts vectors of ``LANES`` doubles; nothing
needs to be aligned beyond 8 bytes, but a vector that lies on a cache line is loaded faster, and one that was
stored as a whole and is loaded as a whole again does not wait for the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

#: Doubles per vector. Processors with narrower vectors split them.
LANES = 8

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(64)
_VECTOR, _BITS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_INT, LANES)
_FUSED = ("contract",)  # a product and a sum may become one instruction; nothing else is relaxed

_EXPONENT = 0x7FF0000000000000
_TWICE_BIAS = 0x7FE0000000000000

#: A matrix whose rows have a sum of absolute values from here on is called not finite.
HUGE = 2.0**1023


def aligned(size: int) -> NDArray[np.float64]:
    """Zeros that start on a cache line."""
    x = np.zeros(size + LANES)
    start = -(x.ctypes.data // 8) % LANES
    return x[start : start + size]


@intrinsic  # type: ignore[untyped-decorator]
def run(typing: Any, address: Any, source: Any, target: Any) -> Any:
    """Calls ``void (double *source, double *target)``, the form of :class:`kreisel.symbolic.Kernel`."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        b.call(b.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [_INT] * 2).as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, address: Any, x: Any, y: Any, z: Any) -> Any:
    """Calls ``int64 (void *x, void *y, void *z)``, the form of the routines of :mod:`kreisel.engine.dense`."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return b.call(b.inttoptr(args[0], ir.FunctionType(_INT, [_INT] * 3).as_pointer()), args[1:])

    return types.int64(*[types.int64] * 4), build


def _loop(b: Any, n: Any, pointers: list[Any], body: Callable[..., Any]) -> None:
    """pointers[0][i] = body(pointers[0][i], pointers[1][i], ...) for n vectors."""
    bases = [b.inttoptr(p, _VECTOR.as_pointer()) for p in pointers]
    with cgutils.for_range(b, n) as loop:
        places = [b.gep(base, [loop.index]) for base in bases]
        values = []
        for place in places:
            values.append(b.load(place))
            values[-1].align = 8
        b.store(body(*values), places[0]).align = 8


def _splat(b: Any, x: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    v = b.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0))
    return b.shuffle_vector(v, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _absolute(b: Any, x: Any) -> Any:
    mask = ir.Constant(_BITS, [0x7FFFFFFFFFFFFFFF] * LANES)
    return b.bitcast(b.and_(b.bitcast(x, _BITS), mask), _VECTOR)


@intrinsic  # type: ignore[untyped-decorator]
def subtract(typing: Any, y: Any, x: Any, a: Any, n: Any) -> Any:
    """y -= a x with a number a."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        a = _splat(b, args[2])
        _loop(b, args[3], [args[0], args[1]], lambda y, x: b.fsub(y, b.fmul(x, a, flags=_FUSED), flags=_FUSED))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float64, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]
def scale(typing: Any, y: Any, x: Any, r: Any, n: Any) -> Any:
    """y = x r, entry by entry."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _loop(b, args[3], [args[0], args[1], args[2]], lambda y, x, r: b.fmul(x, r))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]
def add_absolute(typing: Any, y: Any, x: Any, n: Any) -> Any:
    """y += |x|, entry by entry."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        _loop(b, args[2], [args[0], args[1]], lambda y, x: b.fadd(y, _absolute(b, x)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]
def reciprocal_power(typing: Any, y: Any, x: Any, n: Any) -> Any:
    """y = 2**-floor(log2 x), entry by entry, for 0 <= x < 2**1023; 2**1023 for zero.

    Only the exponent's bits are touched, so products with y are exact.
    """

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        def body(y: Any, x: Any) -> Any:
            exponent = b.and_(b.bitcast(x, _BITS), ir.Constant(_BITS, [_EXPONENT] * LANES))
            return b.bitcast(b.sub(ir.Constant(_BITS, [_TWICE_BIAS] * LANES), exponent), _VECTOR)

        _loop(b, args[2], [args[0], args[1]], body)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]
def clear(typing: Any, y: Any, n: Any) -> Any:
    """y = 0."""

    def build(context: Any, b: Any, signature: Any, args: Any) -> Any:
        base = b.inttoptr(args[0], _VECTOR.as_pointer())
        with cgutils.for_range(b, args[1]) as loop:
            b.store(ir.Constant(_VECTOR, [0.0] * LANES), b.gep(base, [loop.index])).align = 8
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), build
