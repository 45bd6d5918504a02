r"""Indirect transcription that conserves the Hamiltonian of the control problem (Siebert, chapter 8).

To bring a Hamiltonian system with inputs u, x = (q, p), from x_0 to x_f with the least effort, sum of h u . W u / 2. Unknowns are the
states x_1, ..., x_{N-1} and the costates of the steps, l_k from t_k to t_{k+1}:

.. math::

   (x_{k+1} - x_k)/h = J\,\mathrm{D}H(x_k, x_{k+1}) + (0, B u_k), \quad u_k = W^{-1} B^T l^p_k, \qquad
   (l_k - l_{k-1})/h = -\tfrac12\,\{(l_k + l_{k-1})^T J\,\mathrm{DD}H\}^T,
   \qquad J = \begin{pmatrix} 0 & I\\ -I & 0\end{pmatrix}

DH is the discrete gradient of the method (Gonzalez, Greenspan, or that in the middle). DDH is made such that DDH dx = DH(x_k, x_{k+1}) -
DH(x_{k-1}, x_k), dx = (x_{k+1} - x_{k-1})/2. That is why the discrete Hamiltonian

.. math:: H^d_k = -\tfrac12 u_k\cdot W u_k + l_k\cdot(J\,\mathrm{D}H + (0, B u_k))

is the same in all steps, at any step size, as that of the continuous problem is at all times. A positive u drives here; Siebert's u is
minus ours, her costates are the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from kreisel.control.batch import Batch
from kreisel.control.conditions import Target, effort
from kreisel.control.guess import Course
from kreisel.control.outcome import key_figures
from kreisel.control.points import Equation, Points
from kreisel.control.result import Result
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.methods.discrete import guarded
from kreisel.methods.hamiltonian import Greenspan, separable
from kreisel.methods.midpoint import HamiltonianMethod, Midpoint
from kreisel.simulation.packs import H, Layout, T
from kreisel.simulation.solution import Solution
from kreisel.simulation.status import Statistics, Status

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Kinds of DDH.
HESSIANS = ("node", "average", "quotient")


@dataclass(frozen=True)
class Extremal:
    """What fulfils the discrete necessary conditions. ``costates`` and controls belong to the steps, N of them.

    ``x``: states (q, p) at all times, (N + 1, 2 n). ``costates``: (N, 2 n), of q and then of p. ``kkt_residual``: the largest equation
    left, relative to the largest value of its variable. ``start``: the direct solution that the search started from, if there was one.
    """

    system: Hamiltonian
    method: HamiltonianMethod
    success: bool
    message: str
    horizon: float
    x: Array
    costates: Array
    weights: Array
    kkt_residual: float
    iterations: int
    solve_seconds: float
    derivative_seconds: float
    start: Result | None = None

    @property
    def _h(self) -> float:
        return self.horizon / len(self.costates)

    @property
    def t(self) -> Array:
        """Times, (N + 1,)."""
        return np.linspace(0.0, self.horizon, len(self.x))

    @property
    def _u(self) -> Array:
        return np.asarray(self.costates[:, self.system.dim :] @ self.system.inputs / self.weights)

    @property
    def controls(self) -> dict[str, Array]:
        """Values in each step by name, (N,) each."""
        return dict(zip(self.system.controls, self._u.T, strict=True))

    @property
    def _effort(self) -> Array:
        return np.asarray(self._u**2 @ self.weights / 2)

    @property
    def cost(self) -> float:
        """The effort."""
        return float(self._h * self._effort.sum())

    @property
    def hamiltonian(self) -> Array:
        """H^d of each step, (N,)."""
        return np.asarray(np.sum(self.costates * np.diff(self.x, axis=0), axis=1) / self._h - self._effort)

    @property
    def hamiltonian_spread(self) -> float:
        """Largest minus smallest H^d."""
        return float(np.ptp(self.hamiltonian))

    @property
    def average_costates(self) -> Array:
        """The mean of the costates over time, (2 n,): Siebert, (8.58)."""
        return np.asarray(self.costates.mean(axis=0))

    def at(self, steps: int) -> tuple[Array, Array]:
        """States and costates over another number of steps, between the known ones linear in time."""
        t = np.linspace(0.0, self.horizon, steps + 1)
        x, l = ((self.t, self.x), t), ((_middle(self.t), self.costates), _middle(t))
        first, second = (np.stack([np.interp(at, times, y) for y in values.T], axis=1) for (times, values), at in (x, l))
        return first, second

    @cached_property
    def solution(self) -> Solution:
        """The motion, as of a simulation: with energy, work and balance."""
        n, layout = self.system.dim, Layout(self.system, self.method)
        records = np.repeat(layout.start()[None, : layout.n_state], len(self.x), axis=0)
        (places,) = layout.nodes
        rates = np.vstack([np.zeros(2 * n), np.diff(self.x, axis=0) / self._h])
        for name, values in {"q": self.x[:, :n], "v": self.x[:, n:], "last_x": rates[:, :n], "last_d": rates[:, n:]}.items():
            records[:, places[name] : places[name] + n] = values
        records[:, H], records[:, T] = self._h, self.t
        stats = Statistics(len(self.costates), self.iterations, self.iterations, 0, self.solve_seconds, 0.0)
        return Solution(layout, records, Status.REACHED_END, self.message, stats, inputs=np.vstack([self._u[:1], self._u]))

    def summary(self) -> dict[str, Any]:
        """The key figures, for machines."""
        return key_figures(self)


def solve(
    system: Hamiltonian,
    method: HamiltonianMethod,
    horizon: float,
    steps: int,
    end_q: ArrayLike,
    end_p: ArrayLike,
    weights: ArrayLike | None = None,
    hessian: str | None = None,
    guess: Extremal | Result | tuple[ArrayLike, ArrayLike] | ArrayLike | None = None,
    start: tuple[ArrayLike, ArrayLike] | None = None,
    solver: Any = None,
    iterations: int = 100,
) -> Extremal:
    """Newton's method on the discrete necessary conditions, from the solution of the direct transcription and its multipliers.

    ``method``: kr.Greenspan(), kr.Gonzalez(...) or kr.Midpoint(). ``end_q``, ``end_p``: x_f. ``weights``: the diagonal of W, one number
    per control; default ones. ``hessian``: what DDH starts from: "node", the Hessian of H at x_k (8.52); "average", the mean of those in
    the middle of both steps (8.53); or "quotient", for one degree of freedom with H = T(p) + V(q), the quotients of differences by q and
    by p (8.21), (8.26), default for Greenspan and for the midpoint rule where it fits.

    ``guess``: states (N + 1, 2 n) for the direct transcription, by default those of a cubic path; or a direct solution; or where Newton's
    method starts at once: states and costates (N, 2 n), or an earlier result with any number of steps. It finds what is near, minimum or
    not: the direct solution tells them apart. ``start``: q and p, if not those of the system. ``solver``: for the direct transcription.

    >>> import kreisel as kr
    >>> pendulum = kr.Hamiltonian(lambda q, p: p[0] ** 2 / 2 - 9.81 * ca.sin(q[0]), 1, controls="u")
    >>> found = solve(pendulum, kr.Greenspan(), horizon=3.0, steps=20, end_q=[np.pi / 2], end_p=[0.0])
    >>> round(found.cost, 6), round(float(found.hamiltonian[0]), 6), found.hamiltonian_spread < 1e-10
    (6.711933, 1.804805, True)
    >>> bool(np.ptp(found.solution.balance) < 1e-12)
    True
    """
    conditions = Conditions(system, method, horizon, steps, end_q, end_p, weights, hessian, start)
    if isinstance(guess, Extremal):
        guess = guess.at(conditions.steps)
    if isinstance(guess, tuple):
        return conditions.solve(*conditions.check(*guess), iterations)
    direct = guess if isinstance(guess, Result) else conditions.direct(guess, solver)
    found = conditions.solve(*conditions.check(*start_of(direct)), iterations)
    message = found.message if found.success or direct.success else f"{found.message}; it started where the direct route got stuck"
    return replace(found, start=direct, message=message)


def start_of(result: Result) -> tuple[Array, Array]:
    """States and costates of a direct solution with a method for Hamiltonian systems.

    The multipliers of the direct problem belong to mean rates of q and p; those of the steps are these divided by h.
    """
    n, sol = result.discrete.system.dim, result.solution
    return np.hstack([sol.q, sol.v]), result.outcome.multipliers.r[:, : 2 * n] * len(result.t[1:]) / result.horizon


class Conditions:
    """The discrete necessary conditions of a problem, and Newton's method for them."""

    def __init__(
        self,
        system: Hamiltonian,
        method: HamiltonianMethod,
        horizon: float,
        steps: int,
        end_q: ArrayLike,
        end_p: ArrayLike,
        weights: ArrayLike | None = None,
        hessian: str | None = None,
        start: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        if not isinstance(system, Hamiltonian):
            raise TypeError(
                f"the indirect route is for Hamiltonian systems; kr.hamiltonian_of(system) may give one, got {type(system).__name__}"
            )
        if not isinstance(method, HamiltonianMethod):
            raise TypeError(f"the indirect route takes kr.Greenspan(), kr.Gonzalez() or kr.Midpoint(), got {method!r}")
        reason = method.refuse(system)
        if reason:
            raise ValueError(f"{method} does not fit this system: {reason}")
        if not system.controls:
            raise ValueError("the system has no inputs; kr.Hamiltonian(..., controls=(...)) names them")
        if not (np.isfinite(horizon) and horizon > 0):
            raise ValueError(f"horizon must be positive, got {horizon}")
        if steps != int(steps) or steps < 2:
            raise ValueError(f"steps must be a whole number, at least 2, got {steps}")
        n = system.dim
        self.system, self.method, self.n, self.steps, self.h = system, method, n, int(steps), float(horizon) / int(steps)
        first = (system.nodes[0].q, system.nodes[0].v) if start is None else start
        self.start = np.concatenate([_vector(name, a, n) for name, a in zip(("start: q", "start: p"), first, strict=True)])
        self.end = np.concatenate([_vector("end_q", end_q, n), _vector("end_p", end_p, n)])
        self.weights = np.ones(len(system.controls)) if weights is None else _vector("weights", weights, len(system.controls))
        if np.any(self.weights <= 0):
            raise ValueError(f"weights must be positive, got {weights!r}")
        self.gain = system.inputs @ np.diag(1 / self.weights) @ system.inputs.T
        self._compile(method, self._kind(method, hessian))
        self._places()

    def _kind(self, method: HamiltonianMethod, hessian: str | None) -> str:
        simple = self.n == 1 and separable(self.system)
        if hessian is None:
            return "quotient" if simple and isinstance(method, Greenspan | Midpoint) else "node"
        if hessian not in HESSIANS:
            raise ValueError(f"hessian must be one of {HESSIANS}, got {hessian!r}")
        if hessian == "quotient" and not simple:
            raise ValueError("hessian='quotient' is for one degree of freedom and an energy T(p) + V(q); 'node' fits")
        return hessian

    def _compile(self, method: HamiltonianMethod, hessian: str) -> None:
        n, d = self.n, 2 * self.n
        x, w = ca.SX.sym("x", d), ca.SX.sym("w", d)
        H = ca.SX(self.system.H(x[:n], x[n:]))
        A, g = ca.hessian(H, x)
        self.energy = Batch(x, [(H, ()), (g, (d,)), (A, (d, d))])
        self.third = Batch(ca.vertcat(x, w), [(ca.hessian(ca.jtimes(H, x, w), x)[0], (d, d))])

        h, gain = ca.SX.sym("h"), ca.SX.sym("gain", n, n)
        x0, x1, l = (ca.SX.sym(name, d) for name in ("x0", "x1", "l"))
        points = Points()
        D = method.discrete_gradient(points, x0, x1)
        f = x1 - x0 - h * ca.vertcat(D[n:], ca.mtimes(gain, l[n:]) - D[:n])
        self.state = Equation(ca.vertcat(x0, x1, l), points, ca.SX.zeros(d), f, h, gain)

        a, b, c, l0, l1 = (ca.SX.sym(name, d) for name in ("a", "b", "c", "l0", "l1"))
        w = ca.vertcat(-(l0 + l1)[n:], (l0 + l1)[:n])  # J^T (l_k + l_{k-1})
        points, dx = Points(), (c - a) / 2
        change = method.discrete_gradient(points, b, c) - method.discrete_gradient(points, a, b)
        bent = (points.bent((a + b) / 2) + points.bent((b + c) / 2)) / 2 if hessian == "average" else points.bent(b)
        if hessian == "quotient":
            size = a**2 + c**2
            product = ca.vertcat(*(guarded(w[i] * change[i] * dx[i], dx[i] ** 2, size[i], bent[i]) for i in range(d)))
        else:
            product = bent + dx * guarded(ca.dot(w, change) - ca.dot(bent, dx), ca.sumsqr(dx), ca.sumsqr(a) + ca.sumsqr(c))
        self.costate = Equation(ca.vertcat(a, b, c, l0, l1), points, w, l1 - l0 + h / 2 * product, h, gain)

    # The matrix: unknowns l_0, x_1, l_1, x_2, ..., x_{N-1}, l_{N-1}, equations state_0, costate_1, state_1, ..., state_{N-1}

    def _places(self) -> None:
        """Where the blocks of the derivatives are in the band."""
        N, d = self.steps, 2 * self.n
        self.reach, self.unknowns = 3 * d - 1, d * (2 * N - 1)
        self.width = 3 * self.reach + 1

        def places(rows: Integers, columns: Integers) -> Integers:
            i = (rows * d)[:, None, None] + np.arange(d)[:, None]
            j = (columns * d)[:, None, None] + np.arange(d)
            return np.asarray(j * self.width + 2 * self.reach + i - j)

        k = np.arange(N)
        #: (places, steps, columns of variables, whether these are costates), for each block
        self.state_blocks = [
            (places(2 * k[1:], 2 * k[1:] - 1), slice(1, N), 0, False),
            (places(2 * k[:-1], 2 * k[:-1] + 1), slice(0, N - 1), 1, False),
            (places(2 * k, 2 * k), slice(0, N), 2, True),
        ]
        k = np.arange(1, N)
        self.costate_blocks = [
            (places(2 * k[1:] - 1, 2 * k[1:] - 3), slice(1, N - 1), 0, False),
            (places(2 * k - 1, 2 * k - 1), slice(0, N - 1), 1, False),
            (places(2 * k[:-1] - 1, 2 * k[:-1] + 1), slice(0, N - 2), 2, False),
            (places(2 * k - 1, 2 * k - 2), slice(0, N - 1), 3, True),
            (places(2 * k - 1, 2 * k), slice(0, N - 1), 4, True),
        ]

    def evaluate(self, x: Array, l: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """State equations (N, 2 n) and costate equations (N - 1, 2 n), each with derivatives by their variables."""
        y = np.hstack([x[:-1], x[1:], l])
        state = self.state(self.energy, self.third, y, self.h, self.gain)
        y = np.hstack([x[:-2], x[1:-1], x[2:], l[:-1], l[1:]])
        return state, self.costate(self.energy, self.third, y, self.h, self.gain)

    def factor(self, state: Array, costate: Array, sx: Array, sl: Array) -> tuple[Array, Array]:
        """The band matrix, in units sx of states and sl of costates, as LU; or an error, if it is singular."""
        d = 2 * self.n
        band = np.zeros((self.unknowns, self.width))
        for blocks, J, row in ((self.state_blocks, state, sx), (self.costate_blocks, costate, sl)):
            for at, steps, i, of_costate in blocks:
                band.ravel()[at] = J[steps, :, i * d : (i + 1) * d] * (sl if of_costate else sx) / row[:, None]
        lu, pivots, info = lapack.dgbtrf(band.T, self.reach, self.reach, overwrite_ab=True)
        if info != 0:
            raise np.linalg.LinAlgError("the matrix of the conditions is singular")
        return lu, pivots

    def increment(self, lu: tuple[Array, Array], state: Array, costate: Array, sx: Array, sl: Array) -> tuple[Array, Array]:
        """Of states (N + 1, 2 n) and costates (N, 2 n)."""
        N, d = self.steps, 2 * self.n
        b = np.empty((2 * N - 1, d))
        b[0::2], b[1::2] = state / sx, costate / sl
        z, _ = lapack.dgbtrs(lu[0], self.reach, self.reach, b.ravel(), lu[1])
        z = -z.reshape(2 * N - 1, d)
        dx = np.zeros((N + 1, d))
        dx[1:-1] = z[1::2] * sx
        return dx, z[0::2] * sl

    def solve(self, x: Array, l: Array, iterations: int) -> Extremal:
        """Damped Newton's method: a step is taken so far that the next correction, with the same matrix, is smaller (Deuflhard 2011)."""
        begun, derivatives = time.perf_counter(), 0.0

        def evaluate(x: Array, l: Array) -> Any:
            nonlocal derivatives
            since = time.perf_counter()
            found = self.evaluate(x, l)
            derivatives += time.perf_counter() - since
            return found

        with np.errstate(all="ignore"):  # what is not finite is seen
            x, l, (state, costate), message, count = self._newton(x, l, evaluate, iterations)
        left = max(np.abs(state[0] / _sizes(x)).max(), np.abs(costate[0] / _sizes(l)).max())
        return Extremal(
            system=self.system,
            method=self.method,
            success=not message,
            message=message or "the necessary conditions hold",
            horizon=self.h * self.steps,
            x=x,
            costates=l,
            weights=self.weights,
            kkt_residual=float(left),
            iterations=count,
            solve_seconds=time.perf_counter() - begun,
            derivative_seconds=derivatives,
        )

    def _newton(self, x: Array, l: Array, evaluate: Any, iterations: int) -> tuple[Array, Array, Any, str, int]:
        """What was reached, the equations there, what went wrong if anything did, and the number of iterations."""
        found, damping, last = evaluate(x, l), 1.0, np.inf
        for count in range(iterations + 1):
            (f, f_y), (g, g_y) = found
            sx, sl = _sizes(x), _sizes(l)
            if not all(np.all(np.isfinite(a)) for a in (f, f_y, g, g_y)):
                return x, l, found, "the energy or its derivatives are not finite on the path", count
            try:
                lu = self.factor(f_y, g_y, sx, sl)
            except np.linalg.LinAlgError as error:
                return x, l, found, f"{error}; do the inputs reach all coordinates?", count
            dx, dl = self.increment(lu, f, g, sx, sl)
            size = _norm(dx / sx, dl / sl)
            if size < FINE and size >= last / 2:
                return x, l, found, "", count  # nothing but round-off is left
            damping = 1.0 if size < FINE else min(1.0, 2 * damping)
            while True:
                trial = x + damping * dx, l + damping * dl
                new = evaluate(*trial)
                ex, el = self.increment(lu, new[0][0], new[1][0], sx, sl)
                if size < FINE or _norm(ex / sx, el / sl) <= (1 - damping / 4) * size:
                    break
                curved = _norm((ex - (1 - damping) * dx) / sx, (el - (1 - damping) * dl) / sl)
                best = damping**2 * size / (2 * curved) if np.isfinite(curved) and curved > 0 else 0.0
                damping = float(np.clip(best, damping / 10, damping / 2))
                if damping < SMALLEST:
                    return x, l, found, "Newton's method makes no progress; try another guess", count
            (x, l), found, last = trial, new, size
        return x, l, found, f"no solution after {iterations} iterations", iterations

    # Where to start

    def check(self, states: ArrayLike, costates: ArrayLike) -> tuple[Array, Array]:
        """A guess of the user, with the given ends."""
        x, l = (np.array(a, dtype=float) for a in (states, costates))
        N, d = self.steps, 2 * self.n
        if x.shape != (N + 1, d) or l.shape != (N, d):
            raise ValueError(f"guess must be states {(N + 1, d)} and costates {(N, d)}, got {x.shape} and {l.shape}")
        if not (np.all(np.isfinite(x)) and np.all(np.isfinite(l))):
            raise ValueError("guess must be finite")
        x[0], x[-1] = self.start, self.end
        return x, l

    def direct(self, states: ArrayLike | None, solver: Any) -> Result:
        """The solution of the direct transcription, from these states."""
        from kreisel.control.problem import OptimalControl

        n = self.n
        x = self.path() if states is None else self.check(states, np.zeros((self.steps, 2 * n)))[0]
        # The inputs that the path takes, as far as they can
        gradient = self.energy((x[:-1] + x[1:]) / 2)[1]
        u = (np.diff(x[:, n:], axis=0) / self.h + gradient[:, :n]) @ np.linalg.pinv(self.system.inputs).T
        course = Course(nodes={"q": (x[:, :n], x[:, n:])}, controls=dict(zip(self.system.controls, u.T, strict=True)))
        weights = dict(zip(self.system.controls, self.weights.tolist(), strict=True))
        end = Target(q=self.end[:n], v=self.end[n:])
        start = {"q": (self.start[:n], self.start[n:])}
        problem = OptimalControl(self.system, self.h * self.steps, self.steps, end, start, effort(weights), guess=course)
        return problem.solve(self.method, solver=solver)

    def path(self) -> Array:
        """q as a cubic function of time with the given ends and rates there, and p that fits."""
        n, T, s = self.n, self.steps * self.h, np.linspace(0, 1, self.steps + 1)[:, None]
        q0, q1 = self.start[:n], self.end[:n]
        v0, v1 = self.energy(np.stack([self.start, self.end]))[1][:, n:]
        q = q0 + s**2 * (3 - 2 * s) * (q1 - q0) + T * (s * (1 - s) ** 2 * v0 + s**2 * (s - 1) * v1)
        v = 6 * s * (1 - s) * (q1 - q0) / T + (1 - s) * (1 - 3 * s) * v0 + s * (3 * s - 2) * v1
        x = np.hstack([q, (1 - s) * self.start[n:] + s * self.end[n:]])
        for _ in range(5):  # dH/dp = v; of an energy quadratic in p, one iteration is enough
            _, g, A = self.energy(x)
            try:
                x[:, n:] += np.linalg.solve(A[:, n:, n:], (v - g[:, n:])[..., None])[..., 0]
            except np.linalg.LinAlgError:  # momenta that rates do not tell
                break
        x[0], x[-1] = self.start, self.end
        return x


#: Corrections, relative to the largest values, below which Newton's method goes on undamped until only round-off is left; and the least
#: part of a step that is tried.
FINE, SMALLEST = 1e-7, 1e-5


def _sizes(a: Array) -> Array:
    """The largest value of each component over time, or one."""
    size = np.abs(a).max(axis=0)
    return np.where(size > 0, size, 1.0)


def _middle(t: Array) -> Array:
    return np.asarray((t[1:] + t[:-1]) / 2)


def _norm(x: Array, l: Array) -> float:
    return float(np.sqrt((np.sum(x**2) + np.sum(l**2)) / (x.size + l.size)))


def _vector(name: str, given: ArrayLike, n: int) -> Array:
    a = np.atleast_1d(np.array(given, dtype=float))
    if a.shape != (n,) or not np.all(np.isfinite(a)):
        raise ValueError(f"{name} must be {n} finite numbers, got {given!r}")
    return a
