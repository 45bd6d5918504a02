r"""Problems with stages: what a direct transcription is to a solver.

.. math::

   \min\ \sum_{k=0}^{N-1} L(y_k) + E(z_N) \quad\text{with}\quad R(y_k) = 0, \quad z_{k+1} = U(y_k), \quad
   c^- \le c(y_k) \le c^+, \quad u^- \le u_k \le u^+, \quad e^- \le e(z_N) \le e^+, \qquad y_k = (z_k, x_k, u_k)

States z (of which the first are given, z_0 = start + gain u_0, or some of them free), unknowns x of a step with as many equations R,
controls u. All steps have the same formulas. Values, first and second derivatives come from compiled kernels, eight steps at a time;
matrices are given by the values of a fixed pattern, one row per step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.engine.native import aligned, compiled, run
from kreisel.symbolic import compile

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Steps per call of a kernel.
LANES = 8


@dataclass
class Part:
    """Formulas that are evaluated together, in symbols of their own, for one or several ``instances`` per step.

    ``variables``: those of y, with their ``columns`` (instances, variables) in y; ``others``: numbers that are given, with their
    ``sources`` (instances, others): 0 is the time of the step, i the i-th of the parameters. ``rows``: contributions to (R, U, c), added
    up, with their numbers ``at`` (instances, rows); ``cost``: to L.
    """

    variables: ca.SX
    columns: Integers
    others: ca.SX
    sources: Integers
    rows: ca.SX
    at: Integers
    cost: ca.SX = field(default_factory=lambda: ca.SX(0))


@dataclass(frozen=True)
class Sizes:
    """Numbers of states, unknowns, controls, path conditions, conditions of the end."""

    z: int
    x: int
    u: int
    c: int
    e: int

    @property
    def y(self) -> int:
        return self.z + self.x + self.u

    @property
    def rows(self) -> int:
        """R, U and c of a step."""
        return self.x + self.z + self.c


@dataclass
class End:
    """E and e of z_N."""

    z: ca.SX
    cost: ca.SX
    rows: ca.SX

    def __post_init__(self) -> None:
        n, m = self.z.numel(), self.rows.numel()
        factor, nu = ca.SX.sym("factor"), ca.SX.sym("nu", m)
        J = ca.jacobian(self.rows, self.z)
        H = ca.hessian(factor * self.cost + ca.dot(nu, self.rows), self.z)[0]
        self._values = _Formula([self.z], [self.cost, self.rows])
        self._derivatives = _Formula([self.z], [ca.gradient(self.cost, self.z), J.nz[:]])
        self._hessian = _Formula([self.z, factor, nu], [H.nz[:]])
        self._J, self._H = (_triplets(A) for A in (J, H))
        self._shape = m, n

    def values(self, z: Array) -> tuple[float, Array]:
        """E, e."""
        out = self._values(z)
        return float(out[0]), out[1:]

    def derivatives(self, z: Array) -> tuple[Array, Array]:
        """The gradient of E (z,), de/dz (e, z)."""
        out = self._derivatives(z)
        J = np.zeros(self._shape)
        J[self._J] = out[len(z) :]
        return out[: len(z)], J

    def hessian(self, z: Array, factor: float, s: Array) -> Array:
        """Of factor E + s . e, (z, z)."""
        H = np.zeros((len(z), len(z)))
        H[self._H] = self._hessian(np.concatenate([z, [factor], s]))
        return H


class _Formula:
    """A compiled formula, from one column of numbers to another."""

    def __init__(self, inputs: list[ca.SX], outputs: list[ca.SX]) -> None:
        column = ca.densify(ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.densify(y)) for y in outputs)))
        self.kernel = compile(ca.Function("end", [ca.vertcat(*inputs)], [column])) if column.numel() else None
        self.x, self.y = np.zeros(max(1, sum(x.numel() for x in inputs))), np.zeros(column.numel())
        self.addresses = self.x.ctypes.data, self.y.ctypes.data

    def __call__(self, x: Array) -> Array:
        if self.kernel is not None:
            self.x[: len(x)] = x
            self.kernel.routine(*self.addresses)
        return self.y.copy()


@dataclass
class Bounds:
    """Of controls (N, u) or (u,), path conditions (c,), conditions of the end (e,); infinite where there is none, equal for equations."""

    u: tuple[Array, Array]
    c: tuple[Array, Array]
    e: tuple[Array, Array]


class Stages:
    """The problem above. ``start``: z_0, of which the components ``free`` (nothing: none) are only a guess; ``gain`` (z, u): how it depends
    on the first controls, as accelerations of the start do (nothing: not at all); ``times`` (N,); ``parameters`` (numbers for the parts).
    Arrays: y (N, y), end (z,), multipliers of (R, U, c) (N, rows) and of the end (e,).

    The Lagrangian of multipliers r, s is factor (sum L + E) + sum r . (R, U - z_{k+1}, c) + s . e.
    """

    def __init__(
        self,
        sizes: Sizes,
        parts: Sequence[Part],
        end: End,
        bounds: Bounds,
        start: Array,
        times: Array,
        parameters: Array,
        free: NDArray[np.bool_] | None = None,
        gain: Array | None = None,
    ) -> None:
        self.sizes, self.parts, self.end, self.bounds = sizes, list(parts), end, bounds
        self.steps, self.start = len(times), start
        self.free = np.zeros(sizes.z, dtype=bool) if free is None else free
        self.gain = np.zeros((sizes.z, sizes.u)) if gain is None else gain
        n = 1 + len(parameters)
        self._at_parameters, self._at_multipliers = sizes.y, sizes.y + n
        # Per step, what kernels may read: y, the time, parameters, multipliers of the rows, the factor of the cost.
        self._given = np.zeros((self.steps, self._at_multipliers + sizes.rows + 1))
        self._given[:, sizes.y] = times
        self._given[:, sizes.y + 1 : self._at_multipliers] = parameters
        self._compile(parts)

    def _compile(self, parts: Sequence[Part]) -> None:
        s = self.sizes
        made: list[tuple[Part, ca.SX, ca.SX, ca.SX, ca.SX]] = []
        jacobian_entries, hessian_entries = [], []
        for p in parts:
            multipliers, factor = ca.SX.sym("m", p.rows.numel()), ca.SX.sym("factor")
            J = ca.sparsify(ca.jacobian(p.rows, p.variables))
            g = ca.densify(ca.gradient(p.cost, p.variables))
            H = ca.tril(ca.sparsify(ca.hessian(factor * p.cost + ca.dot(multipliers, p.rows), p.variables)[0]))
            made.append((p, J, g, H, ca.vertcat(multipliers, factor)))
            i, j = _triplets(J)
            jacobian_entries.append(p.at[:, i] * s.y + p.columns[:, j])
            i, j = _triplets(H)
            a, b = p.columns[:, i], p.columns[:, j]
            hessian_entries.append(np.maximum(a, b) * s.y + np.minimum(a, b))
        patterns = [
            np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(e.ravel() for e in es)])) for es in (jacobian_entries, hessian_entries)
        ]
        #: Rows and columns of d(R, U, c)/dy, and of the lower triangle of the Hessian by y; in the order of the values.
        self.jacobian_pattern, self.hessian_pattern = (np.divmod(pattern, s.y) for pattern in patterns)
        nJ, nH = (len(pattern) for pattern in patterns)
        values, derivatives, hessian = [], [], []
        for (p, J, g, H, extra), at_J, at_H in zip(made, jacobian_entries, hessian_entries, strict=True):
            inputs = ca.vertcat(p.variables, p.others)
            sources = np.hstack([p.columns, self._at_parameters + p.sources])
            one = np.ones((len(p.at), 1), dtype=np.int64)
            values.append((inputs, [p.rows, p.cost], sources, np.hstack([p.at, s.rows * one])))
            where = np.hstack([np.searchsorted(patterns[0], at_J), nJ + p.columns])
            derivatives.append((inputs, [J.nz[:], g], sources, where))
            if H.nnz():
                sources = np.hstack([sources, self._at_multipliers + p.at, (self._at_multipliers + s.rows) * one])
                hessian.append((ca.vertcat(inputs, extra), [H.nz[:]], sources, np.searchsorted(patterns[1], at_H)))
        self._values, self._derivatives, self._hessian = (_Kernels(group) for group in (values, derivatives, hessian))
        self._out = np.zeros((self.steps, s.rows + 1)), np.zeros((self.steps, nJ + s.y)), np.zeros((self.steps, nH))
        self._split = nJ

    def values(self, y: Array, end: Array) -> tuple[float, Array, Array]:
        """The cost, (R, U, c) of all steps (N, rows), e."""
        out = self._evaluate(self._values, y, self._out[0])
        cost, rows = self.end.values(end)
        return float(out[:, -1].sum() + cost), out[:, :-1], rows

    def derivatives(self, y: Array, end: Array) -> tuple[Array, Array, Array, Array]:
        """The gradient of L by y (N, y), the values of the Jacobian (N, pattern), the gradient of E (z,), de/dz (e, z)."""
        out = self._evaluate(self._derivatives, y, self._out[1])
        g, J = self.end.derivatives(end)
        return out[:, self._split :], out[:, : self._split], g, J

    def hessian(self, y: Array, end: Array, r: Array, s: Array, factor: float = 1.0) -> tuple[Array, Array]:
        """The Hessian of the Lagrangian: values of the lower triangle by y_k (N, pattern), and all of it by z_N (z, z)."""
        self._given[:, self._at_multipliers : -1], self._given[:, -1] = r, factor
        out = self._evaluate(self._hessian, y, self._out[2])
        return out, self.end.hessian(end, factor, s)

    def _evaluate(self, kernels: _Kernels, y: Array, out: Array) -> Array:
        """Results stay good until the next call of the same kind."""
        self._given[:, : self.sizes.y] = y
        out[:] = 0.0
        k = kernels
        _apply(k.address, k.shape, k.sources, k.targets, self._given, out, k.x, k.y)
        return out


class _Kernels:
    """Kernels that are run one after the other, and where they take from and add to."""

    def __init__(self, formulas: list[tuple[ca.SX, list[ca.SX], Integers, Integers]]) -> None:
        made = []
        for inputs, outputs, _, _ in formulas:
            out = ca.densify(ca.vertcat(*(ca.vec(y) for y in ca.cse(outputs))))
            made.append(compile(ca.Function("stage", [inputs], [out]), LANES))
        none = [np.zeros(0, dtype=np.int64)]
        self.address = np.array([kernel.address for kernel in made], dtype=np.int64)
        #: Of each kernel: how often it is run per step, numbers of arguments and of results.
        self.shape = np.array([(len(f[2]), k.n_in, k.n_out) for f, k in zip(formulas, made, strict=True)], dtype=np.int64).reshape(-1, 3)
        self.sources = np.concatenate([*none, *(sources.ravel() for _, _, sources, _ in formulas)])
        self.targets = np.concatenate([*none, *(targets.ravel() for _, _, _, targets in formulas)])
        self.x, self.y = (aligned(LANES * int(self.shape[:, c].max(initial=1))) for c in (1, 2))


@compiled
def _apply(address: Any, shape: Any, sources: Any, targets: Any, given: Any, out: Any, x: Any, y: Any) -> None:
    """Calls kernels for all instances and steps."""
    steps = len(given)
    source, target = 0, 0
    for m in range(len(address)):
        instances, n_in, n_out = shape[m]
        for _ in range(instances):
            for k in range(0, steps, 8):
                for lane in range(8):
                    row = given[min(k + lane, steps - 1)]
                    for j in range(n_in):
                        x[8 * j + lane] = row[sources[source + j]]
                run(address[m], x.ctypes.data, y.ctypes.data)
                for lane in range(min(8, steps - k)):
                    row = out[k + lane]
                    for j in range(n_out):
                        row[targets[target + j]] += y[8 * j + lane]
            source += n_in
            target += n_out


def _triplets(A: ca.SX) -> tuple[Integers, Integers]:
    i, j = A.sparsity().get_triplet()
    return np.array(i, dtype=np.int64), np.array(j, dtype=np.int64)
