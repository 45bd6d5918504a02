r"""Multipliers and accelerations of second order from a run of RATTLie (Hante, 3.5, Algorithms 2 to 4) or BEM, or of any method.

The multipliers lam^+ and lam^- of the two halves of a step are only of first order; that of BEM belongs to its middle. Two better ones:

interpolated
    :math:`\lambda_{n+1/2} = (\lambda_n^+ + \lambda_{n+1}^-)/2` (or that of BEM), and at the grid points the linear interpolation
    :math:`(h_n \lambda_{n-1/2} + h_{n-1} \lambda_{n+1/2})/(h_{n-1} + h_n)`.
separate
    from the equations of motion and the constraints on acceleration level, with the derivative of the constraint matrix from three grid
    points,

    .. math:: M \dot v + B^T\lambda = f + \hat v^T M v, \quad B(q_n) \dot v = (c_- B(q_{n-1}) + c_0 B(q_n) + c_+ B(q_{n+1})) v_n .

For any method there are the ``consistent`` ones, which belong to q and v of a time by the equations of motion of index 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.engine import driver
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements
from kreisel.methods.starts import Accelerations
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import Layout, T
from kreisel.simulation.program import Program

Array = NDArray[np.float64]


def multipliers(solution: Any, kind: str) -> tuple[Array, Array]:
    """(lam, accelerations or nothing)."""
    if kind == "raw":
        return solution.lam, np.zeros((0, 0))
    if kind == "consistent":
        return solution._consistent[1], solution._consistent[0]
    if kind not in ("interpolated", "separate"):
        raise ValueError(f"multipliers must be 'raw', 'interpolated', 'separate' or 'consistent', got {kind!r}")
    if solution._every > 1 or len(solution.method.substeps()) > 1:
        raise ValueError(f"multipliers '{kind}' need every step of the method on record (every=1, no composition)")
    if kind == "separate":
        lam, a, _ = separate(solution)
        return lam, a
    names = solution.method.lam_of_step
    if not names:
        raise ValueError(f"{solution.method} has no multipliers to interpolate; RATTLie and BEM have")
    records = np.concatenate([solution._records, solution._beyond])
    # A record holds the multipliers of the step that led to it; of RATTLie lam^+ at its start and lam^- at its end.
    half = np.mean([solution._multipliers(solution._layout.lam, solution.system.rows, n, records)[1:] for n in names], axis=0)
    h = np.diff(records[:, T])[:, None]
    inner = (h[1:] * half[:-1] + h[:-1] * half[1:]) / (h[1:] + h[:-1])
    # The multiplier of the start comes from the equations of motion. Without a step beyond the end, the last one is extrapolated.
    last = half[-1] + (half[-1] - half[-2]) * h[-1] / (h[-1] + h[-2])
    lam = np.concatenate([solution.lam[:1], inner, last[None]])
    return lam[: len(solution.t)], np.zeros((0, 0))


class _Prescribed(Accelerations):
    """As Accelerations, but with B a and A a prescribed by the states ``gamma`` of the multipliers."""

    def residual(self, e: Elements) -> dict[str, Any]:
        rows, a = super().residual(e), e.get("x")
        zero = [0 * x for x in a]
        rows["l"] = e.constraint_rate(e.t, e.q, a) - e.constraint_rate(e.t, e.q, zero) - e.lam.gamma
        rows["m"] = e.pfaffian(e.t, e.q, a) - e.pfaffian(e.t, e.q, zero) - e.mu.gamma
        return rows


def separate(solution: Any) -> tuple[Array, Array, Array]:
    """Multipliers lam, accelerations, multipliers mu. If there is no grid point after, the three lie on one side."""
    if solution._independent is not None:
        inner, widen = solution._independent
        lam, acceleration, mu = separate(inner)
        lam, mu = widen(inner, lam, mu)
        return lam, acceleration, mu
    n = len(solution.t)
    records = np.concatenate([solution._records, solution._beyond])
    t, q, v = records[:, T], solution._state("q", records), solution.v
    if len(t) < 3:
        raise ValueError("multipliers from three grid points need at least three recorded times")
    triple = np.clip(np.arange(n), 1, len(t) - 2)[:, None] + np.array([-1, 0, 1])
    a, b, c = (t[triple[:, k]] - t[:n] for k in range(3))
    # Derivative at 0 of the parabola through a, b, c.
    weights = (-(b + c) / ((a - b) * (a - c)), -(a + c) / ((b - a) * (b - c)), -(a + b) / ((c - a) * (c - b)))
    # B a is minus the derivative of B v + dPhi/dt with v held fast, along places and times of the motion.
    moving = solution._seen.copy()
    gamma: dict[str, Any] = {"constraint_rate": 0.0, "pfaffian": 0.0}
    for k in range(3):
        solution._layout.place(moving, q[triple[:, k]], v)
        moving[:, T] = t[triple[:, k]]
        for name in gamma:
            gamma[name] = gamma[name] - weights[k][:, None] * solution._monitors.rows(name, moving)
    acceleration, lam, mu = _evaluate(solution, _Prescribed(("a",), ("lam",), ("mu",)), gamma["constraint_rate"], gamma["pfaffian"])
    if solution.method.needs_acceleration:  # the start is known exactly
        lam[0] = solution.lam[0]
        mu[0] = solution.mu[0]
    return lam, acceleration, mu


def consistent(solution: Any) -> tuple[Array, Array, Array]:
    """Accelerations and multipliers that belong to q and v of each record by the index-1 equations."""
    if solution._independent is not None:
        inner, widen = solution._independent
        acceleration, lam, mu = consistent(inner)
        return acceleration, *widen(inner, lam, mu)
    return _evaluate(solution, Accelerations(("a",), ("lam",), ("mu",)))


class _Carrier(Method):
    """A method that takes no steps, only carries q, v and the results."""

    states = ("v", "a")
    lam_states = ("lam", "gamma")
    mu_states = ("mu", "gamma")


def _evaluate(solution: Any, stage: Stage, gamma_lam: Array | None = None, gamma_mu: Array | None = None) -> tuple[Array, Array, Array]:
    layout = Layout(solution.system, _Carrier())
    program = Program(layout, (stage,), steps=False)
    memory, S = program.memory(), np.concatenate([layout.start(), np.zeros(program.size - layout.size)])
    tolerances, options = program.tolerances(1e-13, 1e-13), Newton().options()
    out = np.empty((len(solution.t), layout.n_state))
    q, v = solution.q, solution.v
    for k, t in enumerate(solution.t):
        S[T] = t
        S[layout.inputs] = solution._inputs[k]
        layout.place(S, q[k], v[k])
        for gamma, places, rows in ((gamma_lam, layout.lam, layout.system.rows), (gamma_mu, layout.mu, layout.system.pfaffian_rows)):
            at = 0
            for p, size in zip(places, rows, strict=True):
                if gamma is not None and size:
                    S[p["gamma"] : p["gamma"] + size] = gamma[k, at : at + size]
                    at += size
        code = program.run(S, np.ones(1), np.array([t, t]), 0, 1, tolerances, options, memory)
        if code != driver.DONE:
            reason = "a force or constraint is nan or inf there" if code == driver.NOT_FINITE else "constraints are redundant"
            raise ValueError(f"there are no unique accelerations and multipliers at t = {t:.6g}: {reason}")
        out[k] = S[: layout.n_state]
    dummy = type(solution)(layout, out, solution.status, solution.message, solution.stats)
    return dummy._state("a"), dummy.lam, dummy.mu
