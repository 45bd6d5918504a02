r"""Lyapunov functions on the manifold of a system (Klemps, 4.2).

A function V of configuration and velocity with a minimum at an equilibrium, whose orbital derivative

.. math:: \dot V(q, v) = (\mathrm{grad}\,V \mid f) = \mathrm{D}_q V \cdot v + \mathrm{D}_v V \cdot a(q, v)

is nowhere positive near by, makes the equilibrium stable; with a derivative below zero, asymptotically stable (4.9, Satz 4.2.2). The
accelerations a are those of the equations of motion, constraints included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space

from kreisel.engine import driver
from kreisel.mechanics.system import System
from kreisel.methods.starts import Accelerations, ProjectPosition, ProjectVelocity
from kreisel.simulation.monitors import Nothing
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import Layout, PackView, Unknowns
from kreisel.simulation.program import Program
from kreisel.stability.balance import Equilibrium
from kreisel.stability.geometry import hilbert_distance
from kreisel.stability.linear import Moment

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """States around an equilibrium: their distance from it in the Hilbert space, V - V*, and the orbital derivative of V, (n,) each."""

    distance: Array
    value: Array
    rate: Array
    q: Array
    v: Array


class Lyapunov:
    """A candidate for a Lyapunov function: the energy of the system, or a function V(q, v) of one's own, in CasADi's symbols.

    q and v stand for all nodes side by side, as in a solution. For systems of moderate size: formulas are made of the whole.

    >>> import kreisel as kr
    >>> V = Lyapunov(kr.models.extended_top("SO3", stiffness=100.0, damping=2.0))
    >>> float(V.orbital_derivative(kr.SO3.random(0), [1.0, 2.0, 3.0]).round(9))  # -d |omega|^2
    -28.0
    """

    def __init__(self, system: System, V: Callable[[ca.SX, ca.SX], ca.SX] | None = None) -> None:
        if system.black_boxes:
            raise ValueError(f"'{system.black_boxes[0]}' is a plain function: it has no derivative; write it as a formula")
        self.system, self.layout = system, Layout(system, Moment())
        stage = Nothing()
        view = PackView(self.layout, stage, Unknowns(system, stage), [list(range(len(system.elements)))])
        e = view.elements
        own = {n.node.name: n for n in e.nodes}
        nodes = [own[n.name] for n in system.nodes]
        q, v = ca.vertcat(*(n.q for n in nodes)), ca.vertcat(*(n.v for n in nodes))
        if V is None:
            speeds = e.get("v")
            value = sum((ca.dot(v_i, p) / 2 for v_i, p in zip(speeds, e.momentum(speeds), strict=True)), start=ca.SX(0))
            value += e.energy(e.t, e.q, speeds)
        else:
            value = ca.SX(V(q, v))
        lam = ca.SX.sym("lam", sum(system.rows))
        value, constraints = e.resolve([ca.SX(value), e.constraint(e.t, e.q)])
        self._parameters, numbers = self._numbers(view)
        w, u = ca.SX.sym("w", system.dim), ca.SX.sym("u", system.dim)
        ends, at = [], 0
        for n in nodes:
            ends.append(n.group.retract(n.q, w[at : at + n.group.dim]))
            at += n.group.dim
        away = ca.vertcat(*ends, v + u)
        near = ca.vertcat(w, u)
        varied = ca.substitute([value, value + ca.dot(lam, constraints), constraints], [ca.vertcat(q, v)], [away])
        zero = ca.DM.zeros(2 * system.dim)
        gradient = ca.substitute(ca.gradient(varied[0], near), near, zero)
        hessian = ca.substitute(ca.hessian(varied[1], near)[0], near, zero)
        B = ca.substitute(ca.jacobian(varied[2], w), near, zero)
        symbols = [view.t, *numbers, q, v]
        self._value = ca.Function("V", symbols, [value])
        self._gradient = ca.Function("G", symbols, [ca.densify(gradient)])
        self._hessian = ca.Function("H", [*symbols, lam], [ca.densify(hessian), ca.densify(B)])
        self._motion = Program(self.layout, (Accelerations(("a",), ("lam",), ("mu",)),), steps=False)
        self._projection = Program(self.layout, (ProjectPosition(), ProjectVelocity()), steps=False)

    def _numbers(self, view: PackView) -> tuple[list[Any], list[ca.SX]]:
        """Values and symbols of the parameters, and of what elements remember."""
        values: list[Any] = [0.0]
        symbols = []
        for m in view.elements.members:
            for name, symbol in vars(m.parameters).items():
                values.append(np.ravel((m.element.parameters | m.element.memory)[name]))
                symbols.append(symbol)
        return values, symbols

    def value(self, q: ArrayLike, v: ArrayLike) -> float:
        """V at a state."""
        return float(self._value(*self._parameters, np.asarray(q, dtype=float), np.asarray(v, dtype=float)))

    def gradient(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """The derivatives of V by w of q exp(w), and by v: (dim,) each."""
        g = self._gradient(*self._parameters, np.asarray(q, dtype=float), np.asarray(v, dtype=float)).full()[:, 0]
        return g[: self.system.dim], g[self.system.dim :]

    def orbital_derivative(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The rate of V along the motion through the state (q, v), which must satisfy the constraints; (...,) from (..., n_params)."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        flat_q, flat_v = q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])
        a = self._accelerations(flat_q, flat_v)
        rates = []
        for q_i, v_i, a_i in zip(flat_q, flat_v, a, strict=True):
            along, by_v = self.gradient(q_i, v_i)
            rates.append(along @ v_i + by_v @ a_i)
        return np.array(rates).reshape(q.shape[:-1])

    def hessian(self, about: Equilibrium) -> Array:
        """The second derivative of V at an equilibrium, on the directions that the constraints allow, with their curvature in."""
        sol = about.solution
        H, B = (x.full() for x in self._hessian(*self._parameters, sol.q[-1], np.zeros(self.system.dim), sol.lam[-1]))
        N = null_space(B) if len(B) else np.eye(self.system.dim)
        both = np.block([[N, np.zeros_like(N)], [np.zeros_like(N), N]])
        return np.asarray(both.T @ H @ both)

    def definiteness(self, about: Equilibrium) -> str:
        """ "positive definite", "positive semidefinite, with n zero directions", or "indefinite"."""
        values = np.linalg.eigvalsh(self.hessian(about))
        size = float(np.abs(values).max(initial=0.0))
        zeros = int(np.sum(np.abs(values) <= 1e-9 * size))
        if values.min(initial=0.0) < -1e-9 * size:
            return "indefinite"
        return f"positive semidefinite, with {zeros} zero direction{'s' * (zeros > 1)}" if zeros else "positive definite"

    def sample(self, about: Equilibrium, radius: float = 0.1, count: int = 1000, seed: int = 0) -> Samples:
        """Random states around an equilibrium, on the constraints: variations of the configuration and velocities up to ``radius``."""
        rng = np.random.default_rng(seed)
        q0, dim = about.solution.q[-1], self.system.dim
        steps = rng.standard_normal((count, 2 * dim))
        steps *= (radius * rng.random(count) / np.linalg.norm(steps, axis=1))[:, None]
        q, at, i = np.empty((count, len(q0))), 0, 0
        for node in self.system.nodes:
            n, d = node.group.n_params, node.group.dim
            q[:, i : i + n] = node.group.retract(q0[i : i + n], steps[:, at : at + d])
            at, i = at + d, i + n
        S = self._run(self._projection, q, steps[:, dim:])
        q, v = (self._state(S, name) for name in ("q", "v"))
        start = self.value(q0, np.zeros(dim))
        values = np.array([self.value(a, b) - start for a, b in zip(q, v, strict=True)])
        return Samples(self._distance(q, v, q0), values, self.orbital_derivative(q, v), q, v)

    def _distance(self, q: Array, v: Array, q0: Array) -> Array:
        total, i, j = np.zeros(len(q)), 0, 0
        for node in self.system.nodes:
            n, d = node.group.n_params, node.group.dim
            total += hilbert_distance(node.group, q[:, i : i + n], v[:, j : j + d], q0[i : i + n], np.zeros(d)) ** 2
            i, j = i + n, j + d
        return np.sqrt(total)

    def _accelerations(self, q: Array, v: Array) -> Array:
        return self._state(self._run(self._motion, q, v), "a")

    def _state(self, S: Array, name: str) -> Array:
        parts = []
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            size = node.group.n_params if name == "q" else node.group.dim
            parts.append(S[:, places[name] : places[name] + size])
        return np.concatenate(parts, axis=1)

    def _run(self, program: Program, q: Array, v: Array) -> Array:
        count = len(q)
        S = np.zeros((count, program.size))
        S[:, : self.layout.size] = self.layout.start()
        self.layout.place(S, q, v)
        steps, newton = np.arange(count + 1), Newton()
        stats = np.zeros((count, 8), dtype=np.int64)
        tolerances = program.tolerances(1e-14, 1e-14)
        codes, _ = program.run_each(S, steps, np.ones(count), np.zeros(2 * count), tolerances, newton.options(), stats)
        if np.any(codes != driver.DONE):
            raise ValueError(
                "a state has no accelerations, or cannot be moved onto the constraints: is it far off, or a constraint redundant?"
            )
        return S
