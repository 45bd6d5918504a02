"""Problems with stages by IPOPT, with derivatives from compiled kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.control.outcome import Callback, Ending, Iteration, Multipliers, Outcome, Row
from kreisel.control.stages import Stages

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: What IPOPT's words mean.
ENDINGS = {
    "Solve_Succeeded": Ending.SOLVED,
    "Solved_To_Acceptable_Level": Ending.ACCEPTABLE,
    "Maximum_Iterations_Exceeded": Ending.ITERATION_LIMIT,
    "Maximum_CpuTime_Exceeded": Ending.ITERATION_LIMIT,
    "Maximum_WallTime_Exceeded": Ending.ITERATION_LIMIT,
    "Infeasible_Problem_Detected": Ending.INFEASIBLE,
    "Not_Enough_Degrees_Of_Freedom": Ending.INFEASIBLE,
    "Diverging_Iterates": Ending.UNBOUNDED,
    "User_Requested_Stop": Ending.INTERRUPTED,
    "Invalid_Number_Detected": Ending.NOT_FINITE,
}


@dataclass(frozen=True)
class Ipopt:
    """IPOPT (Wächter, Biegler 2006), as it comes with CasADi: robust, takes any problem.

    ``options``: any of IPOPT's own, by name, as ``{"mu_strategy": "adaptive"}``.
    """

    tolerance: float = 1e-10
    max_iterations: int = 2000
    options: dict[str, Any] = field(default_factory=dict)

    def solve(
        self, stages: Stages, y: Array, end: Array, multipliers: Multipliers | None = None, callback: Callback | None = None
    ) -> Outcome:
        return _Run(self, stages, callback).go(y, end, multipliers)


class _Run:
    """The problem as IPOPT sees it: all variables in one vector w = (y_0, ..., y_{N-1}, z_N), all rows in one vector."""

    def __init__(self, solver: Ipopt, stages: Stages, callback: Callback | None) -> None:
        self.solver, self.stages, self.callback = solver, stages, callback
        s, N = stages.sizes, stages.steps
        #: States of the start that depend on the first controls.
        self.led = np.flatnonzero(np.any(stages.gain, axis=1))
        self.n, self.m = N * s.y + s.z, N * s.rows + s.e + len(self.led)
        self.seconds = 0.0
        self.history: list[Iteration] = []
        self.best: tuple[float, Array] | None = None
        self.interrupted = False
        k = np.arange(N)[:, None]
        i, j = stages.jacobian_pattern
        rows, columns = (k * s.rows + i).ravel(), (k * s.y + j).ravel()
        coupled = (k * s.rows + s.x + np.arange(s.z)).ravel()
        after = ((k + 1) * s.y + np.arange(s.z)).ravel()
        e_rows, e_columns = (a.ravel() for a in np.indices((s.e, s.z)))
        led_rows, led_columns = (a.ravel() for a in np.indices((len(self.led), s.u)))
        first = N * s.rows + s.e
        self._jacobian, self._jacobian_place = _pattern(
            np.concatenate([rows, coupled, N * s.rows + e_rows, first + np.arange(len(self.led)), first + led_rows]),
            np.concatenate([columns, after, N * s.y + e_columns, self.led, s.z + s.x + led_columns]),
            self.m,
            self.n,
        )
        i, j = stages.hessian_pattern
        a, b = np.tril_indices(s.z)
        # CasADi wants the upper triangle.
        self._hessian, self._hessian_place = _pattern(
            np.concatenate([(k * s.y + j).ravel(), N * s.y + b]), np.concatenate([(k * s.y + i).ravel(), N * s.y + a]), self.n, self.n
        )
        self._end_tril = a, b

    def go(self, y: Array, end: Array, multipliers: Multipliers | None) -> Outcome:
        begun = time.perf_counter()
        stages, s, N = self.stages, self.stages.sizes, self.stages.steps
        lower, upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        by_step = lower[: N * s.y].reshape(N, s.y), upper[: N * s.y].reshape(N, s.y)
        for b, limit in zip(by_step, stages.bounds.u, strict=True):
            b[:, s.z + s.x :] = limit
            given_states = np.setdiff1d(np.flatnonzero(~stages.free), self.led)
            b[0, given_states] = stages.start[given_states]
        g = np.zeros((2, self.m))
        for b, c, e in zip(g, stages.bounds.c, stages.bounds.e, strict=True):
            b[: N * s.rows].reshape(N, s.rows)[:, s.x + s.z :] = c
            b[N * s.rows : N * s.rows + s.e] = e
            b[N * s.rows + s.e :] = stages.start[self.led]
        w0 = np.concatenate([y.ravel(), end])
        given: dict[str, Array] = {"x0": np.clip(w0, lower, upper), "lbx": lower, "ubx": upper, "lbg": g[0], "ubg": g[1]}
        options = {
            "tol": self.solver.tolerance,
            "max_iter": self.solver.max_iterations,
            "print_level": 0,
            "sb": "yes",
            # Costs of 1e6 need no more than a relative accuracy.
            "constr_viol_tol": 1e-9,
            # No motion in SI units is that large: the cost falls without bound.
            "diverging_iterates_tol": 1e12,
            **self.solver.options,
        }
        if multipliers is not None:
            given["lam_g0"] = np.concatenate([multipliers.r.ravel(), multipliers.s, np.zeros(len(self.led))])
            given["lam_x0"] = np.zeros(self.n)
            given["lam_x0"][: N * s.y].reshape(N, s.y)[:, s.z + s.x :] = multipliers.b
            options = {"warm_start_init_point": "yes", "mu_init": 1e-6, "warm_start_bound_push": 1e-9, **options}
        functions = self._functions()
        solver = ca.nlpsol(
            "ocp",
            "ipopt",
            functions["nlp"],
            {
                **{f"ipopt.{name}": value for name, value in options.items()},
                "print_time": False,
                "no_nlp_grad": True,
                "error_on_fail": False,
                "grad_f": functions["grad_f"],
                "jac_g": functions["jac_g"],
                "hess_lag": functions["hess_lag"],
                "iteration_callback": functions["iteration"],
            },
        )
        found = solver(**given)
        stats = solver.stats()
        w, lam_g = found["x"].full().ravel(), found["lam_g"].full().ravel()
        lam_x = found["lam_x"].full().ravel()
        ending = ENDINGS.get(stats["return_status"], Ending.STALLED)
        if self.interrupted:
            ending = Ending.INTERRUPTED
        if not np.all(np.isfinite(w)) and self.best is not None:
            w = self.best[1]
        return self._outcome(w, lam_g, lam_x, ending, stats, time.perf_counter() - begun)

    def _outcome(self, w: Array, lam_g: Array, lam_x: Array, ending: Ending, stats: Any, seconds: float) -> Outcome:
        stages, s, N = self.stages, self.stages.sizes, self.stages.steps
        y, end = w[: N * s.y].reshape(N, s.y), w[N * s.y :]
        r, e = lam_g[: N * s.rows].reshape(N, s.rows), lam_g[N * s.rows : N * s.rows + s.e]
        cost, _, _ = stages.values(y, end)
        stationarity, infeasibility, worst = residuals(stages, y, end, Multipliers(r, e, lam_x[: N * s.y].reshape(N, s.y)[:, s.z + s.x :]))
        return Outcome(
            y=y.copy(),
            end=end.copy(),
            multipliers=Multipliers(r.copy(), e.copy(), lam_x[: N * s.y].reshape(N, s.y)[:, s.z + s.x :].copy()),
            cost=cost,
            ending=ending,
            message=f"IPOPT: {stats['return_status'].replace('_', ' ').lower()}",
            iterations=int(stats["iter_count"]),
            stationarity=stationarity,
            infeasibility=infeasibility,
            worst=worst,
            seconds=seconds,
            derivative_seconds=self.seconds,
            history=self.history,
        )

    # What CasADi calls

    def _functions(self) -> dict[str, ca.Function]:
        dense = ca.Sparsity.dense
        x, p, f, g = ("x", dense(self.n, 1)), ("p", dense(0, 1)), ("f", dense(1, 1)), ("g", dense(self.m, 1))
        inputs = [x, p]
        outputs = [("ret", dense(1, 1))]
        iteration = [("x", x[1]), ("f", f[1]), ("g", g[1]), ("lam_x", x[1]), ("lam_g", g[1]), ("lam_p", p[1])]
        return {
            "nlp": _Call("nlp", inputs, [f, g], self._timed(self._values)),
            "grad_f": _Call("grad_f", inputs, [f, ("grad_f_x", x[1])], self._timed(self._gradient)),
            "jac_g": _Call("jac_g", inputs, [g, ("jac_g_x", self._jacobian)], self._timed(self._jacobian_values)),
            "hess_lag": _Call(
                "hess_lag",
                [*inputs, ("lam_f", dense(1, 1)), ("lam_g", g[1])],
                [("triu_hess_gamma_x_x", self._hessian)],
                self._timed(self._hessian_values),
            ),
            "iteration": _Call("iteration", iteration, outputs, self._iteration),
        }

    def _timed(self, f: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def timed(a: Any, r: Any) -> None:
            begun = time.perf_counter()
            f(a, r)
            self.seconds += time.perf_counter() - begun

        return timed

    def _split(self, w: Array) -> tuple[Array, Array]:
        N, n = self.stages.steps, self.stages.sizes.y
        return w[: N * n].reshape(N, n), w[N * n :]

    def _rows(self, y: Array, end: Array, rows: Array, e: Array) -> Array:
        s = self.stages.sizes
        rows = rows.copy()
        rows[:-1, s.x : s.x + s.z] -= y[1:, : s.z]
        rows[-1, s.x : s.x + s.z] -= end
        return np.concatenate([rows.ravel(), e, y[0, self.led] - self.stages.gain[self.led] @ y[0, s.z + s.x :]])

    def _values(self, a: Any, r: Any) -> None:
        y, end = self._split(a[0])
        cost, rows, e = self.stages.values(y, end)
        if r[0] is not None:
            r[0][:] = cost
        if r[1] is not None:
            r[1][:] = self._rows(y, end, rows, e)

    def _gradient(self, a: Any, r: Any) -> None:
        y, end = self._split(a[0])
        if r[0] is not None:
            r[0][:] = self.stages.values(y, end)[0]
        if r[1] is not None:
            g, _, g_end, _ = self.stages.derivatives(y, end)
            r[1][:] = np.concatenate([g.ravel(), g_end])

    def _jacobian_values(self, a: Any, r: Any) -> None:
        y, end = self._split(a[0])
        if r[0] is not None:
            _, rows, e = self.stages.values(y, end)
            r[0][:] = self._rows(y, end, rows, e)
        if r[1] is not None:
            _, J, _, J_end = self.stages.derivatives(y, end)
            N, z = self.stages.steps, self.stages.sizes.z
            led = [np.ones(len(self.led)), -self.stages.gain[self.led].ravel()]
            values = np.concatenate([J.ravel(), np.full(N * z, -1.0), J_end.ravel(), *led])
            r[1][:] = np.bincount(self._jacobian_place, values, len(r[1]))

    def _hessian_values(self, a: Any, r: Any) -> None:
        y, end = self._split(a[0])
        s, N = self.stages.sizes, self.stages.steps
        lam = a[3]
        H, H_end = self.stages.hessian(y, end, lam[: N * s.rows].reshape(N, s.rows), lam[N * s.rows : N * s.rows + s.e], float(a[2][0]))
        values = np.concatenate([H.ravel(), H_end[self._end_tril]])
        r[0][:] = np.bincount(self._hessian_place, values, len(r[0]))

    def _iteration(self, a: Any, r: Any) -> None:
        number = len(self.history)
        w, cost = a[0], float(a[1][0]) if a[1] is not None else np.nan
        y, end = self._split(w)
        _, rows, e = self.stages.values(y, end)
        s = self.stages.sizes
        gap = np.abs(self._rows(y, end, rows, e)[: self.stages.steps * s.rows].reshape(-1, s.rows)[:, : s.x + s.z]).max()
        self.history.append(Iteration(number, cost, float(gap), np.nan))
        if self.best is None or gap <= self.best[0]:
            self.best = float(gap), w.copy()
        stop = 0
        if self.callback is not None:
            try:
                self.callback(self.history[-1])
            except KeyboardInterrupt:
                self.interrupted, stop = True, 1
        if r[0] is not None:
            r[0][:] = stop


class _Call(ca.Callback):  # type: ignore[misc]
    """A function of CasADi by a function of numpy arrays."""

    def __init__(self, name: str, inputs: Any, outputs: Any, f: Callable[[Any, Any], None]) -> None:
        super().__init__()
        self.inputs, self.outputs, self.f = inputs, outputs, f
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self.inputs)

    def get_n_out(self) -> int:
        return len(self.outputs)

    def get_name_in(self, i: int) -> str:
        return str(self.inputs[i][0])

    def get_name_out(self, i: int) -> str:
        return str(self.outputs[i][0])

    def get_sparsity_in(self, i: int) -> Any:
        return self.inputs[i][1]

    def get_sparsity_out(self, i: int) -> Any:
        return self.outputs[i][1]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        self.f(*([None if b is None else np.frombuffer(b, np.float64) for b in buffers] for buffers in (arg, res)))
        return 0


def _pattern(rows: Integers, columns: Integers, n_rows: int, n_columns: int) -> tuple[ca.Sparsity, Integers]:
    """The pattern of the given entries, and the place of each in it."""
    keys, place = np.unique(columns.astype(np.int64) * n_rows + rows, return_inverse=True)
    return ca.Sparsity.triplet(n_rows, n_columns, (keys % n_rows).tolist(), (keys // n_rows).tolist()), place


def residuals(stages: Stages, y: Array, end: Array, multipliers: Multipliers) -> tuple[float, float, Row]:
    """Stationarity of the Lagrangian, relative to its terms; the largest violation, and where it is."""
    s, N = stages.sizes, stages.steps
    _, rows, e = stages.values(y, end)
    rows = rows.copy()
    rows[:-1, s.x : s.x + s.z] -= y[1:, : s.z]
    rows[-1, s.x : s.x + s.z] -= end
    gaps = {"R": np.abs(rows[:, : s.x]), "U": np.abs(rows[:, s.x : s.x + s.z])}
    for kind, value, (low, high) in (
        ("c", rows[:, s.x + s.z :], stages.bounds.c),
        ("e", e[None], stages.bounds.e),
        ("u", y[:, s.z + s.x :], stages.bounds.u),
    ):
        gaps[kind] = np.maximum(np.maximum(low - value, value - high), 0.0)
    kind = max(gaps, key=lambda k: gaps[k].max(initial=0.0))
    step, index = (int(i) for i in np.unravel_index(np.argmax(gaps[kind]), gaps[kind].shape)) if gaps[kind].size else (0, 0)
    worst = Row(kind, step, index, float(gaps[kind].max(initial=0.0)))
    g, J, g_end, J_end = stages.derivatives(y, end)
    i, j = stages.jacobian_pattern
    total, size = g.copy(), np.abs(g)
    terms = J * multipliers.r[:, i]
    for k in range(N):
        total[k] += np.bincount(j, terms[k], s.y)
        size[k] += np.bincount(j, np.abs(terms[k]), s.y)
    last = g_end + J_end.T @ multipliers.s
    last_size = np.abs(g_end) + np.abs(J_end.T) @ np.abs(multipliers.s)
    coupling = multipliers.r[:, s.x : s.x + s.z]
    total[1:, : s.z] -= coupling[:-1]
    size[1:, : s.z] += np.abs(coupling[:-1])
    last -= coupling[-1]
    last_size += np.abs(coupling[-1])
    total[:, s.z + s.x :] += multipliers.b
    # The first states are given, or follow the first controls.
    total[0, s.z + s.x :] += stages.gain.T @ total[0, : s.z]
    total[0, : s.z][~stages.free] = 0.0
    scale = max(size.max(initial=0.0), last_size.max(initial=0.0), 1e-300)
    return float(max(np.abs(total).max(initial=0.0), np.abs(last).max(initial=0.0)) / scale), worst.value, worst
