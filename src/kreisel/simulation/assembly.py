"""The equations of a stage as a vector and a sparse matrix, for what is no time step: equilibria, modes, linearisation."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kreisel.methods.base import Stage
from kreisel.simulation.packs import Layout, PackView, Unknowns, packs_of
from kreisel.simulation.program import LANES
from kreisel.symbolic import Kernel, compile

Array = NDArray[np.float64]


class Assembly:
    """Residual and matrix of a stage at a state S and unknowns x; unknowns and rows numbered as nodes, then multipliers."""

    def __init__(self, layout: Layout, stage: Stage) -> None:
        self.layout = layout
        self.unknowns = Unknowns(layout.system, stage)
        self.n = self.unknowns.n
        identity = np.arange(self.n)
        self._parts = []
        for pack in packs_of(layout.system, self.n):
            view = PackView(layout, stage, self.unknowns, pack)
            R, J = view.residual, view.jacobian
            if not R.numel():
                continue
            i, j = (np.array(k, dtype=np.int64) for k in J.sparsity().get_triplet())
            # CasADi gives one entry for all of none.
            out = ca.densify(ca.vertcat(R, J.nz[:])) if J.nnz() else ca.densify(R)
            symbols, sources = view.inputs([out], layout.size, identity)
            lanes = min(LANES, 2 ** int(np.ceil(np.log2(len(sources)))))
            f = compile(ca.Function("assembly", [ca.vertcat(ca.SX(0, 1), *symbols)], ca.cse([out])), lanes)
            self._parts.append((f, sources, view.rows, view.rows[:, i], view.columns[:, j]))

    def residual(self, S: Array, x: Array) -> Array:
        """The residual alone."""
        full = np.concatenate([S[: self.layout.size], x])
        residual = np.zeros(self.n)
        for f, sources, at, _, _ in self._parts:
            np.add.at(residual, at, _evaluate(f, full[sources])[:, : at.shape[1]])
        return residual

    def __call__(self, S: Array, x: Array) -> tuple[Array, sparse.csc_matrix]:
        """Residual (n,) and matrix (n, n) at the state S, ``layout.size`` numbers with parameters, and the unknowns x."""
        full = np.concatenate([S[: self.layout.size], x])
        residual = np.zeros(self.n)
        rows, columns, values = [], [], []
        for f, sources, at, i, j in self._parts:
            out = _evaluate(f, full[sources])
            np.add.at(residual, at, out[:, : at.shape[1]])
            rows.append(i.ravel())
            columns.append(j.ravel())
            values.append(out[:, at.shape[1] :].ravel())
        triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return residual, sparse.csc_matrix(triplets, shape=(self.n, self.n))


def _evaluate(f: Kernel, x: Array) -> Array:
    """Values of a kernel for all instances, x: (instances, inputs) -> (instances, outputs). The last block is filled up."""
    blocks = -(-len(x) // f.lanes)
    full = np.concatenate([x, np.repeat(x[-1:], blocks * f.lanes - len(x), axis=0)])
    out = [f(np.ascontiguousarray(block.T)) for block in np.split(full, blocks)]
    return np.concatenate([y.T for y in out])[: len(x)]
