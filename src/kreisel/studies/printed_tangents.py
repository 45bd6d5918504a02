r"""What the Newton matrices printed in Sadłowski's thesis cost (section 4.2, appendices A.4 and A.5).

Printed are T^-1 with the sign of its skew part reversed and, in the load terms of A2 and A3, d exp(s Theta) without S_s:

.. math:: T^{-1} = c I + (1 - c) e e^T + \tfrac12 \tilde\Theta, \quad c = \frac{\theta/2}{\tan(\theta/2)}, \qquad
          S_s = T(s\Theta) T^{-1}(\Theta) .

The methods of Kreisel have exact matrices; so here is a small Newton driver of its own, with quaternions as in the thesis: the update d of
an iteration turns the last iterate on, R <- R exp(d), and matrices are derivatives with respect to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import A3
from kreisel.studies.base import Result, end_of_run, study
from kreisel.studies.heavy_top import skew
from kreisel.studies.words import model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

#: beta, gamma of the thesis.
PARAMETERS = {"A1": (0.25, 0.5), "A2": (0.25, 0.5), "A3": (0.5, 1.0)}
TANGENTS = ("printed", "sign corrected", "exact")
E3 = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Body:
    """A body under a torque that is given in time, m = (C1, 0, 0), (0, C2, 0) or 0 in space axes, or under its weight, -Mgl (R e3) x e3."""

    J: Array
    Mgl: float = 0.0
    spin_up: float = 0.0
    push: float = 0.0
    #: When the spin-up ends and the push ends.
    jumps: tuple[float, float] = (0.0, 0.0)

    def torque(self, t: float, R: Array) -> Array:
        if self.Mgl:
            return -self.Mgl * np.array([R[1, 2], -R[0, 2], 0.0])
        first, second = self.jumps
        return np.array([self.spin_up if t < first else 0.0, self.push if first <= t < second else 0.0, 0.0])


@dataclass
class Step:
    """One step of A1, A2 or A3 from (t, q, W, A): residual and matrix at an iterate, the quaternion of the step."""

    method: str
    tangent: str
    body: Body
    h: float
    t: float
    q: Array
    W: Array
    A: Array

    def __post_init__(self) -> None:
        self.beta, self.gamma = PARAMETERS[self.method]
        self.R = rotation(self.q)

    def rates(self, Theta: Array) -> tuple[Array, Array]:
        h, ratio = self.h, self.gamma / self.beta
        W = ratio / h * Theta - self.W + (2 - ratio) * (self.W + h / 2 * self.A)
        return W, Theta / (self.beta * h**2) - self.W / (self.beta * h) - (0.5 / self.beta - 1) * self.A

    def evaluate(self, dq: Array) -> tuple[Array, Array, float]:
        """Residual, matrix, and what the residual is measured by: the momentum and the impulse, in A1 and A2 over the step."""
        h, beta, gamma, J = self.h, self.beta, self.gamma, self.body.J
        Theta = vector(dq)
        W, A = self.rates(Theta)
        Tinv = inverse_tangent(Theta, -1.0 if self.tangent == "printed" else 1.0)
        s = {"A1": 1.0, "A2": gamma, "A3": beta / gamma}[self.method]
        S = tangent(s * Theta) @ Tinv if self.tangent == "exact" else np.eye(3)
        R_new = self.R @ rotation(dq)
        R_s = R_new if s == 1 else self.R @ rotation(quaternion(s * Theta))
        m = self.body.torque(self.t + s * h, R_s)
        scale = float(np.linalg.norm(J @ self.W) / h + np.linalg.norm(m))
        K_m = -self.body.Mgl * s * skew(*E3) @ R_s @ skew(*E3) @ S
        if self.method == "A3":
            pi, p = R_new @ (J @ W), self.R @ (J @ self.W)
            K = R_new @ (gamma / (beta * h) * J @ Tinv - skew(*(J @ W))) - h * K_m
            return pi - p - h * m, K, h * scale
        if self.method == "A2":
            W, A = (1 - gamma) * self.W + gamma * W, (1 - gamma) * self.A + gamma * A
        load = R_s.T @ m
        share = 1.0 if self.method == "A1" else gamma
        K = share * ((J / h - gamma * skew(*(J @ W)) + gamma * skew(*W) @ J) @ Tinv / (beta * h) - skew(*load) @ S) - R_s.T @ K_m
        return J @ A + np.cross(W, J @ W) - load, K, scale

    def start(self) -> Array:
        """The predictor of the thesis for A3; for A1 and A2, where it has none, A_{n+1} = A_n."""
        share = 0.5 - self.beta if self.method == "A3" else 0.5
        return quaternion(self.h * self.W + share * self.h**2 * self.A)

    def solve(self, tolerance: float, limit: int) -> tuple[Array | None, list[float]]:
        """The quaternion of the step (None: no convergence), and the residuals, relative."""
        dq, history = self.start(), []
        for _ in range(limit + 1):
            r, K, scale = self.evaluate(dq)
            history.append(float(np.linalg.norm(r)) / scale)
            if history[-1] <= tolerance:
                return dq, history
            if not np.isfinite(history[-1]):
                return None, history
            dq = product(dq, quaternion(np.asarray(-np.linalg.solve(K, r), dtype=np.float64)))
        return None, history


@dataclass(frozen=True)
class Run:
    """How a run went: the time it reached, Newton iterations per step, and the step that would be next."""

    reached: float
    iterations: list[int]
    next: Step


def run(step: Step, t_end: float, tolerance: float, limit: int) -> Run:
    """From a first step up to the end, or to the step that does not converge."""
    iterations: list[int] = []
    while step.t < t_end - step.h / 2:
        dq, residuals = step.solve(tolerance, limit)
        if dq is None:
            break
        iterations.append(len(residuals) - 1)
        q = product(step.q, dq)
        W, A = step.rates(vector(dq))
        step = replace(step, t=len(iterations) * step.h, q=q / np.linalg.norm(q), W=W, A=A)
    return Run(step.t, iterations, step)


@study("sadlowski/printed-tangents", source="Sadłowski, (4.46), (A.57), (A.77), (A.95), (A.109), and the examples of chapter 5")
def printed_tangents(
    *,
    steps: tuple[float, ...] = (0.01, 0.1),
    top_steps: tuple[float, ...] = (0.02, 0.04),
    t_end: float = 4.0,
    tolerance: float = 1e-10,
    max_iterations: int = 50,
    Mgl: float = 20.0,
    watched: int = 3,
) -> Result:
    """Newton's method with the printed matrices, with the sign of T^-1 corrected, and with the exact ones: iterations and failures.

    ``table``: per example (intermediate axis, top), method, step and matrix: the time reached, and iterations per step in the mean (of
    the intermediate axis: from t = 2 on). ``histories``: residuals, relative, in the step number ``watched`` of the top with the last of
    ``top_steps``, reached with exact matrices. ``tangent_error``: relative error of the matrices against differences of the residual, at
    random data with h = 0.1 and |Theta| = 0.7, with a torque fixed in space and with the weight. ``tolerance``: of the residual,
    relative to the momentum. The rest of the numbers is of A3 as Kreisel has it, on the same top.
    """
    from kreisel.simulation import simulate

    lengths = list(steps) if isinstance(steps, tuple | list) else [steps]
    top_lengths = list(top_steps) if isinstance(top_steps, tuple | list) else [top_steps]
    J, J_top = np.diag([5.0, 10.0, 1.0]), np.diag([5.0, 5.0, 1.0])
    one, zero, spin = np.array([1.0, 0, 0, 0]), np.zeros(3), np.array([0, 0, 50.0])
    table: dict[str, dict[str, Any]] = {}
    histories: dict[str, dict[str, list[float]]] = {m: {} for m in PARAMETERS}
    for method in PARAMETERS:
        for kind in TANGENTS:
            for h in lengths:
                body = Body(J, spin_up=20.0, push=0.2 / h, jumps=(2 - h + 1e-6 * h, 2 + 1e-6 * h))
                # A torque about e1 along the first axis: A_0 = (4, 0, 0).
                made = run(Step(method, kind, body, h, 0.0, one, zero, np.array([4.0, 0, 0])), t_end, tolerance, max_iterations)
                free = made.iterations[round(2 / h) :]
                table[f"intermediate axis, {method}, h = {h:g}, {kind}"] = _row(made, free, t_end)
            for h in top_lengths:
                first = Step(method, kind, Body(J_top, Mgl=Mgl), h, 0.0, quaternion(np.array([0.3, 0, 0])), spin, zero)
                made = run(first, t_end, tolerance, max_iterations)
                table[f"top, {method}, h = {h:g}, {kind}"] = _row(made, made.iterations, t_end)
            there = run(replace(first, tangent="exact"), (watched - 1) * h, tolerance, max_iterations).next
            histories[method][kind] = replace(there, tangent=kind).solve(1e-15, 12)[1]
    numbers: dict[str, Any] = {"table": table, "histories": histories, "tangent_error": tangent_errors()}
    sol = simulate(model_of("symmetric_top", {"Mgl": Mgl}), t_end, top_lengths[-1], A3(), acceleration={"top": zero})
    numbers |= end_of_run(sol)
    arrays = {f"history_{m}_{k.replace(' ', '_')}": np.array(r) for m, kinds in histories.items() for k, r in kinds.items()}

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 3, sharey=True)
        for ax, method in zip(axes, PARAMETERS, strict=True):
            for k, (kind, residuals) in enumerate(histories[method].items()):
                # Those of A1 lie on each other.
                ax.semilogy(residuals, "o-", color=f"C{(3, 1, 0)[k]}", markersize=(4, 7, 4)[k], linewidth=(1.5, 3, 1.5)[k], label=kind)
            ax.set_title(f"{method}, top, h = {top_lengths[-1]:g}, step {watched}", fontsize=9)
            ax.set_xlabel("iteration")
            ax.tick_params(labelsize=8)
            ax.grid(alpha=0.3)
        axes[0].set_ylabel("relative residual")
        axes[0].legend(fontsize=8, title="matrix", title_fontsize=8)

    return Result(numbers, arrays, draw)


def _row(made: Run, counted: list[int], t_end: float) -> dict[str, Any]:
    return {
        "converged": bool(made.reached > t_end - 1e-9),
        "reached": made.reached,
        "iterations": float(np.mean(counted)) if counted else float("nan"),
    }


def tangent_errors() -> dict[str, dict[str, list[float]]]:
    """Relative errors of the matrices, with a torque fixed in space and with the weight, against central differences of order 6."""
    rng = np.random.default_rng(4)
    Theta, W, A = rng.standard_normal((3, 3))
    q, dq = quaternion(rng.standard_normal(3)), quaternion(0.7 * Theta / np.linalg.norm(Theta))
    J = np.diag([5.0, 10.0, 1.0])
    out: dict[str, dict[str, list[float]]] = {}
    for method in PARAMETERS:
        out[method] = {}
        for kind in TANGENTS:
            out[method][kind] = []
            for body in (Body(J, spin_up=20.0, jumps=(9.0, 9.0)), Body(J, Mgl=20.0)):
                step = Step(method, kind, body, 0.1, 0.0, q, W, A)
                K = step.evaluate(dq)[1]
                e, weights = 2e-3, {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
                columns = []
                for u in np.eye(3):
                    pairs = {k: [step.evaluate(product(dq, quaternion(x * e * u)))[0] for x in (k, -k)] for k in weights}
                    columns.append(sum(w * (pairs[k][0] - pairs[k][1]) for k, w in weights.items()) / e)
                numerical = np.stack(columns, axis=1)
                out[method][kind].append(float(np.linalg.norm(K - numerical) / np.linalg.norm(numerical)))
    return out


# Quaternions, scalar first, and the operators T and T^-1 (3.8 of the digest), in plain NumPy


def quaternion(Theta: Array) -> Array:
    """exp of a rotation vector."""
    angle = float(np.linalg.norm(Theta))
    return np.concatenate([[np.cos(angle / 2)], np.sinc(angle / (2 * np.pi)) / 2 * Theta])


def vector(q: Array) -> Array:
    """The rotation vector, up to 2 pi: the sign of the quaternion is kept."""
    length = float(np.linalg.norm(q[1:]))
    return np.asarray(q[1:] * (2 * np.arctan2(length, q[0]) / length if length > 1e-12 else 2.0 / q[0]))


def product(p: Array, q: Array) -> Array:
    """The product of two quaternions."""
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + skew(*p[1:]) @ q[1:]])


def rotation(q: Array) -> Array:
    """The matrix of a quaternion."""
    return np.asarray((2 * q[0] ** 2 - 1) * np.eye(3) + 2 * (np.outer(q[1:], q[1:]) + q[0] * skew(*q[1:])))


def tangent(Theta: Array) -> Array:
    """T, with the sign of the skew part corrected."""
    angle = float(np.linalg.norm(Theta))
    if angle < 1e-8:
        return np.asarray(np.eye(3) - skew(*Theta) / 2)
    e, s = Theta / angle, np.sin(angle) / angle
    return np.asarray(s * np.eye(3) + (1 - s) * np.outer(e, e) - np.sinc(angle / (2 * np.pi)) ** 2 / 2 * skew(*Theta))


def inverse_tangent(Theta: Array, sign: float = 1.0) -> Array:
    """T^-1; ``sign``: of its skew part, + corrected, - as printed."""
    angle = float(np.linalg.norm(Theta))
    if angle < 1e-8:
        return np.asarray(np.eye(3) + sign * skew(*Theta) / 2)
    e, c = Theta / angle, angle / 2 / np.tan(angle / 2)
    return np.asarray(c * np.eye(3) + (1 - c) * np.outer(e, e) + sign / 2 * skew(*Theta))
