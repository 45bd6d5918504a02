"""Compiled functions: by address for compiled callers, on arrays for people."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.symbolic import machine, translate

Array = NDArray[np.float64]

#: Instances per call in array functions. Processors with narrower vectors split them.
LANES = 8

_ROUTINE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_MAP = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_callbacks: list[Any] = []  # as lasting as compiled code


@dataclass(frozen=True)
class Kernel:
    """A function for compiled callers: ``void (double *in, double *out)`` at ``address``.

    The nonzeros of the arguments stand one after the other in ``in``, each as ``lanes`` consecutive
    doubles (one per instance), ``n_in`` of them; those of the results likewise in ``out``. Neither needs to
    be aligned beyond 8 bytes; they must not overlap. The address stays good until the process ends.
    """

    name: str
    address: int
    n_in: int
    n_out: int
    lanes: int = 1

    @property
    def routine(self) -> Callable[[int, int], None]:
        """The function itself, for callers who keep its arrays: takes the addresses of ``in`` and ``out``."""
        return _ROUTINE(self.address)

    def __call__(self, x: ArrayLike) -> Array:
        """Evaluates ``lanes`` instances: shape (n_in, lanes) -> (n_out, lanes)."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        if x.shape != (self.n_in, self.lanes):
            raise ValueError(f"kernel '{self.name}' takes an array of shape {(self.n_in, self.lanes)}, got {x.shape}")
        y = np.empty((self.n_out, self.lanes))
        self.routine(x.ctypes.data, y.ctypes.data)
        return y


def compile(f: ca.Function, lanes: int = 1) -> Kernel:  # noqa: A001 - it is what it does
    """Compiles an SX function for compiled callers.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 2)
    >>> k = compile(ca.Function("f", [x], [x[0] * x[1]]), lanes=4)
    >>> k([[1, 2, 3, 4], [5, 6, 7, 8]])
    array([[ 5., 12., 21., 32.]])
    """
    if not f.is_a("SXFunction"):
        raise TypeError(f"function '{f.name()}' must consist of SX expressions, it is of type {f.class_name()}")
    if lanes not in (1, 2, 4, 8):
        raise ValueError(f"lanes must be 1, 2, 4 or 8, got {lanes}")
    if machine.available():
        content = f"kernel {lanes} {_content(f)}".encode()
        address = machine.address(lambda: translate.kernel(f, lanes), content, "kernel")
    else:
        address = _interpreted(f, lanes)
    return Kernel(f.name(), address, f.nnz_in(), f.nnz_out(), lanes)


@dataclass
class ArrayFunction:
    """A formula in symbols, as a function on arrays with any leading axes.

    ``formula`` takes SX arguments of the given shapes (the empty one: a scalar) and answers with one SX
    expression per entry of ``results``. The leading axes of the arrays follow NumPy's rules of
    broadcasting. Compiled at its first call.

    ``valid``, if given, takes the same arguments and says (0 or 1) whether they are admissible. For the
    first instance for which they are not, ``refuse`` is asked for the words of a ValueError.

    >>> area = ArrayFunction("area", lambda a, b: ca.norm_2(ca.cross(a, b)), {"a": (3,), "b": (3,)}, [()])
    >>> area([1, 0, 0], [[0, 2, 0], [3, 0, 0]])
    array([2., 0.])
    """

    name: str
    formula: Callable[..., Any]
    arguments: Mapping[str, tuple[int, ...]]
    results: Sequence[tuple[int, ...]]
    valid: Callable[..., ca.SX] | None = None
    refuse: Callable[..., str] | None = None

    def __call__(self, *arrays: ArrayLike) -> Any:
        if len(arrays) != len(self.arguments):
            raise TypeError(f"{self.name} takes {len(self.arguments)} arguments ({', '.join(self.arguments)}), got {len(arrays)}")
        inputs, batches = [], []
        for (name, shape), given in zip(self.arguments.items(), arrays, strict=True):
            try:
                a = np.asarray(given, dtype=np.float64, order="C")
            except (TypeError, ValueError):
                raise ValueError(f"{self.name}: {name} must be an array of numbers of shape {_shape(shape)}") from None
            k = a.ndim - len(shape)
            if k < 0 or a.shape[k:] != shape:
                raise ValueError(f"{self.name}: {name} must have shape {_shape(shape)}, got {a.shape}")
            inputs.append(a)
            batches.append(a.shape[:k])
        sizes, result_sizes, kind = self._sizes
        batch, strides = batches[0] if batches else (), sizes
        if any(own != batch for own in batches):
            batch, strides = self._broadcast(inputs, batches)
        outputs = [np.empty(batch + shape) for shape in self.results]
        ports = kind(*[a.ctypes.data for a in inputs], *[y.ctypes.data for y in outputs])
        steps = kind(*strides, *result_sizes)
        bad = self._routine(prod(batch), ctypes.addressof(ports), ctypes.addressof(steps))
        if bad >= 0:
            assert self.refuse is not None
            instance = [
                a.reshape(-1, *shape)[bad if stride else 0]
                for a, stride, shape in zip(inputs, strides, self.arguments.values(), strict=True)
            ]
            where = f" at index {tuple(map(int, np.unravel_index(bad, batch)))}" if batch else ""
            raise ValueError(f"{self.name}: {self.refuse(*instance)}{where}")
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _broadcast(self, inputs: list[Array], batches: list[tuple[int, ...]]) -> tuple[tuple[int, ...], list[int]]:
        """Common leading axes, to which the inputs are brought; and how far apart the instances are then."""
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            which = ", ".join(f"{n} {b}" for n, b in zip(self.arguments, batches, strict=True))
            raise ValueError(f"{self.name}: the leading axes do not fit together: {which}") from None
        strides = []
        for i, (a, own, shape) in enumerate(zip(inputs, batches, self.arguments.values(), strict=True)):
            if own != batch and prod(own) == 1:
                strides.append(0)
                continue
            if own != batch:
                inputs[i] = np.ascontiguousarray(np.broadcast_to(a, batch + shape))
            strides.append(prod(shape))
        return batch, strides

    @cached_property
    def _sizes(self) -> tuple[list[int], list[int], type[ctypes.Array[ctypes.c_int64]]]:
        """Numbers of arguments and results, and what has one number for each."""
        sizes, result_sizes = ([prod(shape) for shape in shapes] for shapes in (self.arguments.values(), self.results))
        return sizes, result_sizes, ctypes.c_int64 * (len(sizes) + len(result_sizes))

    def function(self) -> ca.Function:
        """The CasADi function behind it: column vectors, matrices row by row."""
        flat = [ca.SX.sym(name, prod(shape)) for name, shape in self.arguments.items()]
        symbols = [_unflatten(x, shape) for x, shape in zip(flat, self.arguments.values(), strict=True)]
        values = self.formula(*symbols)
        if len(self.results) == 1:
            values = (values,)
        out = [ca.densify(ca.vec(ca.SX(y).T)) for y in values]
        for y, shape in zip(out, self.results, strict=True):
            assert y.numel() == prod(shape), f"{self.name}: result of {y.numel()} entries, expected shape {shape}"
        names = [f"y{i}" for i in range(len(out))]
        if self.valid is not None:
            out.append(ca.SX(self.valid(*symbols)))
            names.append(translate.VALID)
        return ca.Function("f", flat, ca.cse(out), list(self.arguments), names)

    @cached_property
    def address(self) -> int:
        """Of ``int64 map(int64 n, double **ports, int64 *strides)``, for compiled callers: n instances, of which each argument and each
        result has its numbers at its port and following, ``stride`` numbers apart. -> the first instance refused, or -1."""
        f = self.function()
        if not machine.available():
            return _interpreted_map(f)
        return machine.address(lambda: translate.mapped(f, LANES), f"map {LANES} {_content(f)}".encode(), "map")

    @cached_property
    def _routine(self) -> Callable[[int, int, int], int]:
        return _MAP(self.address)


