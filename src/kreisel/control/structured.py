r"""The fast solver of problems with stages: Newton's method on the necessary conditions, with barriers for inequalities.

Inequalities get slacks t, and these and the bounded controls a barrier:

.. math::

   \min\ \sum L + E - \mu \sum \log(t - t^-) - \mu \sum \log(t^+ - t) \quad\text{with}\quad R = 0,\ z_{k+1} = U,\ c = t,\ e = t

The necessary conditions of this, with multipliers \zeta^- (t - t^-) = \mu as unknowns of their own, are solved by Newton's method while
\mu goes to zero; without inequalities there is nothing but Newton. The linear equations are those of :mod:`kreisel.control.riccati`.

- The Hessian is that of the Lagrangian as long as it is positive definite where the conditions allow to move. Else a distance is added to
  it in which all relative changes count alike, states included; if that needs too much, the curvature of the conditions is left out.
- A step is good if the cost with barriers plus the violations, each weighted by its multiplier, falls (Powell 1978, A fast algorithm for
  nonlinearly constrained optimization calculations, (4.6)); or if Newton's next correction with the same matrix is not much longer than
  this one, a measure that does not depend on how the conditions are written (Deuflhard, Newton Methods for Nonlinear Problems, 2004,
  section 3.3, there without growth). Else the step is tried with the violation of its end added (second-order correction), then halved.
- The step to the boundary and the fall of \mu: Waechter and Biegler, On the implementation of an interior-point filter line-search
  algorithm, Math. Program. 106 (2006), (7), (8), (15), (16), with \mu in units of the cost per inequality.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from kreisel.control.outcome import Callback, Ending, Iteration, Multipliers, Outcome, Row
from kreisel.control.riccati import DONE, SINGULAR, Array, Factors, Matrix, Vector
from kreisel.control.stages import Stages

#: Weight of the end's equations against what the controls can do about them: so large that it is the null space of these equations, too,
#: where the Hessian must be positive definite. For the three-link arm 1e4 is enough and 1e2 is not.
_END_WEIGHT = 1e5

#: Weight of equations along the path against the Hessian.
_PATH_WEIGHT = 1e8

#: A step keeps at least this part of the distance to a bound, and a multiplier this part of itself; less (to a tenth) when mu is small.
_KEEP = 0.01

#: Newton's next correction, with the same matrix, may be that much longer than this one; the second number after the first one led nowhere.
#: From five guesses each for the satellite with 20 and 80 steps, 1 takes 16 to 197 iterations, 2 takes 12 to 39, and 4 takes 12 to 41.
_GROWTH = (2.0, 0.75)

#: Iterations without a better point that lead nowhere.
_PATIENCE = 40

#: Above this violation, the curvature of conditions is not worth a regularisation.
_FAR = 0.1

#: A multiplier of a bound stays within this factor of mu over the distance.
_DUAL_RANGE = 1e10


@dataclass(frozen=True)
class Structured:
    """Options of the fast solver.

    ``tolerance``: of the necessary conditions, relative to the terms that cancel in them; ``max_iterations``.

    >>> import casadi as ca, numpy as np
    >>> from kreisel.control.stages import Bounds, End, Part, Sizes, Stages
    >>> z, u = ca.SX.sym("z"), ca.SX.sym("u")                              # from 0 to 1 in four steps z + u, with least sum of u^2
    >>> part = Part(ca.vertcat(z, u), np.arange(2)[None], ca.SX(0, 1), np.zeros((1, 0), int), z + u, np.zeros((1, 1), int), u**2)
    >>> nothing, free = np.zeros(0), np.full(1, np.inf)
    >>> bounds = Bounds((-free, free), (nothing, nothing), (np.zeros(1), np.zeros(1)))
    >>> problem = Stages(Sizes(1, 0, 1, 0, 1), [part], End(z, ca.SX(0), z - 1), bounds, np.zeros(1), np.arange(4.0), nothing)
    >>> outcome = Structured().solve(problem, np.zeros((4, 2)), np.zeros(1))
    >>> outcome.ending.name, outcome.iterations, outcome.cost
    ('SOLVED', 1, 0.25)
    """

    tolerance: float = 1e-10
    max_iterations: int = 300

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance must be between 0 and 1, got {self.tolerance}")
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations must not be negative, got {self.max_iterations}")

    def solve(
        self, stages: Stages, y: Array, end: Array, multipliers: Multipliers | None = None, callback: Callback | None = None
    ) -> Outcome:
        """From the guess y (N, y) and z_N (z,), perhaps with multipliers; ``callback`` gets each iteration."""
        if np.any(stages.gain):
            raise ValueError("the fast solver does not take methods that carry accelerations from the start; use kr.Ipopt()")
        run = _Run(self, stages, callback)
        return run.solve(y, end, multipliers)


class _Box:
    """What has bounds: controls, slacks of path and end conditions, one after the other in one vector t."""

    def __init__(self, stages: Stages) -> None:
        s, N = stages.sizes, stages.steps
        b = stages.bounds
        self.shape = (N, s.u), (N, s.c), (s.e,)
        low, high = (
            np.concatenate([np.broadcast_to(x[i], n).ravel() for x, n in zip((b.u, b.c, b.e), self.shape, strict=True)]) for i in (0, 1)
        )
        self.low, self.high, self.equal = low, high, low == high
        self.has_low, self.has_high = np.isfinite(low) & ~self.equal, np.isfinite(high) & ~self.equal
        self.any = self.has_low | self.has_high
        self.count = int(self.has_low.sum() + self.has_high.sum())

    def parts(self, t: Array) -> tuple[Array, Array, Array]:
        """Of controls (N, u), path (N, c), end (e,)."""
        (N, u), (_, c), _ = self.shape
        return t[: N * u].reshape(N, u), t[N * u : N * (u + c)].reshape(N, c), t[N * (u + c) :]

    def inside(self, t: Array, margin: float) -> Array:
        """The nearest t that keeps away from the bounds by ``margin``, relative to the bound or the distance of both."""
        low, high = np.where(self.has_low, self.low, 0.0), np.where(self.has_high, self.high, 0.0)
        both = np.where(self.has_low & self.has_high, margin * (high - low), np.inf)
        t = np.where(self.has_low, np.maximum(t, low + np.minimum(margin * np.maximum(1, abs(low)), both)), t)
        t = np.where(self.has_high, np.minimum(t, high - np.minimum(margin * np.maximum(1, abs(high)), both)), t)
        return np.where(self.equal, self.low, t)

    def within(self, t: Array) -> Array:
        """t, but where rounding put it on a bound or beyond."""
        return np.where(self.any, np.clip(t, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf)), t)

    def distances(self, t: Array) -> tuple[Array, Array]:
        """To the bounds; 1 where there is none."""
        return np.where(self.has_low, t - self.low, 1.0), np.where(self.has_high, self.high - t, 1.0)

    def barrier(self, t: Array) -> float:
        low, high = self.distances(t)
        if not (low.min(initial=1.0) > 0 and high.min(initial=1.0) > 0):
            return np.inf
        return -float(np.log(low).sum() + np.log(high).sum())

    def force(self, t: Array) -> Array:
        """The gradient of the barrier."""
        low, high = self.distances(t)
        force: Array = self.has_high / high - self.has_low / low
        return force


def _longest(x: Array, dx: Array, keep: float) -> float:
    """The largest step up to 1 that leaves positive x at least at ``keep`` x."""
    falling = dx < 0
    return float(min(1.0, np.min((keep - 1) * x[falling] / dx[falling], initial=1.0)))


@dataclass
class _Point:
    """An iterate: unknowns, multipliers, and the values there."""

    y: Array
    end: Array
    t: Array
    cost: float = np.nan
    rows: Array = field(default_factory=lambda: np.zeros(0))
    e: Array = field(default_factory=lambda: np.zeros(0))


@dataclass
class _Duals:
    r: Array
    s: Array
    low: Array
    high: Array


@dataclass
class _Slopes:
    """First derivatives at a point, and how far it is from being a solution."""

    g: Array
    J: Array
    g_end: Array
    e_z: Array
    gradient: Array
    gradient_end: Array
    stationarity: float
    infeasibility: float


class _Stop(Exception):
    def __init__(self, ending: Ending, message: str = "") -> None:
        self.ending, self.message = ending, message or ending.value


class _Run:
    """One solution; holds the iterate, so that it is there when the run is interrupted."""

    def __init__(self, options: Structured, stages: Stages, callback: Callback | None) -> None:
        self.options, self.stages, self.callback = options, stages, callback
        self.n, self.box, self.factors = stages.sizes, _Box(stages), Factors(stages)
        n = self.n
        self.R, self.U, self.c = slice(0, n.x), slice(n.x, n.x + n.z), slice(n.x + n.z, None)
        self.u = slice(n.z + n.x, None)
        fixed, path_equal, equal = self.box.parts(self.box.equal)
        self.fixed_u, self.equations = fixed.astype(bool), equal.astype(bool)
        self.path_equations = path_equal[0].astype(bool)
        self.given = np.zeros((stages.steps, n.y), dtype=bool)
        self.given[0, : n.z] = stages.free == 0
        self.given[:, self.u] = self.fixed_u
        self.rho = np.zeros(n.e)
        self.mu = self.unit = 0.0
        self.growth, self.best = _GROWTH[0], (np.inf, 0)  # the smallest error, and in which iteration
        self.added = 1e-2  # to the Hessian, the last time it was needed
        self.weights: tuple[Array, Array] | None = None
        self.derivative_seconds = 0.0
        self.history: list[Iteration] = []

    # Values and derivatives.

    def point(self, y: Array, end: Array, t: Array) -> _Point:
        """With controls where t has them."""
        t = self.box.within(t)
        y[:, self.u] = self.box.parts(t)[0]
        clock = time.perf_counter()
        cost, rows, e = self.stages.values(y, end)
        self.derivative_seconds += time.perf_counter() - clock
        rows = rows.copy()
        rows[:-1, self.U] -= y[1:, : self.n.z]
        rows[-1, self.U] -= end
        _, t_c, t_e = self.box.parts(t)
        # Conditions without any bound have a slack that follows them.
        rows[:, self.c] -= t_c
        return _Point(y, end, t, cost, rows, e - t_e)

    def slopes(self, p: _Point, d: _Duals) -> _Slopes:
        clock = time.perf_counter()
        g, J, g_end, e_z = self.stages.derivatives(p.y, p.end)
        g, J = g.copy(), J.copy()
        self.derivative_seconds += time.perf_counter() - clock
        pull, pull_end = self.factors.transposed(J, e_z, d.r, d.s)
        sizes, sizes_end, sizes_rows = self.factors.sizes(J, e_z, d.r, d.s, p.y)
        b_u, b_c, b_e = self.box.parts(d.high - d.low)
        gradient, gradient_end = g + pull, g_end + pull_end
        gradient[:, self.u] += b_u
        gradient[self.given] = 0.0
        # Residuals are compared with the largest terms of their kind, in any step, that cancel in them.
        sizes = np.max(np.abs(g) + sizes, axis=0, initial=0.0)
        largest = max(sizes.max(initial=0.0), 1e-300)
        stationarity = max(
            (np.max(np.abs(gradient), axis=0, initial=0.0) / np.maximum(sizes, 1e-8 * largest)).max(initial=0.0),
            (np.abs(gradient_end) / max((np.abs(g_end) + sizes_end).max(initial=0.0), 1e-8 * largest)).max(initial=0.0),
        )
        # Multipliers of inequalities must be those of their slacks.
        for own, other, equal in ((d.r[:, self.c], b_c, self.path_equations), (d.s, b_e, self.equations)):
            difference = np.max(np.abs(own - other) * ~equal, initial=0.0)
            stationarity = max(stationarity, difference / max(np.abs(other).max(initial=0.0), 1e-8 * largest))
        violation = np.max(np.abs(p.rows), axis=0, initial=0.0) / np.maximum(np.max(sizes_rows, axis=0, initial=0.0), 1.0)
        violation_end = np.abs(p.e) / np.maximum(np.abs(e_z) @ np.abs(p.end), 1.0)
        infeasibility = max(violation.max(initial=0.0), violation_end.max(initial=0.0))
        return _Slopes(g, J, g_end, e_z, gradient, gradient_end, float(stationarity), float(infeasibility))

    def complementarity(self, p: _Point, d: _Duals, mu: float) -> float:
        """Largest difference of the products of multipliers and distances from mu, in units of the cost per inequality."""
        if not self.box.count:
            return 0.0
        low, high = self.box.distances(p.t)
        rest = max(np.max(np.abs(d.low * low - mu * self.box.has_low)), np.max(np.abs(d.high * high - mu * self.box.has_high)))
        return float(rest) / self.unit

    def hessian(self, p: _Point, d: _Duals | None) -> tuple[Array, Array]:
        """Of the Lagrangian, or of the cost alone."""
        clock = time.perf_counter()
        r, s = (np.zeros((self.stages.steps, self.n.rows)), np.zeros(self.n.e)) if d is None else (d.r, d.s)
        H, H_end = self.stages.hessian(p.y, p.end, r, s)
        self.derivative_seconds += time.perf_counter() - clock
        return H.copy(), H_end

    # The step.

    def factor(self, p: _Point, d: _Duals, k: _Slopes, choose: bool) -> float:
        """Factorises with the best Hessian that will do; gives what was added to it, nan if the curvature of conditions was left out.

        ``choose``: whether the independent equations of the end are to be chosen first.
        """
        low, high = self.box.distances(p.t)
        sigma_u, sigma_c, sigma_e = self.box.parts(d.low / low * self.box.has_low + d.high / high * self.box.has_high)
        H, H_end = self.hessian(p, None)
        largest = float(np.abs(H).max(initial=0.0)) or 1.0
        diagonal = np.zeros_like(p.y)
        diagonal[:, self.u] = sigma_u + np.where(self.fixed_u, 1e20 * largest, 0.0)
        weight = np.where(self.path_equations, _PATH_WEIGHT * largest, 0.0)
        matrix = Matrix(k.J, H, H_end, k.e_z, diagonal, sigma_c + weight, sigma_e, self.equations, self.path_equations)

        def cost_alone() -> float:
            added = 0.0
            while True:
                answer = self.factors.factor(matrix)
                if answer == SINGULAR:
                    raise _Stop(Ending.SINGULAR, f"{Ending.SINGULAR.value} (step {self.factors.failed_at})")
                if answer == DONE:
                    break
                if added > 1e12 * largest:
                    raise _Stop(Ending.STALLED, "no regularisation makes the cost convex")
                more = max(9 * added, 1e-8 * largest)
                added += more
                matrix.diagonal[:, self.u] += more
                matrix.diagonal[0, : self.n.z] += more
            self.rho = self.end_weights(k.e_z)
            return added

        curved = bool(d.r.any() or d.s.any())
        if choose or not curved:
            added = cost_alone()
            if not curved:
                return added
        exact = self.hessian(p, d)
        matrix.H, matrix.H_end = exact
        answer = self.factors.factor(matrix, self.rho)
        if answer == DONE:
            return 0.0
        if answer == SINGULAR:
            raise _Stop(Ending.SINGULAR, f"{Ending.SINGULAR.value} (step {self.factors.failed_at})")
        # More and more of a distance that treats all relative changes alike.
        height = np.max(np.abs(p.y), axis=0) + 1e-3
        metric = largest * (np.max(height[self.u], initial=1e-3) / height) ** 2
        plain, added = matrix.diagonal, max(1e-4, self.added / 9)
        while added < 1e3 and k.infeasibility < _FAR:
            matrix.diagonal = plain + added * metric
            if self.factors.factor(matrix, self.rho) == DONE:
                self.added = added
                return added
            added *= 3
        matrix.diagonal = plain
        matrix.H, matrix.H_end = H, H_end
        cost_alone()
        return np.nan

    def end_weights(self, e_z: Array) -> Array:
        """rho of :mod:`kreisel.control.riccati`, by what the controls can do about a row."""
        size = np.sum(e_z**2, axis=1)
        reach = np.diag(self.factors.D) / np.maximum(size, 1e-300)
        reach = np.where(reach > 1e-8 * reach.max(initial=0.0), reach, reach.max(initial=0.0))
        weights: Array = _END_WEIGHT / np.maximum(reach * size, 1e-300)
        return weights

    def right_side(self, p: _Point, d: _Duals, k: _Slopes) -> Vector:
        m = self.factors.matrix
        b = Vector(-k.gradient, -k.gradient_end, -p.rows, -p.e)
        b_u = self.box.parts(d.high - d.low)[0]
        f_u, f_c, f_e = self.box.parts(self.mu * self.box.force(p.t))
        b.y[:, self.u] += np.where(self.fixed_u, 0.0, b_u - f_u)
        b.y[self.given] = 0.0
        path = p.rows[:, self.c]
        b.r[:, self.c] = -m.W * path - np.where(self.path_equations, 0.0, f_c - d.r[:, self.c])
        b.s[:] = np.where(self.equations, -p.e, -m.W_end * p.e - f_e + d.s)
        return b

    def refined(self, b: Vector) -> Vector:
        f = self.factors
        x = f.solve(b)
        for _ in range(4 if self.path_equations.any() else 1):
            rest = b - f.times(f.matrix, x)
            rest.s[self.equations & ~f.chosen] = 0.0
            pairs = (rest.y, b.y), (rest.end, b.end), (rest.r, b.r), (rest.s, b.s)
            if all(np.max(np.abs(left), initial=0.0) <= 1e-9 * np.max(np.abs(right), initial=0.0) for left, right in pairs):
                break
            x = x + f.solve(rest)
        return x

    def along(self, p: _Point, step: Vector) -> Array:
        """dt: of controls, and of slacks as their conditions want it."""
        m = self.factors.matrix
        rows = self.factors.times(
            Matrix(m.J, m.H, m.H_end, m.e_z, m.diagonal, np.ones_like(m.W), m.W_end, m.equations, self.path_equations), step
        )
        dc = rows.r[:, self.c] + np.where(self.path_equations, 0.0, step.r[:, self.c]) + p.rows[:, self.c]
        de = m.e_z @ step.end + p.e
        dt = np.concatenate([step.y[:, self.u].ravel(), dc.ravel(), de])
        return np.where(self.box.equal, 0.0, dt)

    def merit(self, p: _Point) -> float:
        assert self.weights is not None
        w, w_end = self.weights
        barrier = self.mu * self.box.barrier(p.t) if self.box.count else 0.0
        return p.cost + barrier + float(np.sum(w * np.abs(p.rows)) + np.sum(w_end * np.abs(p.e)))

    # The iteration.

    def solve(self, y: Array, end: Array, multipliers: Multipliers | None) -> Outcome:
        clock = time.perf_counter()
        n, N, box = self.n, self.stages.steps, self.box
        y, end = np.array(y, dtype=float), np.array(end, dtype=float)
        y[0, : n.z] = np.where(self.stages.free, y[0, : n.z], self.stages.start)
        self.d = _Duals(np.zeros((N, n.rows)), np.zeros(n.e), np.zeros(len(box.low)), np.zeros(len(box.low)))
        if multipliers is not None:
            self.d.r, self.d.s = multipliers.r.copy(), multipliers.s.copy()
        t = np.zeros(len(box.low))
        box.parts(t)[0][:] = y[:, self.u]
        self.p = self.point(y, end, box.inside(t, 0.0))
        box.parts(t)[1][:], box.parts(t)[2][:] = self.p.rows[:, self.c] + box.parts(self.p.t)[1], self.p.e + box.parts(self.p.t)[2]
        self.p = self.point(y, end, box.inside(t, 1e-2 if multipliers is None else 1e-6))
        self.iterations = 0
        try:
            self.check_start()
            self.start_barrier(multipliers)
            self.iterate()
        except _Stop as stop:
            ending, message = stop.ending, stop.message
        except KeyboardInterrupt:
            ending, message = Ending.INTERRUPTED, Ending.INTERRUPTED.value
        with np.errstate(all="ignore"):
            return self.outcome(ending, message, time.perf_counter() - clock)

    def outcome(self, ending: Ending, message: str, seconds: float) -> Outcome:
        k = self.slopes(self.p, self.d)
        stationarity, infeasibility = max(k.stationarity, self.complementarity(self.p, self.d, 0.0)), k.infeasibility
        return Outcome(
            self.p.y,
            self.p.end,
            Multipliers(self.d.r, self.d.s, self.bound_multipliers(k)),
            self.p.cost,
            ending,
            message,
            self.iterations,
            float(stationarity) if np.isfinite(stationarity) else np.inf,
            float(infeasibility) if np.isfinite(infeasibility) else np.inf,
            self.worst(k),
            seconds,
            self.derivative_seconds,
            self.history,
        )

    def check_start(self) -> None:
        p = self.p
        if not (np.isfinite(p.cost) and np.isfinite(p.rows).all() and np.isfinite(p.e).all()):
            raise _Stop(Ending.NOT_FINITE, f"{Ending.NOT_FINITE.value} at the guess")

    def start_barrier(self, multipliers: Multipliers | None) -> None:
        """mu in units of the cost per inequality, from the cost that a first step would have without them."""
        p, d, box = self.p, self.d, self.box
        if not box.count:
            self.unit = 1.0
            return
        k = self.slopes(p, d)
        self.factor(p, _Duals(0 * d.r, 0 * d.s, d.low, d.high), k, True)
        f = self.factors
        step = f.solve(self.right_side(p, _Duals(0 * d.r, 0 * d.s, d.low, d.high), k))
        bent = f.times(f.matrix, Vector(step.y, step.end, 0 * step.r, 0 * step.s))
        cost = p.cost + np.sum(k.g * step.y) + k.g_end @ step.end + 0.5 * (np.sum(bent.y * step.y) + bent.end @ step.end)
        self.unit = max(abs(float(cost)), abs(p.cost), 1e-300) / box.count
        self.mu = 0.1 * self.unit
        low, high = box.distances(p.t)
        if multipliers is not None:
            b = np.concatenate([multipliers.b.ravel(), d.r[:, self.c].ravel(), d.s])
            d.low, d.high = np.maximum(-b, 0.0) * box.has_low, np.maximum(b, 0.0) * box.has_high
            self.mu = max(float(np.sum(d.low * low + d.high * high)) / box.count, 1e-3 * self.options.tolerance * self.unit)
        d.low = np.where(box.has_low, np.maximum(d.low, self.mu / low), 0.0)
        d.high = np.where(box.has_high, np.maximum(d.high, self.mu / high), 0.0)

    def iterate(self) -> None:
        o, box, f = self.options, self.box, self.factors
        alpha, added, choose = 1.0, 0.0, True
        last = np.inf
        k = self.slopes(self.p, self.d)
        if not (self.d.r.any() or self.d.s.any()):
            self.estimate(k)
            k = self.slopes(self.p, self.d)
            choose = False
        while True:
            p, d = self.p, self.d
            error = max(k.stationarity, k.infeasibility, self.complementarity(p, d, 0.0))
            line = Iteration(
                self.iterations, p.cost, k.infeasibility, max(k.stationarity, self.complementarity(p, d, 0.0)), self.mu, alpha, added
            )
            self.history.append(line)
            if self.callback:
                self.callback(line)
            if error <= o.tolerance:
                raise _Stop(Ending.SOLVED)
            if self.iterations >= o.max_iterations:
                raise _Stop(Ending.ITERATION_LIMIT)
            if p.cost < -1e15 * (1.0 + abs(self.history[0].cost)):
                raise _Stop(Ending.UNBOUNDED)
            if error < self.best[0]:
                self.best, self.best_point = (error, self.iterations), (p, d, k)
            elif self.iterations - self.best[1] >= _PATIENCE:
                if self.growth == _GROWTH[1]:
                    (self.p, self.d, k) = self.best_point
                    self.give_up(k)
                self.growth, self.weights, self.best = _GROWTH[1], None, (self.best[0], self.iterations)
                self.p, self.d, k = self.best_point
                continue
            while box.count and self.mu > 0.01 * o.tolerance * self.unit:
                now = max(k.stationarity, k.infeasibility, self.complementarity(p, d, self.mu))
                scaled = self.mu / self.unit
                if now > 10 * scaled:
                    break
                self.mu = self.unit * max(0.01 * o.tolerance, min(0.2 * scaled, scaled**1.5))
            # Which equations of the end are independent may change on the way.
            choose = choose or (f.rank < int(self.equations.sum()) and (alpha < 1 or k.infeasibility > 0.1 * last))
            last = k.infeasibility
            added = self.factor(p, d, k, choose)
            # Multipliers of equations that follow from others are free: zero.
            dropped = self.equations & ~f.chosen
            if d.s[dropped].any():
                d.s = np.where(dropped, 0.0, d.s)
                k = self.slopes(p, d)
            alpha, k = self.step(k)
            self.iterations += 1
            choose = False

    def estimate(self, k: _Slopes) -> None:
        """Multipliers of a step that keeps the violations: the best ones for the cost at this point."""
        self.factor(self.p, self.d, k, True)
        b = self.right_side(_Point(self.p.y, self.p.end, self.p.t, self.p.cost, 0 * self.p.rows, 0 * self.p.e), self.d, k)
        x = self.refined(b)
        self.d.r, self.d.s = self.d.r + x.r, self.d.s + x.s

    def step(self, k: _Slopes) -> tuple[float, _Slopes]:
        """Takes a step; gives its length, and the derivatives at its end."""
        p, d, box = self.p, self.d, self.box
        b = self.right_side(p, d, k)
        dp = self.refined(b)
        dt = self.along(p, dp)
        low, high = box.distances(p.t)
        keep = max(1e-3, min(_KEEP, self.mu / self.unit))
        full = min(_longest(low, dt * box.has_low, keep), _longest(high, -dt * box.has_high, keep))
        d_low = np.where(box.has_low, (self.mu - d.low * dt) / low - d.low, 0.0)
        d_high = np.where(box.has_high, (self.mu + d.high * dt) / high - d.high, 0.0)
        dual = min(_longest(d.low, d_low, keep), _longest(d.high, d_high, keep))
        w, w_end = np.abs(d.r + dp.r), np.abs(d.s + dp.s)
        if self.weights is not None:
            w, w_end = np.maximum(w, (w + self.weights[0]) / 2), np.maximum(w_end, (w_end + self.weights[1]) / 2)
        self.weights = w, w_end
        old = self.merit(p)
        f_t = self.mu * box.force(p.t)
        slope = float(np.sum(k.g * dp.y) + k.g_end @ dp.end + f_t @ dt)
        slope -= float(np.sum(w * np.abs(p.rows)) + np.sum(w_end * np.abs(p.e)))
        slope += float(np.sum((w_end * np.abs(k.e_z @ dp.end + p.e))[self.equations]))
        noise = 1e-13 * (abs(p.cost) + abs(old))
        size = np.max(np.abs(p.y), axis=0) + np.max(np.abs(dp.y), axis=0)
        size[size == 0] = 1.0
        alpha = full
        while True:
            trial = self.point(p.y + alpha * dp.y, p.end + alpha * dp.end, p.t + alpha * dt)
            duals = _Duals(d.r + alpha * dp.r, d.s + alpha * dp.s, d.low + dual * d_low, d.high + dual * d_high)
            finite = bool(np.isfinite(trial.cost) and np.isfinite(trial.rows).all() and np.isfinite(trial.e).all())
            if finite and self.merit(trial) <= old + 1e-4 * alpha * slope + noise:
                break
            if finite:
                k_new = self.slopes(trial, duals)
                left = self.factors.solve(self.right_side(trial, duals, k_new))
                if np.sum((left.y / size) ** 2) <= self.growth**2 * np.sum((dp.y / size) ** 2):
                    break
            if finite and alpha == full:
                better = self.corrected(p, b, trial, full, keep)
                if better is not None and self.merit(better[0]) <= old + 1e-4 * alpha * slope + noise:
                    trial, (dr, ds) = better
                    duals.r, duals.s = d.r + alpha * dr, d.s + alpha * ds
                    break
            alpha *= 0.5
            if alpha < 1e-12:
                self.give_up(k)
        low, high = box.distances(trial.t)
        duals.low = np.where(box.has_low, np.clip(duals.low, self.mu / low / _DUAL_RANGE, self.mu / low * _DUAL_RANGE), 0.0)
        duals.high = np.where(box.has_high, np.clip(duals.high, self.mu / high / _DUAL_RANGE, self.mu / high * _DUAL_RANGE), 0.0)
        self.p, self.d = trial, duals
        return alpha, self.slopes(trial, duals)

    def corrected(self, p: _Point, b: Vector, trial: _Point, full: float, keep: float) -> tuple[_Point, tuple[Array, Array]] | None:
        """The step once more, with the violation at its end added to that at its start."""
        m, box = self.factors.matrix, self.box
        extra, extra_end = trial.rows - (1 - full) * p.rows, trial.e - (1 - full) * p.e
        c = Vector(b.y, b.end, b.r - extra, np.where(self.equations, b.s - extra_end, b.s - m.W_end * extra_end))
        c.r[:, self.c] = b.r[:, self.c] - m.W * extra[:, self.c]
        q = _Point(p.y, p.end, p.t, p.cost, p.rows + extra, p.e + extra_end)
        step = self.factors.solve(c)
        dt = self.along(q, step)
        low, high = box.distances(p.t)
        length = min(_longest(low, dt * box.has_low, keep), _longest(high, -dt * box.has_high, keep), full)
        new = self.point(p.y + length * step.y, p.end + length * step.end, p.t + length * dt)
        if not (np.isfinite(new.cost) and np.isfinite(new.rows).all() and np.isfinite(new.e).all()):
            return None
        return new, (step.r, step.s)

    def give_up(self, k: _Slopes) -> None:
        error = max(k.stationarity, k.infeasibility, self.complementarity(self.p, self.d, 0.0))
        if error < 1e3 * self.options.tolerance:
            raise _Stop(Ending.ACCEPTABLE)
        if k.infeasibility > 1e-6:
            raise _Stop(Ending.INFEASIBLE, "the conditions are not met from this guess: no step makes their violation any smaller")
        raise _Stop(Ending.STALLED)

    # What is told.

    def bound_multipliers(self, k: _Slopes) -> Array:
        """Of controls; where these are fixed, what is left of the gradient."""
        b = self.box.parts(self.d.high - self.d.low)[0]
        if self.fixed_u.any():
            pull, _ = self.factors.transposed(k.J, k.e_z, self.d.r, self.d.s)
            b = np.where(self.fixed_u, -(k.g + pull)[:, self.u], b)
        return b

    def worst(self, k: _Slopes) -> Row:
        sizes = np.maximum(np.max(self.factors.sizes(k.J, k.e_z, self.d.r, self.d.s, self.p.y)[2], axis=0, initial=0.0), 1.0)
        scaled = np.nan_to_num(np.abs(self.p.rows) / sizes, nan=np.inf)
        scaled_end = np.nan_to_num(np.abs(self.p.e) / np.maximum(np.abs(k.e_z) @ np.abs(self.p.end), 1.0), nan=np.inf)
        if scaled_end.max(initial=-1.0) >= scaled.max(initial=-1.0):
            i = int(scaled_end.argmax())
            return Row("e", self.stages.steps, i, float(self.p.e[i]))
        step, i = (int(j) for j in np.unravel_index(scaled.argmax(), scaled.shape))
        n = self.n
        kind, index = ("R", i) if i < n.x else ("U", i - n.x) if i < n.x + n.z else ("c", i - n.x - n.z)
        return Row(kind, step, index, float(self.p.rows[step, i]))
