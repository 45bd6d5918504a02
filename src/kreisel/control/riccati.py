r"""The linear equations of one Newton iteration for a problem with stages, at a cost proportional to the number of steps.

With increments of y_k = (z_k, x_k, u_k) and of the multipliers of (R, U - z_{k+1}, c) and e, the system is

.. math::

   H_k\,dy_k + R_y^T dr^R_k + U_y^T d\lambda_k + c_y^T dr^c_k - (d\lambda_{k-1}, 0, 0) &= a_k, \qquad
   R_y\,dy_k = b^R_k, \quad U_y\,dy_k - dz_{k+1} = b^U_k, \quad W c_y\,dy_k - dr^c_k = b^c_k, \\
   H_N\,dz_N - d\lambda_{N-1} + e_z^T ds &= a_N, \qquad e_z\,dz_N = b^e \quad\text{or}\quad W^e e_z\,dz_N - ds = b^e,

the last ones for equations and for inequalities of the end (W: what a barrier or a penalty makes of a row). Three eliminations follow
each other, from the last step to the first:

- R_x is square: dx = X (dz, du) + R_x^{-1} b^R with X = -R_x^{-1} (R_z, R_u), and dz_{k+1} = A dz + B du + b.
- The controls: with the costate d\lambda = V dz_{k+1} + p + F^T ds of the steps to come,
  Q_{uu} du = -(Q_{uz} dz + q_u + (F B)^T ds), Q = E^T (H + c_y^T W c_y) E + (A, B)^T V (A, B), E = (1, X, 1).
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
from kreisel.engine.native import compiled

Array = NDArray[np.float64]

#: Answers of a factorisation: done, or (with the step) that R_x is singular, that Q_uu is not positive definite.
DONE, SINGULAR, NOT_CONVEX = 0, 1, 2

#: An equation of the end follows from others if what these leave of its square, as a fraction, is no more than this.
DEPENDENT = 1e-11


@dataclass
class Vector:
    """A vector of the system: one entry per unknown, and per equation.

    y (N, y), end (z,): increments dy and dz_N, or a and a_N; r (N, rows), s (e,): those of multipliers, or right sides of rows.
    """

    y: Array
    end: Array
    r: Array
    s: Array

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.y + other.y, self.end + other.end, self.r + other.r, self.s + other.s)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.y - other.y, self.end - other.end, self.r - other.r, self.s - other.s)


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
        nw = s.z + s.u
        self._shape = np.array([N, s.z, s.x, s.u, s.c, s.e])
        # Numbers of y among w = (z, u), or -1 - (number in x).
        self._place = np.concatenate([np.arange(s.z), -1 - np.arange(s.x), s.z + np.arange(s.u)]).astype(np.int64)
        self._J = tuple(np.ascontiguousarray(i) for i in stages.jacobian_pattern)
        self._H = tuple(np.ascontiguousarray(i) for i in stages.hessian_pattern)
        self._free = np.flatnonzero(stages.free)
        self._lu, self._pivots = np.zeros((N, s.x, s.x)), np.zeros((N, s.x), dtype=np.int64)
        self._X, self._AB, self._C = np.zeros((N, s.x, nw)), np.zeros((N, s.z, nw)), np.zeros((N, s.c, nw))
        self._V, self._F = np.zeros((N + 1, s.z, s.z)), np.zeros((N + 1, s.e, s.z))
        self._L, self._K, self._G = np.zeros((N, s.u, s.u)), np.zeros((N, s.u, s.z)), np.zeros((N, s.u, s.e))
        nf = len(self._free)
        self._start = np.zeros((nf, nf)), np.zeros((nf, s.e))
        #: D, and a measure of what was added up to get its diagonal.
        self.D, self.reach = np.zeros((s.e, s.e)), np.zeros(s.e)
        #: Independent equations of the end: the first ones, as many as the rank, in this order.
        self.order, self.rank = np.arange(s.e), s.e
        self.chosen = np.ones(s.e, dtype=bool)
        self.failed_at = 0

    def factor(self, m: Matrix, rho: Array | None = None) -> int:
        """Factorises, with ``rho`` (e,) as in the formulas for equations of the end. Without it, those of them that are independent are
        chosen anew; the others are left out until the next choice.
        """
        ne = self.stages.sizes.e
        self.matrix = m
        if rho is None:
            self.order, self.rank = np.arange(ne), ne
        self.rho = np.zeros(ne) if rho is None else np.where(self.chosen, rho, 0.0)
        self._V[-1] = m.H_end + m.e_z.T @ ((self.rho + m.W_end)[:, None] * m.e_z)
        self._F[-1] = np.where(m.equations[:, None], m.e_z, 0.0)
        answer, self.failed_at = _factor(
            self._shape, self._place, self._J, self._H, m.J, m.H, m.diagonal, m.W, self._lu, self._pivots, self._X,
            self._AB, self._C, self._V, self._F, self._L, self._K, self._G, self.D, self.reach, self._free, self._start,
        )  # fmt: skip
        if answer != DONE:
            return int(answer)
        if rho is None:
            self._D_factor = self.D.copy()
            self.rank = _pivoted_cholesky(self._D_factor, self.reach, np.sum(m.e_z**2, axis=1), self.order)
            self.chosen = np.zeros(ne, dtype=bool)
            self.chosen[self.order[: self.rank]] = True
        else:
            chosen = self.order[: self.rank]
            self._D_factor = self.D[np.ix_(chosen, chosen)]
            if not _cholesky(self._D_factor):
                return NOT_CONVEX
        return DONE

    def solve(self, b: Vector) -> Vector:
        """The solution for the right side ``b``."""
        m, s = self.matrix, self.stages.sizes
        equations = m.equations
        N = self.stages.steps
        out = Vector(np.zeros_like(b.y), np.zeros_like(b.end), np.zeros_like(b.r), np.zeros_like(b.s))
        p = np.zeros((N + 1, s.z))
        p[-1] = -b.end - m.e_z.T @ np.where(equations, self.rho * b.s, b.s)
        _solve(
            self._shape, self._place, self._J, self._H, m.J, m.H, m.diagonal, m.W, self._lu, self._pivots, self._X,
            self._AB, self._C, self._V, self._F, self._L, self._K, self._G, self._D_factor, self.order, self.rank, self._free, self._start,
            b.y, np.where(equations, b.s, 0.0), b.r, p, out.y, out.end, out.r, out.s,
        )  # fmt: skip
        rows = m.e_z @ out.end
        out.s[:] = np.where(equations, out.s + self.rho * (rows - b.s), m.W_end * rows - b.s)
        return out

    def times(self, m: Matrix, d: Vector) -> Vector:
        """The product of the system (without rho) with a vector."""
        s = self.stages.sizes
        y, r = np.zeros_like(d.y), np.zeros_like(d.r)
        _multiply(self._J, self._H, m.J, m.H, m.diagonal, d.y, d.r, y, r)
        z = slice(s.x, s.x + s.z)
        r[:-1, z] -= d.y[1:, : s.z]
        r[-1, z] -= d.end
        y[1:, : s.z] -= d.r[:-1, z]
        if s.c:
            c = slice(s.x + s.z, None)
            r[:, c] = m.W * r[:, c] - np.where(m.path_equations, 0.0, d.r[:, c])
        # The start is given where it is not free.
        y[0, : s.z] = np.where(self.stages.free, y[0, : s.z], 0.0)
        rows = m.e_z @ d.end
        return Vector(y, m.H_end @ d.end - d.r[-1, z] + m.e_z.T @ d.s, r, np.where(m.equations, rows, m.W_end * rows - d.s))

    def transposed(self, J: Array, e_z: Array, r: Array, s: Array) -> tuple[Array, Array]:
        """The derivative of r . (R, U - z_{k+1}, c) + s . e by y (N, y) and by z_N (z,); zero where the start is given."""
        n = self.stages.sizes
        y = np.zeros((self.stages.steps, n.y))
        _transposed(self._J, J, r, y)
        z = slice(n.x, n.x + n.z)
        y[1:, : n.z] -= r[:-1, z]
        y[0, : n.z] = np.where(self.stages.free, y[0, : n.z], 0.0)
        return y, e_z.T @ s - r[-1, z]

    def sizes(self, J: Array, e_z: Array, r: Array, s: Array, y: Array) -> tuple[Array, Array, Array]:
        """Sums of absolute values of the terms in that derivative (N, y), (z,), and in J y (N, rows)."""
        n = self.stages.sizes
        by_y, rows = np.zeros_like(y), np.zeros((self.stages.steps, n.rows))
        _sizes(self._J, J, r, y, by_y, rows)
        z = slice(n.x, n.x + n.z)
        by_y[1:, : n.z] += np.abs(r[:-1, z])
        return by_y, np.abs(e_z).T @ np.abs(s) + np.abs(r[-1, z]), rows


@compiled
def _cholesky(A: Any) -> bool:
    """A = L L^T in place of the lower triangle; whether A is positive definite."""
    n = len(A)
    for j in range(n):
        d = A[j, j]
        for i in range(j):
            d -= A[j, i] * A[j, i]
        # Also what is not a number is not positive.
        if not d > 1e-14 * abs(A[j, j]) or d == np.inf:
            return False
        d = np.sqrt(d)
        A[j, j] = d
        for i in range(j + 1, n):
            x = A[i, j]
            for k in range(j):
                x -= A[i, k] * A[j, k]
            A[i, j] = x / d
    return True


@compiled
def _pivoted_cholesky(A: Any, reach: Any, size: Any, order: Any) -> int:
    """The same for a matrix that is only positive semi-definite, of rows and columns in an ``order`` that it finds; gives the rank."""
    n = len(A)
    for i in range(n):
        order[i] = i
    # Below this, a row is round-off alone.
    scale = np.maximum(np.diag(A), 1e-14 * reach)
    for j in range(n):
        best, at = 0.0, j
        for i in range(j, n):
            d = A[i, i] / size[i] if A[i, i] > DEPENDENT * scale[i] else 0.0
            if d > best:
                best, at = d, i
        if best == 0.0:
            return j
        order[j], order[at] = order[at], order[j]
        size[j], size[at] = size[at], size[j]
        scale[j], scale[at] = scale[at], scale[j]
        for i in range(n):
            A[i, j], A[i, at] = A[i, at], A[i, j]
        for i in range(n):
            A[j, i], A[at, i] = A[at, i], A[j, i]
        d = np.sqrt(A[j, j])
        A[j, j] = d
        for i in range(j + 1, n):
            A[i, j] /= d
        for i in range(j + 1, n):
            for k in range(j + 1, n):
                A[i, k] -= A[i, j] * A[k, j]
    return n


@compiled
def _forward_back(L: Any, B: Any) -> None:
    """B <- (L L^T)^{-1} B."""
    n = len(L)
    for i in range(n):
        for k in range(i):
            B[i] -= L[i, k] * B[k]
        B[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            B[i] -= L[k, i] * B[k]
        B[i] /= L[i, i]


@compiled
def _lu_factor(A: Any, pivots: Any) -> bool:
    """P A = L U in place, by rows with the largest pivot of a column; whether A is regular."""
    n = len(A)
    for k in range(n):
        best, at = abs(A[k, k]), k
        for i in range(k + 1, n):
            if abs(A[i, k]) > best:
                best, at = abs(A[i, k]), i
        pivots[k] = at
        if not best > 0.0 or best == np.inf:
            return False
        if at != k:
            for j in range(n):
                A[k, j], A[at, j] = A[at, j], A[k, j]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
    return True


@compiled
def _lu_solve(A: Any, pivots: Any, B: Any) -> None:
    """B <- A^{-1} B."""
    n, m = B.shape
    for k in range(n):
        at = pivots[k]
        if at != k:
            for j in range(m):
                B[k, j], B[at, j] = B[at, j], B[k, j]
    for i in range(n):
        for k in range(i):
            factor = A[i, k]
            if factor != 0.0:
                for j in range(m):
                    B[i, j] -= factor * B[k, j]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            factor = A[i, k]
            if factor != 0.0:
                for j in range(m):
                    B[i, j] -= factor * B[k, j]
        factor = 1.0 / A[i, i]
        for j in range(m):
            B[i, j] *= factor


@compiled
def _lu_solve_transposed(A: Any, pivots: Any, b: Any) -> None:
    """b <- A^{-T} b."""
    n = len(b)
    for i in range(n):
        b[i] /= A[i, i]
        for j in range(i + 1, n):
            b[j] -= A[i, j] * b[i]
    for i in range(n - 1, -1, -1):
        for j in range(i):
            b[j] -= A[i, j] * b[i]
    for k in range(n - 1, -1, -1):
        at = pivots[k]
        b[k], b[at] = b[at], b[k]


@compiled
def _factor(
    shape: Any, place: Any, J_at: Any, H_at: Any, J: Any, H: Any, diagonal: Any, W: Any,
    lu: Any, pivots: Any, X: Any, AB: Any, C: Any, V: Any, F: Any, L: Any, K: Any, G: Any, D: Any, reach: Any, free: Any, start: Any,
) -> tuple[int, int]:  # fmt: skip
    N, nz, nx, nu, nc, ne = shape
    (J_row, J_col), (H_row, H_col), (start_L, start_G) = J_at, H_at, start
    nw = nz + nu
    T_w, T_x = np.zeros((nw, nw)), np.zeros((nx, nw))
    VAB, Q, WC = np.zeros((nz, nw)), np.zeros((nw, nw)), np.zeros((nc, nw))
    FAB = np.zeros((ne, nw))
    D[:] = 0.0
    reach[:] = 0.0
    for k in range(N - 1, -1, -1):
        # dx by (dz, du).
        Xk, ABk, Ck, R_x = X[k], AB[k], C[k], lu[k]
        R_x[:] = 0.0
        Xk[:] = 0.0
        for m in range(len(J_row)):
            i, j = J_row[m], place[J_col[m]]
            if i < nx:
                if j < 0:
                    R_x[i, -1 - j] = J[k, m]
                else:
                    Xk[i, j] = -J[k, m]
        if not _lu_factor(R_x, pivots[k]):
            return 1, k
        _lu_solve(R_x, pivots[k], Xk)
        # dz_{k+1} and the path conditions by (dz, du).
        ABk[:] = 0.0
        Ck[:] = 0.0
        for m in range(len(J_row)):
            i, j, value = J_row[m] - nx, place[J_col[m]], J[k, m]
            if i >= nz:
                target = Ck[i - nz]
            elif i >= 0:
                target = ABk[i]
            else:
                continue
            if j < 0:
                for w in range(nw):
                    target[w] += value * Xk[-1 - j, w]
            else:
                target[j] += value
        # The Hessian by (dz, du): T = H E, Q = E^T T.
        T_w[:] = 0.0
        T_x[:] = 0.0
        for m in range(len(H_row)):
            value = H[k, m]
            for side in range(2):
                i, j = (H_row[m], H_col[m]) if side == 0 else (H_col[m], H_row[m])
                if side == 1 and i == j:
                    break
                i, j = place[i], place[j]
                target = T_x[-1 - i] if i < 0 else T_w[i]
                if j < 0:
                    for w in range(nw):
                        target[w] += value * Xk[-1 - j, w]
                else:
                    target[j] += value
        for i in range(len(place)):
            if diagonal[k, i] != 0.0:
                j = place[i]
                if j < 0:
                    for w in range(nw):
                        T_x[-1 - j, w] += diagonal[k, i] * Xk[-1 - j, w]
                else:
                    T_w[j, j] += diagonal[k, i]
        if nx > 0:
            np.dot(Xk.T, T_x, Q)
            Q += T_w
        else:
            Q[:] = T_w
        if nc > 0:
            for i in range(nc):
                WC[i] = W[k, i] * Ck[i]
            Q += np.dot(Ck.T, WC)
        np.dot(V[k + 1], ABk, VAB)
        Q += np.dot(ABk.T, VAB)
        # du by dz and the multipliers of the end.
        Lk, Kk, Gk = L[k], K[k], G[k]
        Lk[:] = Q[nz:, nz:]
        if not _cholesky(Lk):
            return 2, k
        Kk[:] = -Q[nz:, :nz]
        _forward_back(Lk, Kk)
        Vk = V[k]
        for i in range(nz):
            for j in range(i + 1):
                value = 0.5 * (Q[i, j] + Q[j, i])
                for m in range(nu):
                    value += Q[nz + m, i] * Kk[m, j]
                Vk[i, j] = value
                Vk[j, i] = value
        if ne > 0:
            np.dot(F[k + 1], ABk, FAB)
            largest = 0.0
            for m in range(nu):
                for j in range(nz):
                    largest = max(largest, ABk[j, nz + m] ** 2 / Q[nz + m, nz + m])
            for i in range(ne):
                for j in range(nu):
                    Gk[j, i] = -FAB[i, nz + j]
            _forward_back(Lk, Gk)
            for i in range(ne):
                for j in range(nz):
                    value = FAB[i, j]
                    for m in range(nu):
                        value += FAB[i, nz + m] * Kk[m, j]
                    F[k, i, j] = value
                for j in range(ne):
                    for m in range(nu):
                        D[i, j] -= FAB[i, nz + m] * Gk[m, j]
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
        if not _cholesky(start_L):
            return 2, 0
        _forward_back(start_L, start_G)
        for i in range(ne):
            for j in range(ne):
                for m in range(nf):
                    D[i, j] -= F[0, i, free[m]] * start_G[m, j]
            for m in range(nf):
                reach[i] += F[0, i, free[m]] ** 2 / V[0, free[m], free[m]]
    return 0, 0


@compiled
def _solve(
    shape: Any, place: Any, J_at: Any, H_at: Any, J: Any, H: Any, diagonal: Any, W: Any,
    lu: Any, pivots: Any, X: Any, AB: Any, C: Any, V: Any, F: Any, L: Any, K: Any, G: Any, D: Any, order: Any, rank: int, free: Any,
    start: Any, a: Any, b_e: Any, b: Any, p: Any, y: Any, end: Any, r: Any, s: Any,
) -> None:  # fmt: skip
    N, nz, nx, nu, nc, ne = shape
    (J_row, J_col), (H_row, H_col), (start_L, start_G) = J_at, H_at, start
    nw = nz + nu
    x0, z0, u0 = np.zeros((N, nx)), np.zeros((N, nz)), np.zeros((N, nu))
    v, q = np.zeros(nz + nx + nu), np.zeros(nw)
    f = -b_e
    for k in range(N - 1, -1, -1):
        x = x0[k]
        for i in range(nx):
            x[i] = b[k, i]
        _lu_solve(lu[k], pivots[k], x.reshape(nx, 1))
        # v = H e_0 - a + c_y^T (W c_x x_0 - b_c), in the order of y; z_0 = U_x x_0 - b_U.
        z = z0[k]
        for i in range(nz):
            z[i] = -b[k, nx + i]
        for i in range(len(place)):
            v[i] = -a[k, i]
            if place[i] < 0:
                v[i] += diagonal[k, i] * x[-1 - place[i]]
        for m in range(len(H_row)):
            i, j = H_row[m], H_col[m]
            if place[j] < 0:
                v[i] += H[k, m] * x[-1 - place[j]]
            if i != j and place[i] < 0:
                v[j] += H[k, m] * x[-1 - place[i]]
        c = np.zeros(nc)
        for m in range(len(J_row)):
            i, j = J_row[m] - nx, place[J_col[m]]
            if i >= nz and j < 0:
                c[i - nz] += J[k, m] * x[-1 - j]
            elif i >= 0 and j < 0:
                z[i] += J[k, m] * x[-1 - j]
        for i in range(nc):
            c[i] = W[k, i] * c[i] - b[k, nx + nz + i]
        costate = p[k + 1] + np.dot(V[k + 1], z)
        q[:] = np.dot(costate, AB[k])
        for w in range(nw):
            for i in range(nc):
                q[w] += C[k, i, w] * c[i]
        for i in range(len(place)):
            if place[i] < 0:
                for w in range(nw):
                    q[w] += v[i] * X[k, -1 - place[i], w]
            else:
                q[place[i]] += v[i]
        for i in range(ne):
            for j in range(nz):
                f[i] += F[k + 1, i, j] * z[j]
            for j in range(nu):
                f[i] += G[k, j, i] * q[nz + j]
        for i in range(nz):
            value = q[i]
            for m in range(nu):
                value += K[k, m, i] * q[nz + m]
            p[k, i] = value
        u = u0[k]
        for i in range(nu):
            u[i] = -q[nz + i]
        _forward_back(L[k], u)
    # The end, and the start where it is free.
    nf = len(free)
    dz, ds, first = np.zeros(nz), np.zeros(ne), np.zeros(nf)
    for i in range(nf):
        first[i] = -p[0, free[i]]
        for j in range(ne):
            f[j] += start_G[i, j] * p[0, free[i]]
    if nf > 0:
        _forward_back(start_L, first)
    chosen = np.zeros(rank)
    for i in range(rank):
        chosen[i] = f[order[i]]
    _forward_back(D[:rank, :rank], chosen)
    for i in range(rank):
        ds[order[i]] = chosen[i]
    for i in range(nf):
        dz[free[i]] = first[i]
        for j in range(ne):
            dz[free[i]] += start_G[i, j] * ds[j]
    s[:] = ds
    dw = np.zeros(nw)
    for k in range(N):
        dw[:nz] = dz
        for i in range(nu):
            value = u0[k, i]
            for j in range(nz):
                value += K[k, i, j] * dz[j]
            for j in range(ne):
                value += G[k, i, j] * ds[j]
            dw[nz + i] = value
        x = x0[k]
        x += np.dot(X[k], dw)
        for i in range(len(place)):
            y[k, i] = x[-1 - place[i]] if place[i] < 0 else dw[place[i]]
        # z_0 + A dz + B du, but from the derivatives themselves: exact also where these are not.
        for i in range(nz):
            dz[i] = -b[k, nx + i]
        c = np.zeros(nc)
        for m in range(len(J_row)):
            i = J_row[m] - nx
            if i >= nz:
                c[i - nz] += J[k, m] * y[k, J_col[m]]
            elif i >= 0:
                dz[i] += J[k, m] * y[k, J_col[m]]
        r[k, nx : nx + nz] = p[k + 1] + np.dot(V[k + 1], dz)
        if ne > 0:
            r[k, nx : nx + nz] += np.dot(ds, F[k + 1])
        for i in range(nc):
            r[k, nx + nz + i] = W[k, i] * c[i] - b[k, nx + nz + i]
        # R_x^T dr = a_x - (H dy)_x - U_x^T d lambda - c_x^T dr_c.
        for i in range(len(place)):
            v[i] = a[k, i] - diagonal[k, i] * y[k, i]
        for m in range(len(H_row)):
            i, j = H_row[m], H_col[m]
            v[i] -= H[k, m] * y[k, j]
            if i != j:
                v[j] -= H[k, m] * y[k, i]
        for m in range(len(J_row)):
            if J_row[m] >= nx:
                v[J_col[m]] -= J[k, m] * r[k, J_row[m]]
        for i in range(nx):
            x[i] = v[nz + i]
        _lu_solve_transposed(lu[k], pivots[k], x)
        for i in range(nx):
            r[k, i] = x[i]
    end[:] = dz


@compiled
def _multiply(J_at: Any, H_at: Any, J: Any, H: Any, diagonal: Any, y: Any, r: Any, out_y: Any, out_r: Any) -> None:
    """H dy + J^T dr and J dy of all steps."""
    (J_row, J_col), (H_row, H_col) = J_at, H_at
    for k in range(len(y)):
        for i in range(y.shape[1]):
            out_y[k, i] += diagonal[k, i] * y[k, i]
        for m in range(len(H_row)):
            i, j = H_row[m], H_col[m]
            out_y[k, i] += H[k, m] * y[k, j]
            if i != j:
                out_y[k, j] += H[k, m] * y[k, i]
        for m in range(len(J_row)):
            i, j = J_row[m], J_col[m]
            out_r[k, i] += J[k, m] * y[k, j]
            out_y[k, j] += J[k, m] * r[k, i]


@compiled
def _transposed(J_at: Any, J: Any, r: Any, out: Any) -> None:
    """J^T r of all steps."""
    J_row, J_col = J_at
    for k in range(len(r)):
        for m in range(len(J_row)):
            out[k, J_col[m]] += J[k, m] * r[k, J_row[m]]


@compiled
def _sizes(J_at: Any, J: Any, r: Any, y: Any, by_y: Any, rows: Any) -> None:
    """|J^T| |r| and |J| |y| of all steps."""
    J_row, J_col = J_at
    for k in range(len(r)):
        for m in range(len(J_row)):
            i, j, value = J_row[m], J_col[m], abs(J[k, m])
            by_y[k, j] += value * abs(r[k, i])
            rows[k, i] += value * abs(y[k, j])
