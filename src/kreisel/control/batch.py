"""Compiled formulas with many results, for all steps of a problem at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.symbolic import compile

Array = NDArray[np.float64]

#: Steps per call of a kernel.
LANES = 8


class Batch:
    """A formula on arrays: rows in, one array per result out. It compiles much faster than an ArrayFunction, if results are many.

    ``inputs``: one column of symbols. ``outputs``: expressions, each with the shape that it has in one step.

    >>> x = ca.SX.sym("x", 2)
    >>> f = Batch(x, [(x[0] * x[1], ()), (ca.mtimes(x, x.T), (2, 2))])
    >>> product, outer = f(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> product, outer.shape
    (array([ 2., 12.]), (2, 2, 2))
    """

    def __init__(self, inputs: ca.SX, outputs: Sequence[tuple[ca.SX, tuple[int, ...]]]) -> None:
        self.shapes = [shape for _, shape in outputs]
        columns = [ca.densify(ca.vec(y.T)) for y, _ in outputs]
        self.kernel = compile(ca.Function("batch", [inputs], [ca.vertcat(*ca.cse(columns))]), LANES)

    def __call__(self, x: Array) -> list[Array]:
        steps, blocks = len(x), -(-len(x) // LANES)
        padded = x[np.minimum(np.arange(blocks * LANES), steps - 1)]
        given = np.ascontiguousarray(padded.reshape(blocks, LANES, -1).transpose(0, 2, 1))
        found = np.empty((blocks, self.kernel.n_out, LANES))
        routine = self.kernel.routine
        source, target = given.ctypes.data, found.ctypes.data
        for k in range(blocks):
            routine(source + 8 * LANES * self.kernel.n_in * k, target + 8 * LANES * self.kernel.n_out * k)
        out = found.transpose(0, 2, 1).reshape(blocks * LANES, -1)[:steps]
        ends = np.cumsum([0, *(prod(shape) for shape in self.shapes)])
        return [out[:, a:b].reshape(steps, *shape) for a, b, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)]
