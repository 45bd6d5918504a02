r"""The linear equations of one Newton iteration for a problem with stages, at a cost proportional to the number of steps.

With increments of y_k = (z_k, x_k, u_k) and of the multipliers of (R, U - z_{k+1}, c) and e, the system is

.. math::

   H_k\,dy_k + R_y^T dr^R_k + U_y^T d\lambda_k + c_y^T dr^c_k - (d\lambda_{k-1}, 0, 0) &= a_k, \qquad
   R_y\,dy_k = b^R_k, \quad U_y\,dy_k - dz_{k+1} = b^U_k, \quad W c_y\,dy_k - dr^c_k = b^c_k, \\
   H_N\,dz_N - d\lambda_{N-1} + e_z^T ds &= a_N, \qquad e_z\,dz_N = b^e \quad\text{or}\quad W^e e_z\,dz_N - ds = b^e,

the last ones for equations and for inequalities of the end (W: what a barrier or a penalty makes of a row). Three eliminations follow
each other, from the last step to the first:

- R_x is square and sparse: dx = X (dz, du) + R_x^{-1} b^R with X = -R_x^{-1} (R_z, R_u), and dz_{k+1} = A dz + B du + b. An order of rows
  and unknowns in which little fills in is found once; rows are exchanged only where a pivot would be small.
- The controls: with the costate d\lambda = V dz_{k+1} + p + F^T ds of the steps to come,
  Q_{uu} du = -(Q_{uz} dz + q_u + (F B)^T ds), Q = E^T (H + c_y^T W c_y + U_y^T V U_y) E, E = (1, X, 1).
- The end: F_0 dz_0 + f_0 = D ds, D the sum of (F B) Q_{uu}^{-1} (F B)^T. Equations of the end that follow from others, or that the controls
  cannot change, are left out; a Cholesky factorisation of D with pivots finds them.

All Q_uu are positive definite if and only if the Hessian is so on the null space of R and U; rho e_z^T e_z, added to H_N and balanced on
the right, makes that the null space of e, too, when rho is large. Otherwise the step where it fails is told.

Source of the recursion: Rao, Wright, Rawlings: Application of interior-point methods to model predictive control, J. Optim. Theory Appl.
99 (1998), section 3, here with equations in each step, conditions of the end and a part of the start free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.control.stages import Stages
from kreisel.engine.native import LANES, compiled, subtract
from kreisel.engine.small import (
    add,
    cholesky,
    dot,
    forward_back,
    lu_factor,
    lu_solve,
    lu_solve_one,
    lu_solve_transposed,
    markowitz,
    pivoted_cholesky,
)

Array = NDArray[np.float64]

#: Answers of a factorisation: done, or (with the step) that R_x is singular, that Q_uu is not positive definite.
DONE, SINGULAR, NOT_CONVEX = 0, 1, 2


class Vector:
    """A vector of the system: one entry per unknown, and per equation; all in one array.

    y (N, y), end (z,): increments dy and dz_N, or a and a_N; r (N, rows), s (e,): those of multipliers, or right sides of rows.
    """

    def __init__(self, stages: Stages, flat: Array | None = None) -> None:
        s, N = stages.sizes, stages.steps
        y, end = N * s.y, N * s.y + s.z
        r = end + N * s.rows
        self.stages, self.flat = stages, np.zeros(r + s.e) if flat is None else flat
        self.y, self.end = self.flat[:y].reshape(N, s.y), self.flat[y:end]
        self.r, self.s = self.flat[end:r].reshape(N, s.rows), self.flat[r:]

    @classmethod
    def of(cls, stages: Stages, y: Array, end: Array, r: Array, s: Array) -> Vector:
        return cls(stages, np.concatenate([y.ravel(), end, r.ravel(), s]))

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.stages, self.flat + other.flat)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.stages, self.flat - other.flat)


@dataclass
class Matrix:
    """What a system is made of, in the patterns of the stages.

    J (N, pattern), H (N, pattern), H_end (z, z), e_z (e, z); ``diagonal`` (N, y): added to H; W (N, c): of path conditions; W_end (e,): of
    inequalities of the end, zero for equations. ``equations`` (e,) and ``path_equations`` (c,): which rows are such.
    """

    J: Array
    H: Array
    H_end: Array
    e_z: Array
    diagonal: Array
    W: Array
    W_end: Array
    equations: NDArray[np.bool_]
    path_equations: NDArray[np.bool_]


class Factors:
    """The factorisation of a system for a problem with ``stages``; made once, used for any number of them."""

    def __init__(self, stages: Stages) -> None:
        s, N = stages.sizes, stages.steps
        self.stages = stages
        # Rows of w = (z, u) fill whole vectors, with zeros at the end.
        nw = -(-(s.z + s.u) // LANES) * LANES
        self._shape = np.array([N, s.z, s.x, s.u, s.c, s.e, nw])
        self._J, self._H = (
            (np.ascontiguousarray(i), np.ascontiguousarray(j)) for i, j in (stages.jacobian_pattern, stages.hessian_pattern)
        )
        self._free, self._gain = np.flatnonzero(stages.free), stages.gain
        self._lu, self._pivots = np.zeros((N, s.x, s.x)), np.zeros((N, s.x), dtype=np.int64)
        self._X, self._AB, self._C = np.zeros((N, s.x, nw)), np.zeros((s.z, nw)), np.zeros((s.c, nw))
        self._V, self._F = np.zeros((N + 1, s.z, s.z)), np.zeros((N + 1, s.e, s.z))
        self._L, self._K, self._G = np.zeros((N, s.u, s.u)), np.zeros((N, s.u, s.z)), np.zeros((N, s.u, s.e))
        nf = len(self._free)
        self._start = np.zeros((nf, nf)), np.zeros((nf, s.e))
        self._placed: tuple[Any, ...] = ()
        #: D, and a measure of what was added up to get its diagonal.
        self.D, self.reach = np.zeros((s.e, s.e)), np.zeros(s.e)
        #: Independent equations of the end: the first ones, as many as the rank, in this order.
        self.order, self.rank = np.arange(s.e), s.e
        self.chosen = np.ones(s.e, dtype=bool)
        self.failed_at = 0
        #: By how much the last solution misses the equations of the end: what has been lost on the way to them.
        self.missed = 0.0

    def _arrange(self, J: Array) -> None:
        """An order of the equations R and of the unknowns x, by the values of a step in the middle; and all places in it."""
        s = self.stages.sizes
        row, column = self._J
        x = column - s.z
        of_R = row < s.x
        inside = of_R & (x >= 0) & (x < s.x)
        R_x = np.zeros((s.x, s.x))
        R_x[row[inside], x[inside]] = J[len(J) // 2, inside]
        rows, columns = np.empty(s.x, dtype=np.int64), np.empty(s.x, dtype=np.int64)
        markowitz(R_x, rows, columns)
        row_at, column_at = np.empty(s.x, dtype=np.int64), np.empty(s.x, dtype=np.int64)
        row_at[rows] = column_at[columns] = np.arange(s.x)
        # Places of y: in w = (z, u), or -1 - (place among x).
        place = np.concatenate([np.arange(s.z), -1 - column_at, s.z + np.arange(s.u)])
        U, c = np.flatnonzero((row >= s.x) & (row < s.x + s.z)), np.flatnonzero(row >= s.x + s.z)
        R = np.flatnonzero(of_R)
        self._placed = (
            (R, row_at[row[R]], place[column[R]]),
            (U, row[U] - s.x, place[column[U]]),
            (c, row[c] - s.x - s.z, place[column[c]]),
            place,
        )
        self._sparse = (U, row[U] - s.x, column[U]), (c, row[c] - s.x - s.z, column[c]), rows, columns

    def factor(self, m: Matrix, rho: Array | None = None) -> int:
        """Factorises, with ``rho`` (e,) as in the formulas for equations of the end. Without it, those of them that are independent are
        chosen anew; the others are left out until the next choice.
        """
        ne = self.stages.sizes.e
        if not self._placed:
            self._arrange(m.J)
        self.matrix = m
        if rho is None:
            self.order, self.rank = np.arange(ne), ne
        self.rho = np.zeros(ne) if rho is None else np.where(self.chosen, rho, 0.0)
        self._V[-1] = m.H_end + m.e_z.T @ ((self.rho + m.W_end)[:, None] * m.e_z)
        self._F[-1] = np.where(m.equations[:, None], m.e_z, 0.0)
        answer, self.failed_at = _factor(
            self._shape, self._placed, self._H, m.J, m.H, m.diagonal, m.W, self._lu, self._pivots, self._X, self._AB, self._C, self._V,
            self._F, self._L, self._K, self._G, self.D, self.reach, self._free, self._gain, self._start,
        )  # fmt: skip
        if answer != DONE:
            return int(answer)
        if rho is None:
            self._D_factor = self.D.copy()
            self.rank = pivoted_cholesky(self._D_factor, self.reach, np.sum(m.e_z**2, axis=1), self.order)
            self.chosen = np.zeros(ne, dtype=bool)
            self.chosen[self.order[: self.rank]] = True
        else:
            chosen = self.order[: self.rank]
            self._D_factor = self.D[np.ix_(chosen, chosen)]
            if not cholesky(self._D_factor):
                return NOT_CONVEX
        return DONE

    def solve(self, b: Vector) -> Vector:
        """The solution for the right side ``b``."""
        m, s = self.matrix, self.stages.sizes
        equations = m.equations
        out = Vector(self.stages)
        p = np.zeros((self.stages.steps + 1, s.z))
        p[-1] = -b.end - m.e_z.T @ np.where(equations, self.rho * b.s, b.s)
        _solve(
            self._shape, self._sparse, self._H, m.J, m.H, m.diagonal, m.W, self._lu, self._pivots, self._X, self._V, self._F, self._L,
            self._K, self._G, self._D_factor, self.order, self.rank, self._free, self._gain, self._start,
            b.y, np.where(equations, b.s, 0.0), b.r, p, out.y, out.end, out.r, out.s,
        )  # fmt: skip
        rows = m.e_z @ out.end
        self.missed = float(np.abs((rows - b.s)[self.chosen & equations]).max(initial=0.0))
        out.s[:] = np.where(equations, out.s + self.rho * (rows - b.s), m.W_end * rows - b.s)
        return out

    def times(self, m: Matrix, d: Vector) -> Vector:
        """The product of the system (without rho) with a vector."""
        s = self.stages.sizes
        out = Vector(self.stages)
        _multiply(self._J, self._H, m.J, m.H, m.diagonal, d.y, d.r, out.y, out.r)
        z, c = slice(s.x, s.x + s.z), slice(s.x + s.z, None)
        out.r[:-1, z] -= d.y[1:, : s.z]
        out.r[-1, z] -= d.end
        out.y[1:, : s.z] -= d.r[:-1, z]
        if s.c:
            out.r[:, c] = m.W * out.r[:, c] - np.where(m.path_equations, 0.0, d.r[:, c])
        rows = m.e_z @ d.end
        out.end[:] = m.H_end @ d.end - d.r[-1, z] + m.e_z.T @ d.s
        out.s[:] = np.where(m.equations, rows, m.W_end * rows - d.s)
        self.start(out.y)
        return out

    def rows(self, J: Array, d: Vector) -> Array:
        """The derivative of (R, U - z_{k+1}, c) along a vector."""
        s = self.stages.sizes
        out = np.zeros_like(d.r)
        _along(self._J, J, d.y, out)
        out[:-1, s.x : s.x + s.z] -= d.y[1:, : s.z]
        out[-1, s.x : s.x + s.z] -= d.end
        return out

    def start(self, gradient: Array) -> None:
        """Takes out of a derivative by y (N, y) what is by given states of the start; those that follow controls count for these."""
        s, stages = self.stages.sizes, self.stages
        first = gradient[0]
        if stages.gain.any():
            first[s.z + s.x :] += stages.gain.T @ first[: s.z]
        first[: s.z][~stages.free] = 0.0

    def gradient(
        self, g: Array, g_end: Array, J: Array, e_z: Array, r: Array, s: Array, y: Array
    ) -> tuple[Array, Array, Array, float, Array]:
        """The derivative of sum L + E + r . (R, U - z_{k+1}, c) + s . e by y (N, y) and by z_N (z,); the largest sums of absolute values of
        the terms in it, of all steps, (y,) and one number; those of the terms in J y (rows,).
        """
        n = self.stages.sizes
        out, sizes, rows = g.copy(), np.zeros(n.y), np.zeros(n.rows)
        _gradient(n.z, n.x, self._J, J, r, y, out, sizes, rows)
        last = r[-1, n.x : n.x + n.z]
        terms = np.abs(g_end) + np.abs(e_z).T @ np.abs(s) + np.abs(last)
        return out, g_end + e_z.T @ s - last, sizes, float(terms.max(initial=0.0)), rows


@compiled
def _factor(
    shape: Any, placed: Any, H_at: Any, J: Any, H: Any, diagonal: Any, W: Any, lu: Any, pivots: Any, X: Any, AB: Any, C: Any, V: Any,
    F: Any, L: Any, K: Any, G: Any, D: Any, reach: Any, free: Any, gain: Any, start: Any,
) -> tuple[int, int]:  # fmt: skip
    N, nz, nx, nu, _, ne, nw = shape
    (R_m, R_i, R_j), (U_m, U_i, U_j), (c_m, c_i, c_j), place = placed
    (H_row, H_col), (start_L, start_G) = H_at, start
    T_w, T_x, VAB = np.zeros((nw, nw)), np.zeros((nx, nw)), np.zeros((nz, nw))
    S, Q, FAB = np.zeros((nw, nw)), np.zeros((nw, nw)), np.zeros((ne, nw))
    lower, upper, counts = np.zeros((nx, nx), dtype=np.int64), np.zeros((nx, nx), dtype=np.int64), np.zeros((nx, 2), dtype=np.int64)
    row, vectors = 8 * nw, nw // LANES
    of_AB, of_C, of_VAB, of_T_w, of_T_x = AB.ctypes.data, C.ctypes.data, VAB.ctypes.data, T_w.ctypes.data, T_x.ctypes.data
    D[:] = 0.0
    reach[:] = 0.0
    for k in range(N - 1, -1, -1):
        # dx by (dz, du); with it new states and conditions.
        Xk, R_x = X[k], lu[k]
        of_X = Xk.ctypes.data
        R_x[:] = 0.0
        Xk[:] = 0.0
        for n in range(len(R_m)):
            i, j, value = R_i[n], R_j[n], J[k, R_m[n]]
            if j < 0:
                R_x[i, -1 - j] = value
            else:
                Xk[i, j] = -value
        if not lu_factor(R_x, pivots[k], lower, upper, counts):
            return 1, k
        lu_solve(R_x, pivots[k], lower, upper, counts, Xk)
        AB[:] = 0.0
        for n in range(len(U_m)):
            i, j, value = U_i[n], U_j[n], J[k, U_m[n]]
            if j < 0:
                subtract(of_AB + i * row, of_X + (-1 - j) * row, -value, vectors)
            else:
                AB[i, j] += value
        C[:] = 0.0
        for n in range(len(c_m)):
            i, j, value = c_i[n], c_j[n], J[k, c_m[n]]
            if j < 0:
                subtract(of_C + i * row, of_X + (-1 - j) * row, -value, vectors)
            else:
                C[i, j] += value
        # The Hessian by w = (dz, du): of half of it, T = H E, S = E^T T, Q = S + S^T.
        T_w[:] = 0.0
        T_x[:] = 0.0
        for m in range(len(H_row)):
            value, i, j = H[k, m], place[H_row[m]], place[H_col[m]]
            if i == j:
                value *= 0.5
            if i < 0 and j < 0:
                subtract(of_T_x + (-1 - i) * row, of_X + (-1 - j) * row, -value, vectors)
            elif i < 0:
                T_x[-1 - i, j] += value
            elif j < 0:
                T_x[-1 - j, i] += value
            else:
                T_w[i, j] += value
        for m in range(nz + nx + nu):
            value, i = 0.5 * diagonal[k, m], place[m]
            if i >= 0:
                T_w[i, i] += value
            elif value != 0.0:
                subtract(of_T_x + (-1 - i) * row, of_X + (-1 - i) * row, -value, vectors)
        np.dot(V[k + 1], AB, VAB)
        for n in range(len(U_m)):
            i, j, value = U_i[n], U_j[n], 0.5 * J[k, U_m[n]]
            subtract(of_T_x + (-1 - j) * row if j < 0 else of_T_w + j * row, of_VAB + i * row, -value, vectors)
        for n in range(len(c_m)):
            i, j, value = c_i[n], c_j[n], 0.5 * J[k, c_m[n]] * W[k, c_i[n]]
            subtract(of_T_x + (-1 - j) * row if j < 0 else of_T_w + j * row, of_C + i * row, -value, vectors)
        if nx > 0:
            np.dot(Xk.T, T_x, S)
        for i in range(nz + nu):
            for j in range(i + 1):
                value = S[i, j] + S[j, i] + T_w[i, j] + T_w[j, i]
                Q[i, j] = value
                Q[j, i] = value
        if ne > 0:
            np.dot(F[k + 1], AB, FAB)
        if k == 0:
            _follow(gain, Q, FAB)
        # du by dz and the multipliers of the end.
        Lk, Kk, Gk, Vk = L[k], K[k], G[k], V[k]
        Lk[:] = Q[nz : nz + nu, nz : nz + nu]
        if not cholesky(Lk):
            return 2, k
        # With Q_uu = L L^T and Y = L^-1 Q_uz: V = Q_zz - Y^T Y, K = -L^-T Y.
        for m in range(nu):
            for j in range(nz):
                Kk[m, j] = Q[nz + m, j]
            for i in range(m):
                for j in range(nz):
                    Kk[m, j] -= Lk[m, i] * Kk[i, j]
            for j in range(nz):
                Kk[m, j] /= Lk[m, m]
        for i in range(nz):
            for j in range(nz):
                Vk[i, j] = Q[i, j]
            for m in range(nu):
                for j in range(nz):
                    Vk[i, j] -= Kk[m, i] * Kk[m, j]
        for m in range(nu - 1, -1, -1):
            for i in range(m + 1, nu):
                for j in range(nz):
                    Kk[m, j] -= Lk[i, m] * Kk[i, j]
            for j in range(nz):
                Kk[m, j] /= Lk[m, m]
        for m in range(nu):
            for j in range(nz):
                Kk[m, j] = -Kk[m, j]
        if ne > 0:
            largest = 0.0
            for m in range(nu):
                for j in range(nz):
                    largest = max(largest, AB[j, nz + m] ** 2 / Q[nz + m, nz + m])
            for i in range(ne):
                for j in range(nu):
                    Gk[j, i] = -FAB[i, nz + j]
            forward_back(Lk, Gk)
            for i in range(ne):
                F[k, i] = FAB[i, :nz]
                for m in range(nu):
                    add(F[k, i], FAB[i, nz + m], Kk[m])
                    add(D[i], -FAB[i, nz + m], Gk[m])
                value = 0.0
                for j in range(nz):
                    value += abs(F[k + 1, i, j])
                reach[i] += value * value * largest
    nf = len(free)
    if nf > 0:
        for i in range(nf):
            for j in range(nf):
                start_L[i, j] = V[0, free[i], free[j]]
            for j in range(ne):
                start_G[i, j] = -F[0, j, free[i]]
        if not cholesky(start_L):
            return 2, 0
        forward_back(start_L, start_G)
        for i in range(ne):
            for j in range(ne):
                for m in range(nf):
                    D[i, j] -= F[0, i, free[m]] * start_G[m, j]
            for m in range(nf):
                reach[i] += F[0, i, free[m]] ** 2 / V[0, free[m], free[m]]
    return 0, 0


@compiled
def _follow(gain: Any, Q: Any, FAB: Any) -> None:
    """States of the start that follow the first controls: what is by these counts for the controls."""
    nz, nu = gain.shape
    for i in range(nz):
        for m in range(nu):
            if gain[i, m] != 0.0:
                for j in range(len(Q)):
                    Q[j, nz + m] += gain[i, m] * Q[j, i]
                for j in range(len(FAB)):
                    FAB[j, nz + m] += gain[i, m] * FAB[j, i]
    for i in range(nz):
        for m in range(nu):
            if gain[i, m] != 0.0:
                add(Q[nz + m], gain[i, m], Q[i])


@compiled
def _times(at: Any, values: Any, x: Any, out: Any) -> None:
    """out += (a symmetric matrix by its lower triangle) x."""
    row, column = at
    for m in range(len(row)):
        i, j = row[m], column[m]
        out[i] += values[m] * x[j]
        if i != j:
            out[j] += values[m] * x[i]


@compiled
def _bend(at: Any, H_at: Any, J: Any, H: Any, diagonal: Any, W: Any, a: Any, b_c: Any, y: Any, costate: Any, c: Any, out: Any) -> None:
    """out = H y - a + U_y^T costate + c_y^T c, with c = W c_y y - b_c."""
    (U_m, U_i, U_j), (c_m, c_i, c_j), _, _ = at
    for i in range(len(y)):
        out[i] = diagonal[i] * y[i] - a[i]
    _times(H_at, H, y, out)
    for n in range(len(U_m)):
        out[U_j[n]] += J[U_m[n]] * costate[U_i[n]]
    for i in range(len(c)):
        c[i] = -b_c[i]
    for n in range(len(c_m)):
        c[c_i[n]] += W[c_i[n]] * J[c_m[n]] * y[c_j[n]]
    for n in range(len(c_m)):
        out[c_j[n]] += J[c_m[n]] * c[c_i[n]]


@compiled
def _solve(
    shape: Any, at: Any, H_at: Any, J: Any, H: Any, diagonal: Any, W: Any, lu: Any, pivots: Any, X: Any, V: Any, F: Any, L: Any, K: Any,
    G: Any, D: Any, order: Any, rank: int, free: Any, gain: Any, start: Any, a: Any, b_e: Any, b: Any, p: Any, y: Any, end: Any, r: Any,
    s: Any,
) -> None:  # fmt: skip
    N, nz, nx, nu, nc, ne, nw = shape
    (U_m, U_i, U_j), _, rows, columns = at
    start_L, start_G = start
    nv = nz + nx
    x0, u0 = np.zeros((N, nx)), np.zeros((N, nu))
    y0, bent, v, c = np.zeros(nv + nu), np.zeros(nv + nu), np.zeros(nx), np.zeros(nc)
    q, dw, z, costate = np.zeros(nw), np.zeros(nw), np.zeros(nz), np.zeros(nz)
    f = -b_e
    for k in range(N - 1, -1, -1):
        # Unknowns and new states by the right side alone; the derivative of the cost to come by (dz, du) there.
        x = x0[k]
        for i in range(nx):
            x[i] = b[k, rows[i]]
        lu_solve_one(lu[k], pivots[k], x)
        for i in range(nx):
            y0[nz + columns[i]] = x[i]
        for i in range(nz):
            z[i] = -b[k, nx + i]
        for n in range(len(U_m)):
            z[U_i[n]] += J[k, U_m[n]] * y0[U_j[n]]
        np.dot(V[k + 1], z, costate)
        costate += p[k + 1]
        _bend(at, H_at, J[k], H[k], diagonal[k], W[k], a[k], b[k, nx + nz :], y0, costate, c, bent)
        for i in range(nx):
            v[i] = bent[nz + columns[i]]
        if nx > 0:
            np.dot(X[k].T, v, q)
        else:
            q[:] = 0.0
        q[:nz] += bent[:nz]
        q[nz : nz + nu] += bent[nv:]
        if k == 0:
            for i in range(nz):
                add(q[nz : nz + nu], q[i], gain[i])
        for i in range(ne):
            f[i] += dot(F[k + 1, i], z)
            for j in range(nu):
                f[i] += G[k, j, i] * q[nz + j]
        p[k] = q[:nz]
        for m in range(nu):
            add(p[k], q[nz + m], K[k, m])
        u0[k] = -q[nz : nz + nu]
        forward_back(L[k], u0[k])
    # The end, and the start where it is free.
    nf = len(free)
    ds, first = np.zeros(ne), np.zeros(nf)
    for i in range(nf):
        first[i] = -p[0, free[i]]
        for j in range(ne):
            f[j] += start_G[i, j] * p[0, free[i]]
    if nf > 0:
        forward_back(start_L, first)
    chosen = np.zeros(rank)
    for i in range(rank):
        chosen[i] = f[order[i]]
    forward_back(D[:rank, :rank], chosen)
    for i in range(rank):
        ds[order[i]] = chosen[i]
    z[:] = 0.0
    for i in range(nf):
        z[free[i]] = first[i]
        for j in range(ne):
            z[free[i]] += start_G[i, j] * ds[j]
    s[:] = ds
    for k in range(N):
        dw[:nz] = z
        for i in range(nu):
            dw[nz + i] = u0[k, i] + dot(K[k, i], z) + dot(G[k, i], ds)
        if k == 0:
            for i in range(nz):
                dw[i] += dot(gain[i], dw[nz : nz + nu])
        y[k, :nz] = dw[:nz]
        y[k, nv:] = dw[nz : nz + nu]
        if nx > 0:
            np.dot(X[k], dw, v)
        for i in range(nx):
            y[k, nz + columns[i]] = x0[k, i] + v[i]
        # New states from the derivatives themselves, not from A and B: exact also where these are not.
        for i in range(nz):
            z[i] = -b[k, nx + i]
        for n in range(len(U_m)):
            z[U_i[n]] += J[k, U_m[n]] * y[k, U_j[n]]
        np.dot(V[k + 1], z, costate)
        costate += p[k + 1]
        for i in range(ne):
            add(costate, ds[i], F[k + 1, i])
        r[k, nx : nx + nz] = costate
        _bend(at, H_at, J[k], H[k], diagonal[k], W[k], a[k], b[k, nx + nz :], y[k], costate, c, bent)
        r[k, nx + nz :] = c
        for i in range(nx):
            v[i] = -bent[nz + columns[i]]
        lu_solve_transposed(lu[k], pivots[k], v)
        for i in range(nx):
            r[k, rows[i]] = v[i]
    end[:] = z


@compiled
def _multiply(J_at: Any, H_at: Any, J: Any, H: Any, diagonal: Any, y: Any, r: Any, out_y: Any, out_r: Any) -> None:
    """(H + diagonal) dy + J^T dr and J dy of all steps."""
    J_row, J_col = J_at
    for k in range(len(y)):
        for i in range(y.shape[1]):
            out_y[k, i] = diagonal[k, i] * y[k, i]
        _times(H_at, H[k], y[k], out_y[k])
        for m in range(len(J_row)):
            i, j = J_row[m], J_col[m]
            out_r[k, i] += J[k, m] * y[k, j]
            out_y[k, j] += J[k, m] * r[k, i]


@compiled
def _along(J_at: Any, J: Any, y: Any, out: Any) -> None:
    """J y of all steps."""
    J_row, J_col = J_at
    for k in range(len(y)):
        for m in range(len(J_row)):
            out[k, J_row[m]] += J[k, m] * y[k, J_col[m]]


@compiled
def _gradient(nz: int, nx: int, J_at: Any, J: Any, r: Any, y: Any, out: Any, sizes: Any, rows: Any) -> None:
    """Adds J^T r and what new states have of it to ``out``; sums of absolute values of all terms, the largest ones of all steps."""
    J_row, J_col = J_at
    by_column, by_row = np.zeros(len(sizes)), np.zeros(len(rows))
    for k in range(len(r)):
        for j in range(len(sizes)):
            by_column[j] = abs(out[k, j])
        by_row[:] = 0.0
        for m in range(len(J_row)):
            i, j, value = J_row[m], J_col[m], J[k, m]
            out[k, j] += value * r[k, i]
            by_column[j] += abs(value * r[k, i])
            by_row[i] += abs(value * y[k, j])
        if k > 0:
            for j in range(nz):
                out[k, j] -= r[k - 1, nx + j]
                by_column[j] += abs(r[k - 1, nx + j])
        for j in range(len(sizes)):
            sizes[j] = max(sizes[j], by_column[j])
        for i in range(len(rows)):
            rows[i] = max(rows[i], by_row[i])
