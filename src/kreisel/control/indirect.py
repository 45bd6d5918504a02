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
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.methods.discrete import guarded
from kreisel.methods.hamiltonian import Greenspan, separable
from kreisel.methods.midpoint import HamiltonianMethod, Midpoint
from kreisel.symbolic import ArrayFunction

Array = NDArray[np.float64]

#: Kinds of DDH.
HESSIANS = ("node", "average", "quotient")


@dataclass
class Extremal:
    """What fulfils the discrete necessary conditions. Time first; ``costates`` and ``controls`` belong to the steps, N of them.

    ``q``, ``p``: (N + 1, n). ``costates``: (N, 2 n), of q and then of p. ``controls``: (N, m), in the order of ``names``. ``hamiltonian``:
    H^d of each step. ``energy``, ``work``: at the times. ``residual``: the largest equation left, relative to the largest term of its
    kind.
    """

    success: bool
    message: str
    t: Array
    q: Array
    p: Array
    costates: Array
    controls: Array
    names: list[str]
    cost: float
    hamiltonian: Array
    energy: Array
    work: Array
    residual: float
    iterations: int
    solve_seconds: float
    derivative_seconds: float

    @property
    def balance(self) -> Array:
        """Energy minus work: constant with Gonzalez and Greenspan."""
        return self.energy - self.work

    @property
    def hamiltonian_spread(self) -> float:
        """Largest minus smallest H^d, relative to its size."""
        return float(np.ptp(self.hamiltonian) / np.abs(self.hamiltonian).max())

    @property
    def average_costates(self) -> Array:
        """The mean of the costates over time, (2 n,): Siebert, (8.58)."""
        return np.asarray(self.costates.mean(axis=0))


def solve(
    system: Hamiltonian,
    method: HamiltonianMethod,
    horizon: float,
    steps: int,
    end_q: ArrayLike,
    end_p: ArrayLike,
    weights: ArrayLike | None = None,
    hessian: str | None = None,
    guess: tuple[ArrayLike, ArrayLike] | None = None,
    iterations: int = 100,
) -> Extremal:
    """Newton's method on the discrete necessary conditions.

    ``method``: kr.Greenspan(), kr.Gonzalez(...) or kr.Midpoint(). ``end_q``, ``end_p``: x_f. ``weights``: the diagonal of W, one number
    per control; default ones. ``hessian``: what DDH starts from: "node", the Hessian of H at x_k (8.52); "average", the mean of those in
    the middle of both steps (8.53); or "quotient", for one degree of freedom with H = T(p) + V(q), the quotients of differences by q and
    by p (8.21), (8.26), default for Greenspan and for the midpoint rule where it fits. ``guess``: states (N + 1, 2 n) and costates
    (N, 2 n); if it is not given, a path as straight as possible, with the inputs that it takes.

    >>> import kreisel as kr
    >>> pendulum = kr.Hamiltonian(lambda q, p: p[0] ** 2 / 2 - 9.81 * ca.sin(q[0]), 1, controls="u")
    >>> found = solve(pendulum, kr.Greenspan(), horizon=3.0, steps=20, end_q=[np.pi / 2], end_p=[0.0])
    >>> round(found.cost, 6), round(float(found.hamiltonian[0]), 6), found.hamiltonian_spread < 1e-10
    (6.711933, 1.804805, True)
    """
    conditions = Conditions(system, method, horizon, steps, end_q, end_p, weights, hessian)
    x, l = conditions.path() if guess is None else conditions.check(*guess)
    return conditions.solve(x, l, iterations)


@dataclass
class Point:
    """A place where the energy is wanted, with symbols for its value, gradient and Hessian there.

    ``bent``: its Hessian times w; with the derivative of that, ``third``.
    """

    at: ca.SX
    value: ca.SX
    gradient: ca.SX
    hessian: ca.SX
    bent: ca.SX
    third: ca.SX


