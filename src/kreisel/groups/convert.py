"""Conversions between groups that describe the same motions (Hante, Remarks 2.31 to 2.33)."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups.base import Array, Group
from kreisel.groups.product import Product
from kreisel.groups.rigid import RigidMotions
from kreisel.groups.rotation import S3, SO3, Rotations
from kreisel.groups.vector import R
from kreisel.symbolic import ArrayFunction


def convert(q: ArrayLike, source: Group, target: Group, near: ArrayLike | None = None) -> Array:
    """The element of ``target`` that describes the same motion as the element q of ``source``. Shapes (..., n_params).

    Rotations: SO3, S3. Rigid motions: SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3). Vectors: R(n).

    A rotation matrix has two quaternions. The one with scalar part >= 0 is returned (at half a turn: with the component largest
    in size positive), or the one nearer to the element ``near`` of the target. Between groups of quaternions the sign is kept.

    >>> from kreisel.groups import S3, SO3
    >>> convert(SO3.identity(), SO3, S3)
    array([1., 0., 0., 0.])
    >>> convert(SO3.identity(), SO3, S3, near=[-1, 0, 0, 0])
    array([-1., -0., -0., -0.])
    """
    if _kind(source) != _kind(target):
        raise ValueError(f"cannot convert {source} to {target}: they describe different motions")
    p = np.asarray(_element(source, target)(q))
    if near is None or source == target:
        return p
    if _rotations(target) is not S3:
        raise ValueError(f"convert: near chooses between the quaternions of a rotation; {target} has none")
    near = np.asarray(near, dtype=float)
    if near.shape[-1:] != p.shape[-1:]:
        raise ValueError(f"convert: near must have shape (..., {target.n_params}), got {near.shape}")
    # The quaternions stand first; in UDQ both halves change sign together.
    part = slice(0, 8 if target.n_params == 8 else 4)
    side = np.sum(p[..., :4] * near[..., :4], axis=-1, keepdims=True)
    p = np.broadcast_to(p, (*side.shape[:-1], target.n_params)).copy()
    p[..., part] *= np.where(side < 0, -1.0, 1.0)
    return p


def convert_velocity(q: ArrayLike, v: ArrayLike, source: Group, target: Group) -> Array:
    """The velocity in ``target`` of the motion that has, at the element q of ``source``, the velocity v there.

    Angular velocities are body-fixed everywhere. Linear velocities are body-fixed in SE3, S3R3 and UDQ, and inertial in
    the direct products SO3 * R(3) and S3 * R(3).
    """
    if _kind(source) != _kind(target):
        raise ValueError(f"cannot convert velocities of {source} to {target}: they describe different motions")
    return np.asarray(_velocity(source, target)(q, v))


def _kind(group: Group) -> str:
    if isinstance(group, Rotations):
        return "rotation"
    if isinstance(group, RigidMotions) or _is_direct(group):
        return "rigid motion"
    if isinstance(group, R):
        return str(group)
    raise ValueError(f"convert: {group} is none of SO3, S3, SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3), R(n)")


def _is_direct(group: Group) -> bool:
    return isinstance(group, Product) and group in (SO3 * R(3), S3 * R(3))


def _rotations(group: Group) -> Group | None:
    if isinstance(group, Rotations):
        return group
    if isinstance(group, RigidMotions):
        return group.rotations
    return group.factors[0] if isinstance(group, Product) else None


def _split(group: Group, q: ca.SX) -> tuple[ca.SX, ca.SX]:
    if isinstance(group, RigidMotions):
        return group.split(q)
    n = group.n_params - (3 if _is_direct(group) else 0)
    return q[:n], q[n:]


@cache
def _element(source: Group, target: Group) -> ArrayFunction:
    def formula(q: ca.SX) -> ca.SX:
        old, new = _rotations(source), _rotations(target)
        if not (isinstance(old, Rotations) and isinstance(new, Rotations)):
            return q
        r, x = _split(source, q)
        r = new.from_rotations(old, r)
        return target.join(r, x) if isinstance(target, RigidMotions) else ca.vertcat(r, x)

    return _checked(source, "convert", formula, {"q": (source.n_params,)}, (target.n_params,))


@cache
def _velocity(source: Group, target: Group) -> ArrayFunction:
    def formula(q: ca.SX, v: ca.SX) -> ca.SX:
        turn = isinstance(target, RigidMotions) - isinstance(source, RigidMotions)
        if turn == 0 or _kind(source) != "rigid motion":
            return v
        old = _rotations(source)
        assert isinstance(old, Rotations)
        A = old.Ad(_split(source, q)[0])
        return ca.vertcat(v[:3], ca.mtimes(A if turn < 0 else A.T, v[3:]))

    return _checked(source, "convert_velocity", formula, {"q": (source.n_params,), "v": (source.dim,)}, (source.dim,))


def _checked(source: Group, name: str, formula: object, arguments: dict[str, tuple[int, ...]], result: tuple[int, ...]) -> ArrayFunction:
    kinds = {"q": "Element", "v": "Vector"}

    def valid(*symbols: ca.SX) -> ca.SX:
        ok = ca.SX(1)
        for argument, x in zip(arguments, symbols, strict=True):
            ok = ca.logic_and(ok, source._admissible(kinds[argument], x))
        return ok

    def refuse(*values: Array) -> str:
        found = ((a, source._problem(kinds[a], x)) for a, x in zip(arguments, values, strict=True))
        return "; ".join(f"{a} {problem}" for a, problem in found if problem)

    return ArrayFunction(name, formula, arguments, [result], valid, refuse)  # type: ignore[arg-type]


def embedding_norm(y: ArrayLike) -> Array:
    """The root of the mean square of the last axis: the error norm of Hante's experiments, in embedding coordinates.

    (The printed formula forgets the square.)
    """
    return np.asarray(np.sqrt(np.mean(np.square(np.asarray(y, dtype=float)), axis=-1)))
