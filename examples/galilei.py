r"""A group of one's own: the Galilean group, from product, inverse, exponential and logarithm.

An element (R, u, x, t) is a rotation, a boost, a shift in space and one in time; as a matrix

.. math:: \begin{pmatrix} R & u & x\\ 0 & 1 & t\\ 0 & 0 & 1\end{pmatrix},

so that (R, u, x, t) o (S, w, y, s) = (RS, u + Rw, x + Ry + u s, t + s). The exponential of the matrix of (W, a, c, tau) has the
rotation exp(W), the boost D a, the shift D c + tau E a with

.. math:: D = \sum_k \frac{\hat W^k}{(k+1)!} = T_{SO3}(W)^T, \qquad
          E = \sum_k \frac{\hat W^k}{(k+2)!} = \tfrac12 I + f_3 \hat W + g \hat W^2, \quad
          g = \frac{x^2/2 - 1 + \cos x}{x^4}.

Nothing else is written here: adjoint maps, tangent operators, their derivatives, differences and interpolation follow from
:class:`kreisel.groups.Group`.
"""

import casadi as ca
import numpy as np

from kreisel.groups import SO3, Group
from kreisel.symbolic import smallangle as sa
from kreisel.symbolic.vectors import block, skew


class Galilei(Group):
    """Rotation (row by row), boost, shift in space, shift in time: 16 numbers, 10 dimensions."""

    name, n_params, dim, n_matrix = "Galilei", 16, 10, 5
    element = "a rotation matrix (R^T R = I, det R = 1), a boost, a shift and a time"

    def compose(self, p, q):
        R, (u, x, t), (w, y, s) = SO3.matrix(p[:9]), split(p), split(q)
        return ca.vertcat(SO3.compose(p[:9], q[:9]), u + R @ w, x + R @ y + u * s, t + s)

    def inverse(self, q):
        R, (u, x, t) = SO3.matrix(q[:9]), split(q)
        return ca.vertcat(SO3.inverse(q[:9]), -R.T @ u, -R.T @ (x - u * t), -t)

    def exp(self, v):
        W, a, c, tau = v[:3], v[3:6], v[6:9], v[9]
        D, E = sums(W)
        return ca.vertcat(SO3.exp(W), D @ a, D @ c + tau * (E @ a), tau)

    def log(self, q):
        W, (u, x, t) = SO3.log(q[:9]), split(q)
        _, E = sums(W)
        D_inverse = SO3.Tinv(W).T
        a = D_inverse @ u
        return ca.vertcat(W, a, D_inverse @ (x - t * (E @ a)), t)

    def matrix(self, q):
        u, x, t = split(q)
        return block([[SO3.matrix(q[:9]), u, x], [ca.SX(1, 3), 1, t], [ca.SX(1, 4), 1]])

    def from_matrix(self, X):
        return ca.vertcat(SO3.from_matrix(X[:3, :3]), X[:3, 3], X[:3, 4], X[3, 4])

    def defect(self, q):
        return SO3.defect(q[:9])


def split(q):
    return q[9:12], q[12:15], q[15]


def sums(W):
    K, s = skew(W), W.T @ W
    # The closed form of g cancels for small x; up to 2 pi, where a logarithm ends, its series is all that is needed.
    g = sum((-1.0) ** k / np.prod(np.arange(1.0, 2 * k + 5)) * s**k for k in range(25))
    return SO3.T(W).T, ca.SX.eye(3) / 2 + sa.f3(s) * K + g * (K @ K)


GALILEI = Galilei()

if __name__ == "__main__":
    v = np.array([0.3, -0.2, 0.5, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.7])
    print("log(exp(v)) - v      ", np.abs(GALILEI.log(GALILEI.exp(v)) - v).max())
    print("T(v) Tinv(v) - I     ", np.abs(GALILEI.T(v) @ GALILEI.Tinv(v) - np.eye(10)).max())
    print("half way to exp(v)   ", GALILEI.interpolate(GALILEI.identity(), GALILEI.exp(v), 0.5).round(3))
