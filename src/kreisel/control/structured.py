r"""The fast solver of problems with stages: Newton's method on the necessary conditions, with barriers for inequalities.

Inequalities get slacks t, and these and the bounded controls a barrier:

.. math::

   \min\ \sum L + E - \mu \sum \log(t - t^-) - \mu \sum \log(t^+ - t) \quad\text{with}\quad R = 0,\ z_{k+1} = U,\ c = t,\ e = t

The necessary conditions of this, with multipliers \zeta^- (t - t^-) = \mu as unknowns of their own, are solved by Newton's method while
\mu goes to zero; without inequalities there is nothing but Newton. The linear equations are those of :mod:`kreisel.control.riccati`.

- The Hessian is that of the Lagrangian as long as it is positive definite where the conditions allow to move. Else a distance is added to
  it in which all relative changes count alike, states included; if that needs too much, the curvature of the conditions is left out.
- A step must lead to less cost (with barriers) or to less violation than all iterates that a filter remembers; if its violation grows, it
  is corrected; else it is halved. Where steps would become too short, the violation alone is made smaller, by the smallest changes that do
  so. All of this, and the fall of \mu: Waechter and Biegler, On the implementation of an interior-point filter line-search algorithm for
  large-scale nonlinear programming, Math. Program. 106 (2006), sections 2.1 to 2.4 and 3.3, with \mu in units of the cost per inequality.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from kreisel.control.box import Box, largest_of, longest
from kreisel.control.filter import Filter
from kreisel.control.outcome import Callback, Ending, Iteration, Multipliers, Outcome, Row
from kreisel.control.riccati import DONE, SINGULAR, Array, Factors, Matrix, Vector
from kreisel.control.stages import Stages

#: Weight of the end's equations against what the controls can do about them: so large that it is the null space of these equations, too,
#: where the Hessian must be positive definite; and with digits left. Of 40 random guesses for the three-link arm (N = 20), 27 lead to a
#: minimum with 1e5, for many a Hessian that is convex where it matters is taken for one that is not, and 38 with 1e9.
_END_WEIGHT = 1e9

#: Weight of equations along the path against the Hessian.
_PATH_WEIGHT = 1e8

#: A step keeps at least this part of the distance to a bound, and a multiplier this part of itself; less (to a tenth) when mu is small.
_KEEP = 0.01

#: After a step that had to be cut to less than this part, the next one is kept shorter from the beginning.
_SHORT = 0.1

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
        run = _Run(self, stages, callback)
        return run.solve(y, end, multipliers)


@dataclass
class _Point:
    """An iterate: unknowns, and the values there."""

    y: Array
    end: Array
    t: Array
    cost: float = np.nan
    rows: Array = field(default_factory=lambda: np.zeros(0))
    e: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def violation(self) -> float:
        """theta: the sum of all violations."""
        return float(np.abs(self.rows).sum() + np.abs(self.e).sum())

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.cost) and np.isfinite(self.violation))


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
    #: Sums of absolute values of the terms in the derivatives of the rows, by row.
    sizes: Array
    stationarity: float
    infeasibility: float


class _Stop(Exception):
    def __init__(self, ending: Ending, message: str = "") -> None:
        self.ending, self.message = ending, message or ending.value


class _Run:
    """One solution; holds the iterate, so that it is there when the run is interrupted."""

    def __init__(self, options: Structured, stages: Stages, callback: Callback | None) -> None:
        self.options, self.stages, self.callback = options, stages, callback
        self.n, self.box, self.factors = stages.sizes, Box(stages), Factors(stages)
        n = self.n
        self.U, self.c = slice(n.x, n.x + n.z), slice(n.x + n.z, None)
        self.u = slice(n.z + n.x, None)
        fixed, path_equal, equal = self.box.parts(self.box.equal)
        self.fixed_u, self.equations = fixed.astype(bool), equal.astype(bool)
        self.path_equations = path_equal[0].astype(bool)
        self.rho = np.zeros(n.e)
        self.mu = self.unit = 0.0
        self.added = 1e-2  # to the Hessian, the last time it was needed
        self.filter: Filter | None = None
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
        gradient, gradient_end, sizes, sizes_end, sizes_rows = self.factors.gradient(g, g_end, J, e_z, d.r, d.s, p.y)
        b_u, b_c, b_e = self.box.parts(d.high - d.low)
        gradient[:, self.u] += b_u
        self.factors.start(gradient)
        gradient[:, self.u][self.fixed_u] = 0.0
        # Residuals are compared with the largest terms of their kind, in any step, that cancel in them.
        largest = max(largest_of(sizes), 1e-300)
        stationarity = max(
            largest_of(np.abs(gradient).max(axis=0, initial=0.0) / np.maximum(sizes, 1e-8 * largest)),
            largest_of(gradient_end) / max(sizes_end, 1e-8 * largest),
        )
        # Multipliers of inequalities must be those of their slacks.
        for own, other, equal in ((d.r[:, self.c], b_c, self.path_equations), (d.s, b_e, self.equations)):
            stationarity = max(stationarity, largest_of((own - other) * ~equal) / max(largest_of(other), 1e-8 * largest))
        sizes_rows = np.maximum(sizes_rows, 1.0)
        violation = np.abs(p.rows).max(axis=0, initial=0.0) / sizes_rows
        violation_end = np.abs(p.e) / np.maximum(np.abs(e_z) @ np.abs(p.end), 1.0)
        infeasibility = max(violation.max(initial=0.0), violation_end.max(initial=0.0))
        return _Slopes(g, J, g_end, e_z, gradient, gradient_end, sizes_rows, float(stationarity), float(infeasibility))

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

    def matrix(self, p: _Point, k: _Slopes, sigma: Array, H: Array, H_end: Array) -> Matrix:
        """With the Hessian ``sigma`` of what has bounds."""
        sigma_u, sigma_c, sigma_e = self.box.parts(sigma)
        diagonal = np.zeros_like(p.y)
        diagonal[:, self.u] = sigma_u + np.where(self.fixed_u, 1e20 * self.largest, 0.0)
        weight = np.where(self.path_equations, _PATH_WEIGHT * self.largest, 0.0)
        return Matrix(k.J, H, H_end, k.e_z, diagonal, sigma_c + weight, sigma_e, self.equations, self.path_equations)

    def metric(self, y: Array) -> Array:
        """A distance of the unknowns of a step in which all relative changes count alike, in units of the cost."""
        height = np.max(np.abs(y), axis=0) + 1e-3
        metric: Array = self.largest * (np.max(height[self.u], initial=1e-3) / height) ** 2
        return metric

    def factor(self, p: _Point, d: _Duals, k: _Slopes, choose: bool) -> float:
        """Factorises with the best Hessian that will do; gives what was added to it, nan if the curvature of conditions was left out.

        ``choose``: whether the independent equations of the end are to be chosen first.
        """
        low, high = self.box.distances(p.t)
        sigma = d.low / low * self.box.has_low + d.high / high * self.box.has_high
        curved = bool(d.r.any() or d.s.any())
        if choose or not curved:
            added = self.factor_cost(p, k, sigma)
            if not curved:
                return added
        matrix = self.matrix(p, k, sigma, *self.hessian(p, d))
        short = self.history[-1].alpha < _SHORT
        if not short and self.decomposed(matrix, self.rho):
            return 0.0
        # More and more of a distance that treats all relative changes alike; also where the last step had to be cut to pieces.
        metric = self.metric(p.y)
        plain, added = matrix.diagonal, max(1e-4, 3 * self.added if short else self.added / 3)
        while added < 1e3 and k.infeasibility < _FAR:
            matrix.diagonal = plain + added * metric
            if self.decomposed(matrix, self.rho):
                self.added = added
                return added
            added *= 8
        self.factor_cost(p, k, sigma)
        return np.nan

    def factor_cost(self, p: _Point, k: _Slopes, sigma: Array) -> float:
        """The same without the curvature of conditions, with a choice of the equations of the end."""
        H, H_end = self.hessian(p, None)
        self.largest = float(np.abs(H).max(initial=0.0)) or 1.0
        matrix, added = self.matrix(p, k, sigma, H, H_end), 0.0
        while not self.decomposed(matrix, None):
            if added > 1e12 * self.largest:
                raise _Stop(Ending.STALLED, "no regularisation makes the cost convex")
            more = max(9 * added, 1e-8 * self.largest)
            added += more
            matrix.diagonal[:, self.u] += more
            matrix.diagonal[0, : self.n.z] += more
        self.rho = self.end_weights(k.e_z)
        return added

    def decomposed(self, matrix: Matrix, rho: Array | None) -> bool:
        """Whether a system could be factorised; its equations of a step must be regular."""
        answer = self.factors.factor(matrix, rho)
        if answer == SINGULAR:
            raise _Stop(Ending.SINGULAR, f"{Ending.SINGULAR.value} (step {self.factors.failed_at})")
        return answer == DONE

    def end_weights(self, e_z: Array) -> Array:
        """rho of :mod:`kreisel.control.riccati`, by what the controls can do about a row."""
        size = np.sum(e_z**2, axis=1)
        reach = np.diag(self.factors.D) / np.maximum(size, 1e-300)
        reach = np.where(reach > 1e-8 * reach.max(initial=0.0), reach, reach.max(initial=0.0))
        weights: Array = _END_WEIGHT / np.maximum(reach * size, 1e-300)
        return weights

    def right_side(self, p: _Point, d: _Duals, k: _Slopes) -> Vector:
        m = self.factors.matrix
        b = Vector.of(self.stages, -k.gradient, -k.gradient_end, -p.rows, -p.e)
        b_u = self.box.parts(d.high - d.low)[0]
        f_u, f_c, f_e = self.box.parts(self.mu * self.box.force(p.t))
        b.y[:, self.u] += np.where(self.fixed_u, 0.0, b_u - f_u)
        path = p.rows[:, self.c]
        b.r[:, self.c] = -m.W * path - np.where(self.path_equations, 0.0, f_c - d.r[:, self.c])
        b.s[:] = np.where(self.equations, -p.e, -m.W_end * p.e - f_e + d.s)
        return b

    def refined(self, b: Vector) -> Vector:
        """The solution, corrected if it misses the end, to seven digits or to rounding; with equations along the path, whose weight costs
        digits, in any case as long as it helps.
        """
        f = self.factors
        x = f.solve(b)
        along_path = bool(self.path_equations.any())
        if not along_path and f.missed <= 1e-7 * largest_of(b.s) + 1e-12:
            return x
        for _ in range(4 if along_path else 1):
            rest = b - f.times(f.matrix, x)
            rest.s[self.equations & ~f.chosen] = 0.0
            pairs = (rest.y, b.y), (rest.end, b.end), (rest.r, b.r), (rest.s, b.s)
            if all(largest_of(left) <= 1e-9 * largest_of(right) for left, right in pairs):
                break
            x = x + f.solve(rest)
        return x

    def along(self, p: _Point, step: Vector) -> Array:
        """dt: of controls, and of slacks as their conditions want it."""
        m = self.factors.matrix
        dc = self.factors.rows(m.J, step)[:, self.c] + p.rows[:, self.c] if self.n.c else np.zeros((self.stages.steps, 0))
        de = m.e_z @ step.end + p.e
        dt = np.concatenate([step.y[:, self.u].ravel(), dc.ravel(), de])
        return np.where(self.box.equal, 0.0, dt)

    def moved(self, p: _Point, alpha: float, step: Vector, dt: Array) -> _Point:
        return self.point(p.y + alpha * step.y, p.end + alpha * step.end, p.t + alpha * dt)

    def longest(self, t: Array, dt: Array) -> float:
        """The largest step up to 1 that keeps away from the bounds."""
        if not self.box.count:
            return 1.0
        low, high = self.box.distances(t)
        return min(longest(low, dt * self.box.has_low, self.keep), longest(high, -dt * self.box.has_high, self.keep))

    @property
    def keep(self) -> float:
        return max(1e-3, min(_KEEP, self.mu / self.unit))

    def merit(self, p: _Point) -> float:
        """phi: the cost with barriers."""
        return p.cost + (self.mu * self.box.barrier(p.t) if self.box.count else 0.0)

    # The iteration.

    def solve(self, y: Array, end: Array, multipliers: Multipliers | None) -> Outcome:
        clock = time.perf_counter()
        n, N, box = self.n, self.stages.steps, self.box
        y, end = np.array(y, dtype=float), np.array(end, dtype=float)
        start = self.stages.start + self.stages.gain @ y[0, self.u]
        y[0, : n.z] = np.where(self.stages.free, y[0, : n.z], start)
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
            len(self.history) - 1,
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
        bent = f.times(f.matrix, Vector.of(self.stages, step.y, step.end, 0 * step.r, 0 * step.s))
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
            k = self.estimate(k)
            choose = False
        while True:
            p, d = self.p, self.d
            self.tell(k, alpha, added)
            if max(k.stationarity, k.infeasibility, self.complementarity(p, d, 0.0)) <= o.tolerance:
                raise _Stop(Ending.SOLVED)
            if p.cost < -1e15 * (1.0 + abs(self.history[0].cost)):
                raise _Stop(Ending.UNBOUNDED)
            while box.count and self.mu > 0.01 * o.tolerance * self.unit:
                now = max(k.stationarity, k.infeasibility, self.complementarity(p, d, self.mu))
                scaled = self.mu / self.unit
                if now > 10 * scaled:
                    break
                self.mu, self.filter = self.unit * max(0.01 * o.tolerance, min(0.2 * scaled, scaled**1.5)), None
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
            choose = False

    def tell(self, k: _Slopes, alpha: float, added: float) -> None:
        """A line of the history; the end, if there were enough of them."""
        stationarity = max(k.stationarity, self.complementarity(self.p, self.d, 0.0))
        line = Iteration(self.iterations, self.p.cost, k.infeasibility, stationarity, self.mu, alpha, added)
        self.history.append(line)
        if self.callback:
            self.callback(line)
        if self.iterations >= self.options.max_iterations and max(stationarity, k.infeasibility) > self.options.tolerance:
            raise _Stop(Ending.ITERATION_LIMIT)
        self.iterations += 1

    def estimate(self, k: _Slopes) -> _Slopes:
        """Multipliers of a step that keeps the violations: the best ones for the cost at this point. The derivatives with these."""
        p = self.p
        self.factor(p, self.d, k, True)
        x = self.refined(self.right_side(_Point(p.y, p.end, p.t, p.cost, 0 * p.rows, 0 * p.e), self.d, k))
        self.d.r, self.d.s = self.d.r + x.r, self.d.s + x.s
        return self.slopes(p, self.d)

    def step(self, k: _Slopes) -> tuple[float, _Slopes]:
        """Takes a step; gives its length, and the derivatives at its end."""
        p, d, box = self.p, self.d, self.box
        b = self.right_side(p, d, k)
        dp = self.refined(b)
        dt = self.along(p, dp)
        duals, d_low, d_high = 1.0, 0 * d.low, 0 * d.high
        if box.count:
            low, high = box.distances(p.t)
            d_low = np.where(box.has_low, (self.mu - d.low * dt) / low - d.low, 0.0)
            d_high = np.where(box.has_high, (self.mu + d.high * dt) / high - d.high, 0.0)
            duals = min(longest(d.low, d_low, self.keep), longest(d.high, d_high, self.keep))
        slope = float(np.vdot(k.g, dp.y) + k.g_end @ dp.end + self.mu * box.force(p.t) @ dt)
        found = self.search(p, b, dp, dt, slope)
        if found is None:
            return self.restore(k)
        trial, alpha, (dr, ds) = found
        d = _Duals(d.r + alpha * dr, d.s + alpha * ds, d.low + duals * d_low, d.high + duals * d_high)
        self.p, self.d = trial, self.bounded(trial, d)
        return alpha, self.slopes(self.p, self.d)

    def bounded(self, p: _Point, d: _Duals) -> _Duals:
        """With multipliers of bounds not too far from mu over the distance."""
        if not self.box.count:
            return d
        low, high = self.box.distances(p.t)
        d.low = np.where(self.box.has_low, np.clip(d.low, self.mu / low / _DUAL_RANGE, self.mu / low * _DUAL_RANGE), 0.0)
        d.high = np.where(self.box.has_high, np.clip(d.high, self.mu / high / _DUAL_RANGE, self.mu / high * _DUAL_RANGE), 0.0)
        return d

    def search(self, p: _Point, b: Vector, dp: Vector, dt: Array, slope: float) -> tuple[_Point, float, tuple[Array, Array]] | None:
        """The first point along a step that the filter lets pass, the length to it, the step of multipliers; None if there is none."""
        violation, merit = p.violation, self.merit(p)
        self.filter = f = self.filter or Filter(violation)
        noise = 1e-14 * (abs(p.cost) + abs(merit))

        def passes(q: _Point, alpha: float) -> bool:
            if not q.finite:
                return False
            own, cost = q.violation, self.merit(q)
            if f.forbids(own, cost - noise):
                return False
            if violation <= f.smallest and f.descends(violation, slope, alpha):
                return cost <= merit + f.ETA * alpha * slope + noise
            return own <= (1 - f.GAMMA) * violation or cost <= merit - f.GAMMA * violation + noise

        full = alpha = self.longest(p.t, dt)
        shortest = f.shortest(violation, slope)
        trial, multipliers = self.moved(p, alpha, dp, dt), (dp.r, dp.s)
        while not passes(trial, alpha):
            if alpha == full and trial.finite and trial.violation >= violation:
                corrected = self.corrected(p, b, trial, full, passes)
                if corrected is not None:
                    trial, multipliers = corrected
                    break
            alpha *= 0.5
            if alpha < shortest:
                return None
            trial = self.moved(p, alpha, dp, dt)
        if not (f.descends(violation, slope, alpha) and self.merit(trial) <= merit + f.ETA * alpha * slope + noise):
            f.add(violation, merit)
        return trial, alpha, multipliers

    def corrected(
        self, p: _Point, b: Vector, trial: _Point, full: float, passes: Callable[[_Point, float], bool]
    ) -> tuple[_Point, tuple[Array, Array]] | None:
        """The step once more (and again), with the violation at its end added to that at its start."""
        m = self.factors.matrix
        rows, e = full * p.rows, full * p.e
        last = np.inf
        for _ in range(4):
            if not trial.violation < 0.99 * last:
                return None
            last = trial.violation
            rows, e = rows + trial.rows, e + trial.e
            extra, extra_end = rows - p.rows, e - p.e
            c = Vector.of(self.stages, b.y, b.end, b.r - extra, np.where(self.equations, b.s - extra_end, b.s - m.W_end * extra_end))
            c.r[:, self.c] = b.r[:, self.c] - m.W * extra[:, self.c]
            step = self.factors.solve(c)
            dt = self.along(_Point(p.y, p.end, p.t, p.cost, rows, e), step)
            trial = self.moved(p, self.longest(p.t, dt), step, dt)
            if passes(trial, full):
                return trial, (step.r, step.s)
            if not trial.finite:
                return None
        return None

    def restore(self, k: _Slopes) -> tuple[float, _Slopes]:
        """Makes the violation smaller, by steps that change as little as they can, until the filter lets pass what is found."""
        assert self.filter is not None
        start, p = self.p, self.p
        nothing = _Duals(0 * self.d.r, 0 * self.d.s, 0 * self.d.low, 0 * self.d.high)
        self.filter.add(p.violation, self.merit(p))
        mu, self.mu = self.mu, 0.0
        try:
            while True:
                if k.infeasibility <= self.options.tolerance:
                    self.give_up(k)
                low, high = self.box.distances(p.t)
                sigma = self.largest * (self.box.has_low / low**2 + self.box.has_high / high**2)
                matrix = self.matrix(p, k, sigma, np.zeros_like(self.factors.matrix.H), np.zeros_like(self.factors.matrix.H_end))
                matrix.diagonal += self.metric(p.y)
                if not self.decomposed(matrix, None):
                    self.give_up(k)
                still = replace(k, gradient=np.zeros_like(k.gradient), gradient_end=np.zeros_like(k.gradient_end))
                step = self.refined(self.right_side(p, nothing, still))
                dt = self.along(p, step)
                alpha = self.longest(p.t, dt)
                trial = self.moved(p, alpha, step, dt)
                while not (trial.finite and alpha >= 1e-8 and trial.violation <= (1 - 1e-4 * alpha) * p.violation):
                    alpha *= 0.5
                    if alpha < 1e-8:
                        self.give_up(k)
                    trial = self.moved(p, alpha, step, dt)
                self.p = p = trial
                k = self.slopes(p, nothing)
                if p.violation <= 0.9 * start.violation and not self.filter.forbids(p.violation, p.cost + mu * self.box.barrier(p.t)):
                    break
                self.tell(k, alpha, np.nan)
        finally:
            self.mu = mu
        low, high = self.box.distances(p.t)
        self.d = self.bounded(p, _Duals(nothing.r, nothing.s, self.mu / low * self.box.has_low, self.mu / high * self.box.has_high))
        return alpha, self.estimate(self.slopes(p, self.d))

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
            gradient = self.factors.gradient(k.g, k.g_end, k.J, k.e_z, self.d.r, self.d.s, self.p.y)[0]
            b = np.where(self.fixed_u, -gradient[:, self.u], b)
        return b

    def worst(self, k: _Slopes) -> Row:
        scaled = np.nan_to_num(np.abs(self.p.rows) / k.sizes, nan=np.inf)
        scaled_end = np.nan_to_num(np.abs(self.p.e) / np.maximum(np.abs(k.e_z) @ np.abs(self.p.end), 1.0), nan=np.inf)
        if scaled_end.max(initial=-1.0) >= scaled.max(initial=-1.0):
            i = int(scaled_end.argmax())
            return Row("e", self.stages.steps, i, float(self.p.e[i]))
        step, i = (int(j) for j in np.unravel_index(scaled.argmax(), scaled.shape))
        n = self.n
        kind, index = ("R", i) if i < n.x else ("U", i - n.x) if i < n.x + n.z else ("c", i - n.x - n.z)
        return Row(kind, step, index, float(self.p.rows[step, i]))
