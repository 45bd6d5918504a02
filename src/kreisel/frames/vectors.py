"""Vectors, bases and rotation matrices, as arrays of components: the small tools of kinematics. The last axis (or last two) counts.

Sources: Müller, 2.6 to 3.2.1; Sadlowski, 1.4 and 2.1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.rotations import AxisAngle
from kreisel.rotations.base import check_frame

Array = NDArray[np.float64]

#: What is off by more is no rounding.
TOLERANCE = 1e-9


def skew(a: ArrayLike) -> Array:
    """The matrix of the cross product, skew(a) @ b = a x b (Müller 2.32). Shapes (..., 3) -> (..., 3, 3).

    >>> skew([1, 2, 3]) @ [0, 0, 1]
    array([ 2., -1.,  0.])
    """
    x, y, z = np.moveaxis(_vectors(a, "skew: a"), -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def axial(A: ArrayLike) -> Array:
    """The vector of a skew matrix, the inverse of :func:`skew`; a matrix that is not skew is refused. Shapes (..., 3, 3) -> (..., 3)."""
    A = _matrices(A, "axial: A")
    if np.any(np.abs(A + np.swapaxes(A, -1, -2)) > TOLERANCE * (1 + np.abs(A).max(initial=0))):
        raise ValueError("axial: A is not skew (A^T = -A)")
    return _half_axial(A)


def unit(a: ArrayLike) -> Array:
    """a / |a|; a vector of length zero is refused. Shape (..., 3).

    >>> unit([0, 3, 4])
    array([0. , 0.6, 0.8])
    """
    a = _vectors(a, "unit: a")
    # By the largest component first, so that nothing under- or overflows.
    size = np.abs(a).max(axis=-1, keepdims=True)
    if np.any(size == 0):
        raise ValueError("unit: a vector of length zero has no direction")
    return np.asarray(a / size / np.linalg.norm(a / size, axis=-1, keepdims=True))


def angle(a: ArrayLike, b: ArrayLike) -> Array:
    """The angle between two vectors, 0 to pi, with small errors also where it is small: by the arc tangent of |a x b| and a . b."""
    a, b = unit(a), unit(b)
    return np.asarray(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))


def direction_cosines(a: ArrayLike) -> Array:
    """The cosines of the angles of a vector to the three axes; the sum of their squares is 1 (Müller, Remark 2.15). Shape (..., 3).

    Of a rotation: ``kr.rotations.DirectionCosines``.
    """
    return unit(a)


def from_axes(x: ArrayLike | None = None, y: ArrayLike | None = None, z: ArrayLike | None = None) -> Array:
    """The rotation matrix of a frame, its columns the unit vectors of its axes in space (Müller 3.3). Shape (..., 3, 3).

    From three axes, which must be right-handed and at right angles, of any length; or from two: the first keeps its direction, the
    second only its side, and the third follows by the cross product.

    >>> from_axes(x=(0, 2, 0), z=(1, 1, 3)).round(3)
    array([[ 0.   , -0.949,  0.316],
           [ 1.   ,  0.   ,  0.   ],
           [ 0.   ,  0.316,  0.949]])
    """
    given = {i: _vectors(a, f"from_axes: {'xyz'[i]}") for i, a in enumerate((x, y, z)) if a is not None}
    for i, a in given.items():
        if np.any(~np.any(a, axis=-1)):
            raise ValueError(f"from_axes: the {'xyz'[i]} axis has length zero")
    if len(given) == 3:
        R = np.stack(np.broadcast_arrays(*(unit(a) for a in given.values())), axis=-1)
        defect = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max()
        if defect > TOLERANCE:
            raise ValueError(f"from_axes: the axes are not at right angles: off by {defect:.3g}")
        if np.any(np.linalg.det(R) < 0):
            raise ValueError("from_axes: the axes are left-handed (x cross y = -z)")
        return R
    if len(given) != 2:
        raise ValueError("from_axes: give two or three axes")
    (i, first), (j, second) = given.items()
    first, second = np.broadcast_arrays(unit(first), unit(second))
    across = second - np.sum(first * second, axis=-1, keepdims=True) * first
    if np.any(np.linalg.norm(across, axis=-1) < TOLERANCE):
        raise ValueError(f"from_axes: the {'xyz'[i]} and {'xyz'[j]} axes are parallel")
    axes = {i: first, j: unit(across)}
    k = 3 - i - j
    axes[k] = np.cross(axes[i], axes[j]) if (j - i) % 3 == 1 else np.cross(axes[j], axes[i])
    return np.stack([axes[0], axes[1], axes[2]], axis=-1)


def change_of_basis(old: ArrayLike, new: ArrayLike) -> Array:
    """The matrix that takes components in the basis ``new`` to those in ``old``: B_old^-1 B_new (Müller 3.4). Base vectors are columns."""
    old, new = _matrices(old, "change_of_basis: old"), _matrices(new, "change_of_basis: new")
    if not (np.all(is_basis(old)) and np.all(is_basis(new))):
        raise ValueError("change_of_basis: the columns of a basis must be linearly independent")
    return np.asarray(np.linalg.solve(old, new))


def axis_and_angle(R: ArrayLike) -> tuple[Array, Array]:
    """The unit axis (..., 3) and the angle (...), 0 to pi, of a rotation matrix: R e = e (Sadlowski 2.28, 2.81).

    Also right at pi (of e and -e the one whose component largest in size is positive); without a rotation the axis is the third.

    >>> axis_and_angle(np.diag([-1, 1, -1]))
    (array([0., 1., 0.]), np.float64(3.141592653589793))
    """
    x = np.asarray(AxisAngle.of(R))
    return x[..., :3], x[..., 3][()]


def angular_velocity(R: ArrayLike, R_dot: ArrayLike, frame: str = "space") -> Array:
    """omega from a rotation matrix and its derivative: of R' R^T in "space", of R^T R' in "body" axes (Müller 3.15). Shape (..., 3).

    A derivative that does not keep R a rotation is refused.
    """
    R, R_dot = _matrices(R, "angular_velocity: R"), _matrices(R_dot, "angular_velocity: R_dot")
    AxisAngle.of(R)  # refuses what is no rotation
    T = np.swapaxes(R, -1, -2)
    A = R_dot @ T if check_frame(frame, "angular_velocity") == "space" else T @ R_dot
    excess = np.abs(A + np.swapaxes(A, -1, -2)).max(initial=0)
    if excess > 1e-6 * (1 + np.abs(A).max(initial=0)):
        raise ValueError(f"angular_velocity: R_dot is not the derivative of a rotation: R' R^T is not skew, off by {excess:.3g}")
    return _half_axial(A)


def is_basis(vectors: ArrayLike) -> NDArray[np.bool_]:
    """Whether the columns (..., n, n) are linearly independent: no combination but the trivial one is zero (Müller 2.27)."""
    vectors = np.asarray(vectors, dtype=float)
    if vectors.ndim < 2 or vectors.shape[-1] != vectors.shape[-2]:
        raise ValueError(f"is_basis: a basis has as many vectors as dimensions, got shape {vectors.shape}")
    return np.asarray(np.linalg.matrix_rank(vectors) == vectors.shape[-1])


def is_linear(f: Callable[[Array], ArrayLike], n: int, samples: int = 20, seed: int = 0) -> bool:
    """Whether f(a x + b y) = a f(x) + b f(y) (Müller 2.11, 2.12), for random vectors of n components.

    >>> is_linear(lambda r: 2 * r, 3), is_linear(lambda r: r + 1, 3)
    (True, False)
    """
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        x, y, (a, b) = rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(2)
        left, right = np.asarray(f(a * x + b * y)), a * np.asarray(f(x)) + b * np.asarray(f(y))
        if not np.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE):
            return False
    return True


def _half_axial(A: Array) -> Array:
    return np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], axis=-1) / 2


def _vectors(a: ArrayLike, what: str) -> Array:
    x = np.asarray(a, dtype=float)
    if x.shape[-1:] != (3,) or not np.all(np.isfinite(x)):
        raise ValueError(f"{what} must be finite numbers of shape (..., 3), got {np.shape(a)}")
    return x


def _matrices(A: ArrayLike, what: str) -> Array:
    x = np.asarray(A, dtype=float)
    if x.shape[-2:] != (3, 3) or not np.all(np.isfinite(x)):
        raise ValueError(f"{what} must be finite numbers of shape (..., 3, 3), got {np.shape(A)}")
    return x
