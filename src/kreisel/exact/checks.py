"""What the exact solutions ask of their arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SO3

Array = NDArray[np.float64]


def vector(a: ArrayLike, what: str) -> Array:
    """Three finite numbers."""
    x = np.array(a, dtype=float)
    if x.shape != (3,) or not np.all(np.isfinite(x)):
        raise ValueError(f"{what} must be three finite numbers, got {a!r}")
    return x


def rotation_matrix(R: ArrayLike | None, what: str) -> Array:
    """A rotation matrix; None is the identity."""
    if R is None:
        return np.eye(3)
    try:
        return np.asarray(SO3.matrix(SO3.from_matrix(R)))
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def number(x: float, what: str, positive: bool = False) -> float:
    """A finite number."""
    if np.ndim(x) or not np.isfinite(x) or (positive and x <= 0):
        raise ValueError(f"{what} must be a {'positive' if positive else 'finite'} number, got {x!r}")
    return float(x)


def times(t: ArrayLike) -> Array:
    """Finite times, of any shape."""
    t = np.asarray(t, dtype=float)
    if not np.all(np.isfinite(t)):
        raise ValueError("t contains nan or inf")
    return t
