r"""How accurate are the operators of the groups? Measured against arithmetic with many digits.

For angles from 1e-12 to the end of the range, with all other components of order one, each operator and its derivative
in a random direction are compared with the same quantity in 130-digit arithmetic, normwise:
:math:`\|F - F_{ref}\| / \|F_{ref}\|`. The reference uses the printed closed forms, whose cancellation does not matter with that
many digits, and difference quotients for the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import mpmath as mp
import numpy as np

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, Group, Product, R
from kreisel.symbolic import ArrayFunction

DIGITS = 130
#: Distance from the end of the range up to which logarithms and inverse tangent operators are held to the round-off limit.
MARGIN = 1e-6

Mp = Any  # numpy arrays of multi-precision numbers


@dataclass(frozen=True)
class Errors:
    """Largest normwise relative errors of one operator: of its value, of its derivative, and of its value next to the end."""

    value: float
    derivative: float
    value_at_end: float


def accuracy(group: Group, samples: int = 12, seed: int = 1) -> dict[str, Errors]:
    """Errors of exp, log, T, Tinv and S of a group. The samples are per part of the range.

    Tinv and S have a pole at the angle 2 pi, and so has log where the translation is coupled to the rotation (S3R3, UDQ). Next to it a
    rounding error of the argument becomes a relative error divided by the relative distance from the pole, whatever the
    algorithm; beyond the angle pi these errors are multiplied by that distance.
    """
    with mp.workdps(DIGITS):
        end = float(mp.pi) if _matrices(group) else float(2 * mp.pi)
        inner = np.concatenate([np.geomspace(1e-12, 0.1, samples), np.linspace(0.2, 0.98 * end, 2 * samples)])
        outer = end - np.geomspace(MARGIN, 0.02 * end, samples)
        last = end - np.geomspace(1e-12, MARGIN / 2, 4)
        rng = np.random.default_rng(seed)
        found: dict[str, list[list[float]]] = {name: [[], [], []] for name in ("exp", "log", "T", "Tinv", "S")}
        for angle in np.concatenate([inner, outer, last]):
            v = _velocity(group, angle, rng)
            u, w = rng.standard_normal((2, group.dim))
            at_end = angle > end - MARGIN
            for name, (error, derivative) in _errors(group, v, u, w).items():
                if at_end:
                    found[name][2].append(error)
                else:
                    found[name][0].append(error)
                    found[name][1].append(derivative)
    return {name: Errors(*(max(e) for e in errors)) for name, errors in found.items()}


def _matrices(group: Group) -> bool:
    return any(g in (SO3, SE3) for g in _factors(group))


def _factors(group: Group) -> tuple[Group, ...]:
    return group.factors if isinstance(group, Product) else (group,)


def _velocity(group: Group, angle: float, rng: np.random.Generator) -> np.ndarray:
    parts = []
    for g in _factors(group):
        v = rng.standard_normal(g.dim)
        if not isinstance(g, R):
            axis = v[:3] / np.linalg.norm(v[:3])
            v[:3] = angle * axis
        parts.append(v)
    return np.concatenate(parts)


def _errors(group: Group, v: np.ndarray, u: np.ndarray, w: np.ndarray) -> dict[str, tuple[float, float]]:
    V, U, W = (_mp(a) for a in (v, u, w))
    h = mp.mpf(10) ** -30

    def slope(f: Callable[[Mp], Mp], at: Mp, along: Mp) -> Mp:
        return (f(at + h * along) - f(at - h * along)) / (2 * h)

    def s(x: Mp) -> Mp:
        # Column j of S is the derivative of Tinv^T w in direction j.
        return np.stack([slope(lambda y: _tinv(group, y).T @ W, x, e) for e in _mp(np.eye(group.dim))], axis=1)

    angle = max((np.linalg.norm(part[:3]) for g, part in _parts(group, v) if not isinstance(g, R)), default=0.0)
    nearness = float(1.0 if angle < np.pi else 1 - angle / (2 * np.pi))
    answers: dict[str, tuple[float, float]] = {}
    for name, reference in {
        "exp": lambda x: _exp(group, x),
        "T": lambda x: _t(group, x),
        "Tinv": lambda x: _tinv(group, x),
        "S": s,
    }.items():
        value, derivative = _differentiated(group, name)(v, w, u)
        weight = nearness if name in ("Tinv", "S") else 1.0
        answers[name] = (
            weight * _relative(value, reference(V)),
            weight * _relative(derivative, slope(reference, V, U)),
        )
    q = _exp(group, V).astype(float)
    value, derivative = _differentiated_log(group)(q, u)
    # Rounding q has moved it a little, and with it its logarithm. So: the logarithm of the rounded q.
    exact = V if _matrices(group) else _log(group, _mp(q))
    weight = nearness if group in (S3R3, UDQ) else 1.0
    answers["log"] = (weight * _relative(value, exact), weight * _relative(derivative, _tinv(group, exact) @ U))
    return answers


_made: dict[tuple[str, str], ArrayFunction] = {}


def _differentiated(group: Group, name: str) -> ArrayFunction:
    """Value and directional derivative of an operator as the library computes them."""

    def formula(v: ca.SX, w: ca.SX, u: ca.SX) -> tuple[ca.SX, ca.SX]:
        f = group.S(v, w) if name == "S" else getattr(group, name)(v)
        return f, ca.reshape(ca.jtimes(ca.vec(ca.densify(f)), v, u), *f.shape)

    shape = (group.n_params,) if name == "exp" else (group.dim, group.dim)
    vector = (group.dim,)
    key = (str(group), name)
    if key not in _made:
        _made[key] = ArrayFunction(name, formula, {"v": vector, "w": vector, "u": vector}, [shape, shape])
    return _made[key]


def _differentiated_log(group: Group) -> ArrayFunction:
    def formula(q: ca.SX, u: ca.SX) -> tuple[ca.SX, ca.SX]:
        f = group.log(q)
        return f, ca.jtimes(f, q, group.rate(q, u))

    key = (str(group), "log")
    if key not in _made:
        _made[key] = ArrayFunction("log", formula, {"q": (group.n_params,), "u": (group.dim,)}, [(group.dim,)] * 2)
    return _made[key]


def _relative(x: np.ndarray, reference: Mp) -> float:
    norm = mp.sqrt(sum(r**2 for r in reference.ravel()))
    gap = mp.sqrt(sum((a - r) ** 2 for a, r in zip(_mp(x).ravel(), reference.ravel(), strict=True)))
    # Below 1e-60 it is the difference quotient that is seen.
    return 0.0 if gap < mp.mpf(10) ** -60 else float(gap / norm)


# The reference: closed forms with many digits.


def _mp(x: Any) -> Mp:
    return np.vectorize(lambda a: mp.mpf(float(a)), otypes=[object])(np.asarray(x, dtype=float))


def _parts(group: Group, v: Any) -> list[tuple[Group, Any]]:
    at = np.cumsum([0] + [g.dim for g in _factors(group)])
    return [(g, v[a:b]) for g, a, b in zip(_factors(group), at, at[1:], strict=False)]


def _skew(a: Mp) -> Mp:
    o = mp.mpf(0)
    return np.array([[o, -a[2], a[1]], [a[2], o, -a[0]], [-a[1], a[0], o]], dtype=object)


def _eye(n: int) -> Mp:
    return _mp(np.eye(n))


def _blocks(parts: list[Mp]) -> Mp:
    n = sum(len(p) for p in parts)
    out, at = _mp(np.zeros((n, n))), 0
    for p in parts:
        out[at : at + len(p), at : at + len(p)] = p
        at += len(p)
    return out


def _angle(w: Mp) -> Any:
    return mp.sqrt(sum(a * a for a in w))


def _exp(group: Group, v: Mp) -> Mp:
    return np.concatenate([_exp_of(g, part) for g, part in _parts(group, v)])


def _exp_of(g: Group, v: Mp) -> Mp:
    if isinstance(g, R):
        return v
    w, x = v[:3], _angle(v[:3])
    K = _skew(w)
    p = np.concatenate([[mp.cos(x / 2)], mp.sin(x / 2) / x * w])
    rotation = _eye(3) + mp.sin(x) / x * K + (1 - mp.cos(x)) / x**2 * (K @ K)
    if g in (SO3, S3):
        return rotation.ravel() if g is SO3 else p
    position = _t_rotation(w).T @ v[3:]
    if g is SE3:
        return np.concatenate([rotation.ravel(), position])
    if g is S3R3:
        return np.concatenate([p, position])
    # (0, x) * p / 2
    dual = np.concatenate([[-(position @ p[1:])], p[0] * position + np.array(_skew(position) @ p[1:])]) / 2
    return np.concatenate([p, dual])


def _log(group: Group, q: Mp) -> Mp:
    at = np.cumsum([0] + [g.n_params for g in _factors(group)])
    return np.concatenate([_log_of(g, q[a:b]) for g, a, b in zip(_factors(group), at, at[1:], strict=False)])


def _log_of(g: Group, q: Mp) -> Mp:
    """Of quaternions."""
    if isinstance(g, R):
        return q
    n = _angle(q[1:4])
    w = 2 * mp.atan2(n, q[0]) / n * q[1:4]
    if g is S3:
        return w
    if g is UDQ:  # 2 Im(r * conj p)
        p, r = q[:4], q[4:]
        x = 2 * (p[0] * r[1:] - r[0] * p[1:] - _skew(r[1:]) @ p[1:])
    else:
        x = q[4:]
    return np.concatenate([w, _tinv_rotation(w).T @ x])


def _t_rotation(w: Mp) -> Mp:
    x, K = _angle(w), _skew(w)
    return _eye(3) + (mp.cos(x) - 1) / x**2 * K + (x - mp.sin(x)) / x**3 * (K @ K)


def _tinv_rotation(w: Mp) -> Mp:
    x, K = _angle(w), _skew(w)
    return _eye(3) + K / 2 + (2 - x * mp.cot(x / 2)) / (2 * x**2) * (K @ K)


def _t(group: Group, v: Mp) -> Mp:
    return _blocks([_t_of(g, part, inverse=False) for g, part in _parts(group, v)])


def _tinv(group: Group, v: Mp) -> Mp:
    return _blocks([_t_of(g, part, inverse=True) for g, part in _parts(group, v)])


def _t_of(g: Group, v: Mp, inverse: bool) -> Mp:
    if isinstance(g, R):
        return _eye(g.dim)
    w, rotation = v[:3], (_tinv_rotation if inverse else _t_rotation)(v[:3])
    if g in (SO3, S3):
        return rotation
    # The lower left block is the derivative of the rotation's T in direction U: T of w + eps U, to first order in eps.
    h = mp.mpf(10) ** -40
    f = _tinv_rotation if inverse else _t_rotation
    lower = (f(w + h * v[3:]) - f(w - h * v[3:])) / (2 * h)
    out = _blocks([rotation, rotation])
    out[3:, :3] = lower
    return out
