"""Initial curves of beams: a position and a frame for every arc length, third axis along the curve.

Straight lines, arcs and helices are the curves of constant strain, q(s) = q(0) exp(s w) with w = (K, e3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SE3, SO3
from kreisel.mechanics.forces import vector

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Origin, frame at the origin (columns: the axes) and curvature K in those axes; called with s it gives elements of SE3.

    >>> arc(radius=2.0)(2 * np.pi)[9:].round(6) + 0.0
    array([4., 0., 0.])
    """

    origin: Array
    rotation: Array
    curvature: Array

    def __call__(self, s: float) -> Array:
        q0 = np.concatenate([self.rotation.ravel(), self.origin])
        return np.asarray(SE3.retract(q0, s * np.concatenate([self.curvature, [0, 0, 1]])))


def straight(origin: ArrayLike = (0, 0, 0), direction: ArrayLike = (0, 0, 1), normal: ArrayLike | None = None) -> Curve:
    """A straight line. ``normal``: axis 1 of the sections; by default the frame is turned from space axes by the shortest way."""
    return Curve(vector(origin, "origin"), frame(direction, normal), np.zeros(3))


def arc(radius: float, origin: ArrayLike = (0, 0, 0), direction: ArrayLike = (0, 0, 1), normal: ArrayLike | None = None) -> Curve:
    """An arc of a circle, from ``origin`` along ``direction``, bent towards ``normal`` (axis 1 of the sections)."""
    if not radius > 0:
        raise ValueError(f"the radius of an arc must be positive, got {radius}")
    return Curve(vector(origin, "origin"), frame(direction, normal), np.array([0, 1 / radius, 0]))


def helix(
    radius: float, pitch: float, origin: ArrayLike = (0, 0, 0), direction: ArrayLike = (0, 0, 1), normal: ArrayLike | None = None
) -> Curve:
    """A helix that climbs ``pitch`` per turn (negative: left-handed), from ``origin`` along ``direction``, its axis towards ``normal``."""
    if not radius > 0:
        raise ValueError(f"the radius of a helix must be positive, got {radius}")
    c = pitch / (2 * np.pi)
    return Curve(vector(origin, "origin"), frame(direction, normal), np.array([0, radius, c]) / (radius**2 + c**2))


def frame(direction: ArrayLike, normal: ArrayLike | None = None) -> Array:
    """The rotation matrix with third axis along ``direction`` and first axis towards ``normal``; without that, turned by the shortest
    way from space axes (about axis 1 if the direction is -e3)."""
    d = vector(direction, "direction")
    if np.linalg.norm(d) == 0:
        raise ValueError("the direction of a curve has length zero")
    e3 = d / np.linalg.norm(d)
    if normal is not None:
        n = vector(normal, "normal")
        e1 = n - (n @ e3) * e3
        if np.linalg.norm(e1) <= 1e-9 * np.linalg.norm(n):
            raise ValueError("the normal of a curve must not be parallel to its direction")
        e1 = e1 / np.linalg.norm(e1)
        return np.stack([e1, np.cross(e3, e1), e3], axis=1)
    axis = np.cross([0, 0, 1], e3)
    sine = float(np.linalg.norm(axis))
    turn = np.arctan2(sine, e3[2]) * (axis / sine if sine > 1e-12 else np.array([1.0, 0, 0]))
    return np.asarray(SO3.matrix(SO3.exp(turn)))


def poses(curve: Curve | Callable[[float], Any], s: Array, name: str) -> Array:
    """Elements of SE3 at the arc lengths s, (n, 12).

    A function may give positions alone; frames are then carried along without twist (rotation-minimising, by double reflection: Wang et
    al., 2008). It must have unit speed.
    """
    if isinstance(curve, Curve):
        return np.array([curve(x) for x in s])
    if not callable(curve):
        raise TypeError(f"{name}: curve must be kr.straight, kr.arc, kr.helix or a function of s, got {curve!r}")
    given = [curve(float(x)) for x in s]
    framed = len(given[0]) == 2
    x = np.array([vector(g[0] if framed else g, f"{name}: curve({u:.6g})") for g, u in zip(given, s, strict=True)])

    def place(u: float) -> Array:
        g = curve(u)
        return np.array(g[0] if framed else g, dtype=float)

    def tangent(u: float) -> Array:
        # Differences of fourth order, good to 1e-10 for any curve a mesh can follow; at the ends one-sided.
        e = 1e-4 * (s[-1] - s[0])
        if s[0] + 2 * e <= u <= s[-1] - 2 * e:
            weights = {-2: 1, -1: -8, 1: 8, 2: -1}
        else:
            e = e if u < s[0] + 2 * e else -e
            weights = {0: -25, 1: 48, 2: -36, 3: 16, 4: -3}
        return np.asarray(np.sum([w * place(u + k * e) for k, w in weights.items()], axis=0) / (12 * e))

    tangents = np.array([tangent(float(u)) for u in s])
    speed = np.linalg.norm(tangents, axis=1)
    worst = int(np.argmax(np.abs(speed - 1)))
    if not np.abs(speed - 1).max() < 1e-6:
        raise ValueError(
            f"{name}: the initial curve must have unit speed, |dx/ds| = 1, at s = {s[worst]:.6g} it is {speed[worst]:.9g}; "
            "the parameter must be the arc length"
        )
    if framed:
        R = np.array([np.array(g[1], dtype=float) for g in given])
        SO3.inverse(R.reshape(-1, 9))  # refuses what is no rotation
    else:
        R = _transported(x, tangents / speed[:, None])
    return np.concatenate([R.reshape(-1, 9), x], axis=1)


def _transported(x: Array, t: Array) -> Array:
    R = [frame(t[0])]
    for k in range(len(x) - 1):
        step = x[k + 1] - x[k]
        # Reflect frame and tangent in the bisecting plane of the points, then in that of the tangents.
        reflected = R[-1] - 2 * np.outer(step, step @ R[-1]) / (step @ step)
        gap = t[k + 1] - reflected[:, 2]
        length = gap @ gap
        R.append(reflected - 2 * np.outer(gap, gap @ reflected) / length if length > 0 else reflected)
    return np.array(R)
