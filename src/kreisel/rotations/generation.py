"""The rotation-generating equation R' = skew(omega) R, step by step in any parametrisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SO3
from kreisel.rotations.base import SINGULAR, Parametrisation, check_frame
from kreisel.rotations.parametrisations import EulerParameters
from kreisel.rotations.schemes import Scheme, Trapezoid
from kreisel.symbolic import ArrayFunction, Kernel, compile
from kreisel.symbolic.kernel import LANES

Array = NDArray[np.float64]

_MOST_ITERATIONS = 30
#: Numbers of no parametrisation grow like this but by instability; their squares are still finite.
_TOO_LARGE = 1e100


@dataclass(frozen=True)
class GeneratedRotation:
    """A computed rotation: times ``t`` (n,), numbers ``x`` (n, ..., n_params) of the ``parametrisation``, and how the run ended.

    Nothing is projected: where a scheme leaves the rotations, :attr:`rotation` shows it.
    """

    t: Array
    x: Array
    parametrisation: Parametrisation
    success: bool
    message: str

    @property
    def rotation(self) -> Array:
        """The matrices R(x), (n, ..., 3, 3), as the formula of the parametrisation gives them, rotations or not."""
        return np.asarray(_raw(self.parametrisation, "matrix", (3, 3))(self.x))

    @property
    def regularity(self) -> Array:
        """How far the parametrisation was from its singularities: 1 at best."""
        return np.asarray(_raw(self.parametrisation, "regularity", ())(self.x))

    @property
    def determinant(self) -> Array:
        """det R."""
        return np.asarray(np.linalg.det(self.rotation))

    @property
    def column_product(self) -> Array:
        """The scalar product of the first two columns of R."""
        R = self.rotation
        return np.asarray(np.sum(R[..., 0] * R[..., 1], axis=-1))

    @property
    def angle(self) -> Array:
        """The angle turned since the start, see :func:`accumulated_angle`."""
        return accumulated_angle(self.rotation)


def generate(
    omega: ArrayLike | Callable[[float], ArrayLike],
    until: float,
    step: float,
    parametrisation: Parametrisation = EulerParameters,
    scheme: Scheme | None = None,
    *,
    start: ArrayLike | None = None,
    frame: str = "space",
) -> GeneratedRotation:
    """Solves R' = skew(omega) R, or R' = R skew(omega) for an omega in "body" axes, from the rotation matrix ``start`` (default: I).

    ``omega``: three numbers, or a function of the time that gives them; also (..., 3), for many rotations at once. ``scheme``: by
    default the trapezoidal rule. The last step is shortened to end at ``until``.

    >>> from kreisel.rotations import ExplicitMidpoint, RotationVector
    >>> turned = generate([0, 0, 1], until=1.0, step=0.1, parametrisation=RotationVector, scheme=ExplicitMidpoint())
    >>> turned.x[-1].round(14) + 0.0, turned.success
    (array([0., 0., 1.]), True)
    """
    scheme = Trapezoid() if scheme is None else scheme
    if not (np.isfinite(until) and np.isfinite(step) and until > 0 and step > 0):
        raise ValueError(f"generate: until and step must be positive numbers, got {until} and {step}")
    t = step * np.arange(int(np.ceil(until / step * (1 - 1e-12))) + 1, dtype=float)
    t[-1] = until
    h = np.diff(t)
    w = np.stack([_sampled(omega, t[:-1] + node * h) for node in scheme.nodes], axis=1)  # (steps, nodes, ..., 3)
    x0 = np.asarray(parametrisation.of(np.eye(3) if start is None else start))
    if np.any(np.asarray(parametrisation.regularity(x0)) <= SINGULAR):
        raise ValueError(f"generate: {parametrisation} cannot begin at this start: {parametrisation.singular}")
    try:
        batch = np.broadcast_shapes(x0.shape[:-1], w.shape[2:-1])
    except ValueError:
        raise ValueError(f"generate: the leading axes of start {x0.shape[:-1]} and omega {w.shape[2:-1]} do not fit together") from None
    table = _Table(parametrisation, scheme, check_frame(frame, "generate"), x0, w, h, batch)
    done, problem = table.run()
    message = problem or "reached the end"
    if problem:
        hint = f" ({parametrisation.singular})" if parametrisation.singular else ""
        message = f"{parametrisation}, {type(scheme).__name__}: {problem} in the step from t = {t[done]:.6g} with h = {h[done]:.6g}{hint}"
    return GeneratedRotation(t[: done + 1], table.numbers()[: done + 1], parametrisation, not problem, message)


def accumulated_angle(R: ArrayLike) -> Array:
    """The sum of the angles of R_{n+1} R_n^T (2.182), (2.183) over the first axis, from zero. Shapes (n, ..., 3, 3) -> (n, ...).

    The increments are first brought to the nearest rotation, and their angle is taken from the quaternion: the arc cosine of the trace has
    no correct digit for a small increment that is not quite a rotation.
    """
    R = np.asarray(R, dtype=float)
    increments = R[1:] @ np.swapaxes(R[:-1], -1, -2)
    flat = SO3.project(increments.reshape(*increments.shape[:-2], 9))
    angles = np.linalg.norm(SO3.log(flat), axis=-1)
    return np.concatenate([np.zeros_like(angles[:1]), np.cumsum(angles, axis=0)]) if len(angles) else np.zeros(R.shape[:-2])


def _sampled(omega: ArrayLike | Callable[[float], ArrayLike], t: Array) -> Array:
    given = np.stack([np.asarray(omega(s), dtype=float) for s in t]) if callable(omega) else np.asarray(omega, dtype=float)
    w = given if callable(omega) else np.broadcast_to(given, (len(t), *given.shape))
    if w.shape[-1:] != (3,) or w.ndim < 2:
        raise ValueError(f"generate: omega must have shape (..., 3), got {w.shape[1:]}")
    if not np.all(np.isfinite(w)):
        bad = int(np.flatnonzero(~np.isfinite(w).reshape(len(t), -1).all(axis=1))[0])
        raise ValueError(f"generate: omega contains nan or inf at t = {t[bad]:.6g}")
    return np.asarray(w)


class _Table:
    """The memory of a run: a row per time, in it, for every LANES rotations, what the compiled step reads: x, omega at the nodes, h.

    A step writes the x of the next row at once, or, if it has to iterate, also reads y, its guess of that x, and betters it.
    """

    def __init__(
        self, parametrisation: Parametrisation, scheme: Scheme, frame: str, x0: Array, w: Array, h: Array, batch: tuple[int, ...]
    ) -> None:
        self.n, self.batch = parametrisation.n_params, batch
        self.size = int(np.prod(batch))
        lanes = 1 if self.size == 1 else LANES
        self.kernel, self.iterates = _kernel(parametrisation, scheme, frame, lanes)
        blocks = -(-self.size // lanes)
        self.rows = np.zeros((len(h) + 1, blocks, self.kernel.n_in, lanes))
        m = w.shape[1]
        # The last instance fills up the last block.
        x0 = np.broadcast_to(x0, (*batch, self.n)).reshape(self.size, self.n)
        w = np.broadcast_to(w.reshape(*w.shape[:2], *(1,) * (len(batch) + 3 - w.ndim), *w.shape[2:]), (len(h), m, *batch, 3))
        w = np.moveaxis(w.reshape(len(h), m, self.size, 3), 1, 2).reshape(len(h), self.size, 3 * m)
        fill = np.minimum(np.arange(blocks * lanes), self.size - 1)
        self.rows[0, :, : self.n] = np.swapaxes(x0[fill].reshape(blocks, lanes, self.n), 1, 2)
        self.rows[:-1, :, self.n : self.n + 3 * m] = np.swapaxes(w[:, fill].reshape(len(h), blocks, lanes, 3 * m), 2, 3)
        self.rows[:-1, :, self.n + 3 * m] = h[:, None, None]

    def run(self) -> tuple[int, str]:
        """Makes all steps; the number of good ones, and what stopped it."""
        routine, rows = self.kernel.routine, self.rows
        start, row, block = rows.ctypes.data, rows.strides[0], rows.strides[1]
        for k in range(len(rows) - 1):
            here = start + k * row
            if self.iterates:
                problem = self._newton(k)
                if problem:
                    return k, problem
            else:
                for b in range(rows.shape[1]):
                    routine(here + b * block, here + row + b * block)
        good = (np.abs(rows[:, :, : self.n]) < _TOO_LARGE).reshape(len(rows), -1).all(axis=1)
        return (len(rows) - 1, "") if good.all() else (int(np.argmin(good)) - 1, "the numbers grew without bound")

    def _newton(self, k: int) -> str:
        rows, n, routine = self.rows, self.n, self.kernel.routine
        better = np.empty((n + 1, rows.shape[-1]))
        for b in range(rows.shape[1]):
            source = rows[k, b]
            source[-n:] = source[:n]
            last, active = np.full(rows.shape[-1], np.inf), np.ones(rows.shape[-1], dtype=bool)
            for _ in range(_MOST_ITERATIONS):
                routine(source.ctypes.data, better.ctypes.data)
                # One that has converged rests, so that it does not depend on its neighbours.
                source[-n:, active] = better[:n, active]
                change = better[n]
                if not np.all(change < _TOO_LARGE):
                    return "Newton's method met a singular point"
                # An increment that no longer shrinks is rounding, if it is small.
                active &= ~((change <= 1e-15) | ((change <= 1e-10) & (change >= last / 2)))
                if not active.any():
                    break
                last = change.copy()
            else:
                return f"Newton's method did not converge within {_MOST_ITERATIONS} iterations"
            rows[k + 1, b, :n] = source[-n:]
        return ""

    def numbers(self) -> Array:
        """x (times, ..., n_params)."""
        x = np.swapaxes(self.rows[:, :, : self.n], 2, 3).reshape(len(self.rows), -1, self.n)[:, : self.size]
        return x.reshape(len(self.rows), *self.batch, self.n).copy()


@cache
def _kernel(p: Parametrisation, scheme: Scheme, frame: str, lanes: int) -> tuple[Kernel, bool]:
    """The compiled step, or, of an implicit scheme for a nonlinear equation, one iteration; and whether it is one."""
    x, h, y = ca.SX.sym("x", p.n_params), ca.SX.sym("h"), ca.SX.sym("y", p.n_params)
    w = [ca.SX.sym(f"w{i}", 3) for i in range(len(scheme.nodes))]
    f = p.space_rate if frame == "space" else p.body_rate
    if not scheme.implicit:
        return compile(ca.Function("step", [x, *w, h], ca.cse([ca.densify(scheme.step(f, x, w, h))])), lanes), False
    r = scheme.residual(f, x, y, w, h)
    J = ca.jacobian(r, y)
    d = ca.solve(J, r)
    if not ca.depends_on(J, y):  # linear: the first iteration, from y = x, is the solution
        return compile(ca.Function("step", [x, *w, h], ca.cse([ca.densify(ca.substitute(y - d, y, x))])), lanes), False
    size = ca.mmax(ca.fabs(d)) / (1 + ca.mmax(ca.fabs(y)))
    return compile(ca.Function("newton", [x, *w, h, y], ca.cse([ca.densify(y - d), size])), lanes), True


@cache
def _raw(p: Parametrisation, name: str, shape: tuple[int, ...]) -> ArrayFunction:
    """An operator without its checks, for numbers that have left the rotations."""
    return ArrayFunction(f"{p}.{name}", lambda x: ca.SX(getattr(p, name)(x)), {"x": (p.n_params,)}, [shape])