@dataclass
class Points:
    """An energy whose values and derivatives are named by symbols: formulas stay short, whatever the energy is.

    Derivatives are multiplied up over these names. ``w``: the direction of ``bent``.
    """

    y: ca.SX  # the variables
    w: ca.SX
    found: list[Point] = field(default_factory=list)

    def at(self, z: ca.SX) -> Point:
        z = ca.simplify(ca.densify(z))
        for point in self.found:
            if ca.is_equal(point.at, z, 3):
                return point
        n = z.numel()
        new = Point(z, ca.SX.sym("E"), ca.SX.sym("g", n), ca.SX.sym("A", n, n), ca.SX.sym("b", n), ca.SX.sym("T", n, n))
        self.found.append(new)
        return new

    def value(self, z: ca.SX) -> ca.SX:
        return self.at(z).value

    def gradient(self, z: ca.SX) -> ca.SX:
        return self.at(z).gradient

    def bent(self, z: ca.SX) -> ca.SX:
        return self.at(z).bent

    def jacobian(self, f: ca.SX) -> ca.SX:
        """The derivative of f with respect to the variables."""
        J = ca.jacobian(f, self.y)
        for p in self.found:
            along = ca.jacobian(p.at, self.y)
            J += ca.mtimes(ca.jacobian(f, p.value), ca.mtimes(p.gradient.T, along))
            J += ca.mtimes(ca.jacobian(f, p.gradient), ca.mtimes(p.hessian, along))
            by_bent = ca.jacobian(f, p.bent)
            if by_bent.nnz():
                J += ca.mtimes(by_bent, ca.mtimes(p.third, along) + ca.mtimes(p.hessian, ca.jacobian(self.w, self.y)))
        return ca.densify(J)


