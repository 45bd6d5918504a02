r"""The free rigid body (Euler's top) by Jacobi's elliptic functions, attitude included."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.exact.checks import rotation_matrix, times, vector
from kreisel.exact.elliptic import Jacobi, first_kind, jacobi, quarter_period, third_kind
from kreisel.exact.turning import steady_rotation

Array = NDArray[np.float64]

#: Principal moments that differ by less, relatively, are equal.
EQUAL = 4 * np.finfo(float).eps


class FreeBody:
    r"""The motion of a rigid body without torque: J W' + W x J W = 0, R' = R W~.

    ``inertia``: three principal moments or a symmetric 3 x 3 matrix, in body axes. ``omega``: W(0), in body axes. ``rotation``: R(0).

    Let c be the principal axis about which the momentum JW circulates in the body (that of the largest moment if |JW|^2 > 2 E J_b, else of
    the smallest), b the axis of the intermediate moment, (a, b, c) right-handed. With u = p t + u(0),

    .. math:: W_a = A\,\mathrm{cn}\,u, \quad W_b = B\,\mathrm{sn}\,u, \quad W_c = C\,\mathrm{dn}\,u, \qquad
              p^2 = \frac{(J_c - J_b)(L^2 - 2 E J_a)}{J_a J_b J_c}, \quad m = \frac{(J_b - J_a)(2 E J_c - L^2)}{(J_c - J_b)(L^2 - 2 E J_a)}

    (L. D. Landau, E. M. Lifshitz, Mechanics, section 37). The momentum keeps its direction in space, and the body turns about it by

    .. math:: \psi = L\Bigl[\frac t{J_c} + \Bigl(\frac1{J_a} - \frac1{J_c}\Bigr)\frac{\Pi(n; u) - \Pi(n; u(0))}{p}\Bigr], \qquad
              n = \frac{J_c (J_a - J_b)}{J_a (J_c - J_b)} .

    Symmetric bodies (m = 0), the separatrix (m = 1) and permanent rotations are limits of the same formulas.

    >>> body = FreeBody((1, 2, 3), omega=(0.1, 2, 0.1))
    >>> round(body.period, 6), body.omega(0.0)
    (13.953032, array([0.1, 2. , 0.1]))
    """

    def __init__(self, inertia: ArrayLike, omega: ArrayLike, rotation: ArrayLike | None = None) -> None:
        J = np.array(inertia, dtype=float)
        J = np.diag(J) if J.shape == (3,) else J
        if J.shape != (3, 3) or not np.all(np.isfinite(J)) or not np.allclose(J, J.T, rtol=1e-12, atol=0):
            raise ValueError("FreeBody: inertia must be three principal moments or a symmetric 3 x 3 matrix")
        # The moments of a diagonal matrix are not touched.
        moments, axes = (np.diag(J).copy(), np.eye(3)) if not np.any(J - np.diag(np.diag(J))) else np.linalg.eigh(J)
        if moments.min() <= 0:
            raise ValueError(f"FreeBody: the principal moments of inertia must be positive, got {moments}")
        self.inertia = J
        self._W0, self._R0 = vector(omega, "FreeBody: omega"), rotation_matrix(rotation, "FreeBody: rotation")
        order = self._order(moments, axes.T @ self._W0)
        axes = axes[:, order]
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        self._axes, self._J = axes, moments[order]

    @staticmethod
    def _order(J: Array, W: Array) -> Array:
        """The axes a, b, c."""
        a, b, c = np.argsort(J, kind="stable")
        if J[c] - J[b] <= EQUAL * J[c]:  # the smallest is the axis of symmetry, or all are equal
            return np.array([c, b, a])
        if J[b] - J[a] <= EQUAL * J[c]:
            return np.array([a, b, c])
        # L^2 - 2 E J_b
        side = J[c] * (J[c] - J[b]) * W[c] ** 2 - J[a] * (J[b] - J[a]) * W[a] ** 2
        return np.array([a, b, c] if side >= 0 else [c, b, a])

    @property
    def energy(self) -> float:
        """The kinetic energy W . J W / 2."""
        return float(self._W0 @ self.inertia @ self._W0 / 2)

    @property
    def momentum(self) -> Array:
        """The angular momentum in space axes, R J W, which is constant."""
        return np.asarray(self._R0 @ self.inertia @ self._W0)

    @property
    def is_permanent(self) -> bool:
        """Whether the body turns about a fixed axis with constant velocity."""
        return self._elements is None

    @property
    def period(self) -> float:
        """After this time W returns; infinite on the separatrix, and for a permanent rotation."""
        if self._elements is None:
            return np.inf
        p, m1 = self._elements[1], self._elements[2]
        return 4 * quarter_period(m1) / p

    def omega(self, t: ArrayLike) -> Array:
        """W in body axes; shape (..., 3) for t of any shape."""
        t = times(t)
        if self._elements is None:
            return np.broadcast_to(self._W0, (*t.shape, 3)).copy()
        return np.asarray(self._principal(self._phase(t)) @ self._axes.T)

    def rotation(self, t: ArrayLike) -> Array:
        """R, body to space; shape (..., 3, 3)."""
        t = times(t)
        if self._elements is None:
            return np.asarray(self._R0 @ steady_rotation(self._W0, t))
        _, p, m1, _ = self._elements
        Ja, Jb, Jc = self._J
        L = float(np.linalg.norm(self._J * (self._axes.T @ self._W0)))
        n, rest = Jc * (Ja - Jb) / (Ja * (Jc - Jb)), Jb * (Jc - Ja) / (Ja * (Jc - Jb))
        start, now = self._phase(np.zeros(())), self._phase(t)
        psi = L * (t / Jc + (1 / Ja - 1 / Jc) * (third_kind(n, now, m1, rest) - third_kind(n, start, m1, rest)) / p)
        turn = steady_rotation((0, 0, 1), psi)
        # In a frame that goes with the momentum in the body, the body turns about the third axis.
        return np.asarray(self._R0 @ self._axes @ self._along(start) @ turn @ np.swapaxes(self._along(now), -1, -2) @ self._axes.T)

    @cached_property
    def _elements(self) -> tuple[Array, float, float, float] | None:
        """(A, B, C), p, m1 and u(0); None for a permanent rotation."""
        J, W = self._J, self._axes.T @ self._W0
        Ja, Jb, Jc = J
        gap_a, gap_b = abs(Jc - Ja), abs(Jc - Jb)
        if np.count_nonzero(W) <= 1 or gap_b == 0 or (gap_b <= EQUAL * Jc and gap_a <= EQUAL * Jc):
            return None
        Q = Ja * gap_a * W[0] ** 2 + Jb * gap_b * W[1] ** 2  # |2 E J_c - L^2|
        P = Jb * abs(Jb - Ja) * W[1] ** 2 + Jc * gap_a * W[2] ** 2  # |L^2 - 2 E J_a|
        if Q == 0 or P == 0 or W[2] == 0:  # about c, or in the plane normal to an axis of symmetry
            return None
        side = abs(Jc * gap_b * W[2] ** 2 - Ja * abs(Jb - Ja) * W[0] ** 2)  # |L^2 - 2 E J_b|
        m1 = 1.0 if abs(Jb - Ja) <= EQUAL * max(J) else min(1.0, float(side * gap_a / (gap_b * P)))
        A = np.copysign(np.sqrt(Q / (Ja * gap_a)), W[0])
        C = np.copysign(np.sqrt(P / (Jc * gap_a)), W[2])
        B = np.sqrt(Q / (Jb * gap_b)) * np.sign(A * C * (Jc - Jb))
        sn, cn = W[1] / B, W[0] / A
        length = float(np.hypot(sn, cn))
        return np.array([A, B, C]), float(np.sqrt(gap_b * P / (Ja * Jb * Jc))), m1, first_kind(sn / length, cn / length, m1)

    def _phase(self, t: Array) -> Jacobi:
        assert self._elements is not None
        _, p, m1, u0 = self._elements
        return jacobi(p * t + u0, m1)

    def _principal(self, j: Jacobi) -> Array:
        """W in the axes a, b, c."""
        assert self._elements is not None
        return np.stack([j.cn, j.sn, j.dn], axis=-1) * self._elements[0]

    def _along(self, j: Jacobi) -> Array:
        """A right-handed frame in the axes a, b, c with the third axis along the momentum."""
        L = self._principal(j) * self._J
        L = L / np.linalg.norm(L, axis=-1, keepdims=True)
        r = np.hypot(L[..., 0], L[..., 1])
        x = np.stack([-L[..., 1] / r, L[..., 0] / r, np.zeros_like(r)], axis=-1)
        return np.stack([x, np.cross(L, x), L], axis=-1)