def _content(f: ca.Function) -> str:
    return str(f.serialize())


def _shape(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(["...", *map(str, shape)]) + ")"


def _unflatten(x: ca.SX, shape: tuple[int, ...]) -> ca.SX:
    return ca.reshape(x, shape[1], shape[0]).T if len(shape) == 2 else x


# The fall-back: CasADi's virtual machine behind the same two interfaces.


def _interpreted_map(f: ca.Function) -> int:
    checked = f.name_out(f.n_out() - 1) == translate.VALID
    sizes = [f.numel_in(i) for i in range(f.n_in())] + [f.numel_out(i) for i in range(f.n_out() - checked)]

    def routine(n: int, ports: int, strides: int) -> int:
        if n == 0:
            return -1
        at, steps = (list((ctypes.c_int64 * len(sizes)).from_address(place)) for place in (ports, strides))
        numbers = [_strided(a, n, step, size) for a, step, size in zip(at, steps, sizes, strict=True)]
        answers = f.map(n).call([ca.DM(x.T) for x in numbers[: f.n_in()]])
        for y, answer in zip(numbers[f.n_in() :], answers, strict=False):
            y[:] = answer.full().T
        if not checked:
            return -1
        bad = np.flatnonzero(answers[-1].full().ravel() == 0)
        return int(bad[0]) if bad.size else -1

    _callbacks.append(_MAP(routine))
    return int(ctypes.cast(_callbacks[-1], ctypes.c_void_p).value or 0)


def _strided(address: int, n: int, stride: int, size: int) -> Array:
    """The numbers of n instances at an address."""
    flat = np.ctypeslib.as_array((ctypes.c_double * ((n - 1) * stride + size)).from_address(address))
    return np.lib.stride_tricks.as_strided(flat, (n, size), (8 * stride, 8))


def _interpreted(f: ca.Function, lanes: int) -> int:
    sizes_in = np.cumsum([0] + [f.nnz_in(i) for i in range(f.n_in())])

    def routine(source: int, target: int) -> None:
        x = np.ctypeslib.as_array((ctypes.c_double * (f.nnz_in() * lanes)).from_address(source)).reshape(-1, lanes)
        y = np.ctypeslib.as_array((ctypes.c_double * (f.nnz_out() * lanes)).from_address(target)).reshape(-1, lanes)
        for lane in range(lanes):
            args = [ca.DM(f.sparsity_in(i), x[a:b, lane]) for i, (a, b) in enumerate(itertools.pairwise(sizes_in))]
            y[:, lane] = np.concatenate([np.array(r.nonzeros(), dtype=float) for r in f.call(args)])

    _callbacks.append(_ROUTINE(routine))
    return int(ctypes.cast(_callbacks[-1], ctypes.c_void_p).value or 0)