class Equation:
    """A formula at all steps at once, with its derivative, by way of the energy at some points."""

    def __init__(self, name: str, points: Points, formula: ca.SX, h: ca.SX, gain: ca.SX) -> None:
        y, found = points.y, points.found
        n, count, m = found[0].at.numel(), len(found), formula.numel()
        #: The points whose Hessian occurs in the formula, so that its derivative is needed.
        self.curved = [i for i, p in enumerate(found) if ca.depends_on(formula, p.bent)]
        where = ca.Function("where", [y], [ca.vertcat(*(p.at.T for p in found)), points.w])
        self.places = ArrayFunction(f"places of {name}", where, {"y": (y.numel(),)}, [(count, n), (n,)])
        columns = {
            "value": ca.vertcat(*(p.value for p in found)),
            "gradient": ca.vertcat(*(p.gradient.T for p in found)),
            "hessian": ca.vertcat(*(ca.vec(p.hessian).T for p in found)),
            "bent": ca.vertcat(*(p.bent.T for p in found)),
            "third": ca.vertcat(*(ca.vec(p.third).T for p in found)),
        }
        f = ca.Function("f", [y, *columns.values(), h, gain], [formula, points.jacobian(formula)])
        shapes = {"y": (y.numel(),), "value": (count,)} | {k: c.shape for k, c in columns.items() if k != "value"}
        shapes |= {"h": (), "gain": gain.shape}
        self.combine = ArrayFunction(name, f, shapes, [(m,), (m, y.numel())])

    def __call__(self, energy: ArrayFunction, third: ArrayFunction, y: Array, h: float, gain: Array) -> tuple[Array, Array]:
        """Values (steps, rows) and derivatives (steps, rows, variables)."""
        z, w = self.places(y)
        value, gradient, hessian = energy(z)
        bent = np.einsum("kpij,kj->kpi", hessian, w)
        T = np.zeros_like(hessian)
        if self.curved:
            T[:, self.curved] = third(z[:, self.curved], w[:, None])
        flat = (*z.shape[:2], -1)
        found = self.combine(y, value, gradient, hessian.reshape(flat), bent, T.reshape(flat), h, gain)
        return found[0], found[1]


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
        self.system, self.n, self.steps, self.h = system, n, int(steps), float(horizon) / int(steps)
        self.start = np.concatenate([system.nodes[0].q, system.nodes[0].v])
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
        self.energy = ArrayFunction("energy", ca.Function("E", [x], [H, g, ca.densify(A)]), {"x": (d,)}, [(), (d,), (d, d)])
        third = ca.Function("T", [x, w], [ca.densify(ca.hessian(ca.jtimes(H, x, w), x)[0])])
        self.third = ArrayFunction("third derivative", third, {"x": (d,), "w": (d,)}, [(d, d)])

        h, gain = ca.SX.sym("h"), ca.SX.sym("gain", n, n)
        x0, x1, l = (ca.SX.sym(name, d) for name in ("x0", "x1", "l"))
        points = Points(ca.vertcat(x0, x1, l), ca.SX.zeros(d))
        D = method.discrete_gradient(points, x0, x1)
        force = ca.mtimes(gain, l[n:])
        self.state = Equation("state", points, x1 - x0 - h * ca.vertcat(D[n:], force - D[:n]), h, gain)

        a, b, c, l0, l1 = (ca.SX.sym(name, d) for name in ("a", "b", "c", "l0", "l1"))
        w = ca.vertcat(-(l0 + l1)[n:], (l0 + l1)[:n])  # J^T (l_k + l_{k-1})
        points = Points(ca.vertcat(a, b, c, l0, l1), w)
        change = method.discrete_gradient(points, b, c) - method.discrete_gradient(points, a, b)
        bent = (points.bent((a + b) / 2) + points.bent((b + c) / 2)) / 2 if hessian == "average" else points.bent(b)
        dx = (c - a) / 2
        if hessian == "quotient":
            size = a**2 + c**2
            rows = [guarded(w[i] * change[i] * dx[i], dx[i] ** 2, size[i], bent[i]) for i in range(d)]
            product = ca.vertcat(*rows)
        else:
            product = bent + dx * guarded(ca.dot(w, change) - ca.dot(bent, dx), ca.sumsqr(dx), ca.sumsqr(a) + ca.sumsqr(c))
        self.costate = Equation("costate", points, l1 - l0 + h / 2 * product, h, gain)

    # The matrix: unknowns l_0, x_1, l_1, x_2, ..., x_{N-1}, l_{N-1}, equations state_0, costate_1, state_1, ..., state_{N-1}

    def _places(self) -> None:
        """Where the blocks of the derivatives are in the band."""
        N, d = self.steps, 2 * self.n
        self.reach, self.unknowns = 3 * d - 1, d * (2 * N - 1)
        self.width = 3 * self.reach + 1

        def places(rows: Array, columns: Array) -> Array:
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

        state, costate = evaluate(x, l)
        message, damping, count, last = "", 1.0, 0, np.inf
        while not message:
            sx, sl = _sizes(x), _sizes(l)
            if not all(np.all(np.isfinite(a)) for a in (*state, *costate)):
                message = "the energy or its derivatives are not finite on the path"
                break
            try:
                lu = self.factor(state[1], costate[1], sx, sl)
            except np.linalg.LinAlgError as error:
                message = f"{error}; do the inputs reach all coordinates?"
                break
            dx, dl = self.increment(lu, state[0], costate[0], sx, sl)
            size = _norm(dx / sx, dl / sl)
            if size < FINE and size > last / 2:
                break  # nothing but round-off is left
            if count == iterations:
                message = f"no solution after {iterations} iterations"
                break
            damping = 1.0 if size < FINE else min(1.0, 2 * damping)
            while True:
                trial = x + damping * dx, l + damping * dl
                new = evaluate(*trial)
                ex, el = self.increment(lu, new[0][0], new[1][0], sx, sl)
                next_size = _norm(ex / sx, el / sl)
                if next_size <= (1 - damping / 4) * size or size < FINE:
                    break
                curved = _norm((ex - (1 - damping) * dx) / sx, (el - (1 - damping) * dl) / sl)
                best = damping**2 * size / (2 * curved) if np.isfinite(curved) and curved > 0 else 0.0
                damping = float(np.clip(best, damping / 10, damping / 2))
                if damping < SMALLEST:
                    message = "Newton's method makes no progress; try another guess"
                    break
            if message:
                break
            (x, l), (state, costate), last = trial, new, size
            count += 1
        return self._answer(x, l, state[0], costate[0], message, count, time.perf_counter() - begun, derivatives)

    def _answer(
        self, x: Array, l: Array, state: Array, costate: Array, message: str, count: int, seconds: float, derivatives: float
    ) -> Extremal:
        n, h, B = self.n, self.h, self.system.inputs
        u = l[:, n:] @ B / self.weights
        rate = np.diff(x, axis=0) / h
        energy = self.energy(x)[0]
        work = np.concatenate([[0.0], np.cumsum(np.sum(u * (np.diff(x[:, :n], axis=0) @ B), axis=1))])
        effort = np.sum(u * self.weights * u, axis=1) / 2
        left = max(np.abs(state / _sizes(x)).max(), np.abs(costate / _sizes(l)).max())
        return Extremal(
            success=not message,
            message=message or "the necessary conditions hold",
            t=h * np.arange(self.steps + 1),
            q=x[:, :n],
            p=x[:, n:],
            costates=l,
            controls=u,
            names=self.system.controls,
            cost=float(h * effort.sum()),
            hamiltonian=np.sum(l * rate, axis=1) - effort,
            energy=energy,
            work=work,
            residual=float(left),
            iterations=count,
            solve_seconds=seconds,
            derivative_seconds=derivatives,
        )

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

    def path(self) -> tuple[Array, Array]:
        """q as a cubic function of time, p and the inputs that it takes, and costates that fit these as far as they can."""
        N, n, h = self.steps, self.n, self.h
        T, s = N * h, np.linspace(0, 1, N + 1)[:, None]
        q0, q1 = self.start[:n], self.end[:n]
        v0, v1 = (self.energy(z)[1][n:] for z in (self.start, self.end))
        rest, slope0, slope1 = s**2 * (3 - 2 * s), s * (1 - s) ** 2, s**2 * (s - 1)
        q = q0 + rest * (q1 - q0) + T * (slope0 * v0 + slope1 * v1)
        v = (6 * s * (1 - s) * (q1 - q0)) / T + (1 - s) * (1 - 3 * s) * v0 + s * (3 * s - 2) * v1
        x = np.hstack([q, (1 - s) * self.start[n:] + s * self.end[n:]])
        for _ in range(20):  # of an energy quadratic in p, one is enough
            _, g, A = self.energy(x)
            x[:, n:] += np.linalg.solve(A[:, n:, n:], (v - g[:, n:])[..., None])[..., 0]
        x[0], x[-1] = self.start, self.end
        _, g, A = self.energy((x[:-1] + x[1:]) / 2)
        l = np.zeros((N, 2 * n))
        l[:, n:] = (np.diff(x[:, n:], axis=0) / h + g[:, :n]) @ np.linalg.pinv(self.gain)
        rate = np.gradient(l[:, n:], h, axis=0)
        right = np.einsum("kij,kj->ki", A[:, n:, :n], l[:, n:]) - rate
        l[:, :n] = np.linalg.solve(A[:, n:, n:], right[..., None])[..., 0]
        return x, l


#: Corrections, relative to the largest values, below which Newton's method goes on undamped until only round-off is left; and the least
#: part of a step that is tried.
FINE, SMALLEST = 1e-7, 1e-5


def _sizes(a: Array) -> Array:
    """The largest value of each component over time, or one."""
    size = np.abs(a).max(axis=0)
    return np.where(size > 0, size, 1.0)


def _norm(x: Array, l: Array) -> float:
    return float(np.sqrt((np.sum(x**2) + np.sum(l**2)) / (x.size + l.size)))


def _vector(name: str, given: ArrayLike, n: int) -> Array:
    a = np.atleast_1d(np.array(given, dtype=float))
    if a.shape != (n,) or not np.all(np.isfinite(a)):
        raise ValueError(f"{name} must be {n} finite numbers, got {given!r}")
    return a
