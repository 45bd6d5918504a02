r"""What an optimal control problem gives: the motion, its controls and costates, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.control.discrete import Discrete
from kreisel.control.outcome import Ending, Outcome, key_figures
from kreisel.simulation.solution import Solution
from kreisel.simulation.status import Statistics, Status

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """The best motion that was found."""

    discrete: Discrete
    outcome: Outcome
    preparation_seconds: float

    @classmethod
    def of(cls, d: Discrete, outcome: Outcome, preparation_seconds: float) -> Result:
        return cls(d, outcome, preparation_seconds)

    def __repr__(self) -> str:
        return f"<Result: cost {self.cost:.10g}, {self.iterations} iterations: {self.message}>"

    @property
    def success(self) -> bool:
        """Whether it is a local minimum."""
        return self.outcome.success

    @property
    def status(self) -> Ending:
        """How the search ended."""
        return self.outcome.ending

    @property
    def message(self) -> str:
        """The same in words, with the condition that stands out if there is none that holds them all."""
        o = self.outcome
        if self.success:
            return o.ending.value
        where = ""
        if o.infeasibility > 1e-6:
            where = f"; most violated: {self.discrete.name(o.worst)}, by {o.worst.value:.3g}"
        return f"{o.ending.value}{where}"

    @property
    def cost(self) -> float:
        """The cost."""
        return self.outcome.cost

    @property
    def iterations(self) -> int:
        """Iterations of the solver."""
        return self.outcome.iterations

    @property
    def solve_seconds(self) -> float:
        """Time of the solver, with derivatives and without preparation."""
        return self.outcome.seconds

    @property
    def derivative_seconds(self) -> float:
        """Time for values and derivatives of the problem."""
        return self.outcome.derivative_seconds

    @property
    def kkt_residual(self) -> float:
        """Of the necessary conditions: stationarity relative to its terms, and violation; the larger one."""
        return self.outcome.kkt_residual

    @property
    def horizon(self) -> float:
        """The length of the motion."""
        return self._h * self.discrete.steps

    @property
    def t(self) -> Array:
        """Times, (N + 1,)."""
        return np.asarray(self._h * np.arange(self.discrete.steps + 1), dtype=np.float64)

    @property
    def controls(self) -> dict[str, Array]:
        """Values in each step by name, (N,) each."""
        s = self.discrete.stages.sizes
        u = self.outcome.y[:, s.z + s.x :]
        return {name: u[:, i] for i, name in enumerate(self.discrete.transcription.controls)}

    @property
    def _h(self) -> float:
        return float(self.outcome.end[-1]) if self.discrete.free else self.discrete.h

    @cached_property
    def solution(self) -> Solution:
        """The motion: energies, momenta, joints, scenes, as of a simulation."""
        d, tr = self.discrete, self.discrete.transcription
        records = tr.records(self.outcome.y, self.outcome.end, self._h)
        u = np.stack([self.controls[name] for name in tr.layout.controls], axis=1)
        inputs = np.vstack([u[:1], u])
        stats = Statistics(steps=d.steps, newton_iterations=0, factorisations=0, halvings=0, seconds=0.0, preparation_seconds=0.0)
        solution = Solution(tr.layout, records, Status.REACHED_END, self.message, stats, inputs=inputs)
        return d.reduction.restore(solution) if d.reduction else solution

    @cached_property
    def hamiltonian(self) -> Array:
        r"""The discrete Hamiltonian of each step, (N,): minus the derivative of the least cost by the length of that step,

        .. math:: H_k = -\partial_h \bigl(L + \rho\cdot R + \pi\cdot U\bigr)(y_k),

        which for BEM, REM and GC is (7.12)-(7.14) of Siebert. Along a solution of the continuous problem it is constant.
        """
        d, tr = self.discrete, self.discrete.transcription
        s, stages = d.stages.sizes, d.stages
        out = np.zeros(d.steps)
        values = [np.arange(d.steps, dtype=float)[:, None], np.repeat(tr.parameters(self._h)[None], d.steps, axis=0)]
        given = np.hstack(values)
        for p in stages.parts:
            h = [i for i in range(p.others.numel()) if p.sources[0, i] == 1] if not d.free else []
            symbol = p.others[h[0]] if h else None
            if d.free:
                at = [i for i in range(p.variables.numel()) if p.columns[0, i] == s.z - 1]
                symbol = p.variables[at[0]] if at else None
            if symbol is None:
                continue
            m = ca.SX.sym("m", p.rows.numel())
            f = ca.Function("h", [p.variables, p.others, m], [ca.jacobian(p.cost + ca.dot(m, p.rows), symbol)])
            for i in range(len(p.at)):
                y, o, r = self.outcome.y[:, p.columns[i]], given[:, p.sources[i]], self.outcome.multipliers.r[:, p.at[i]]
                # The step itself as a state only tells the next one of it.
                if d.free and s.x + s.z - 1 in p.at[i]:
                    continue
                out -= np.array(f.map(d.steps)(y.T, o.T, r.T)).ravel()
        return out

    @property
    def costates(self) -> dict[str, dict[str, Array]]:
        """The multipliers of the states that each step leads to, by node and name (``"q"``, ``"v"``), (N, numbers) each: derivatives of the
        least cost by these."""
        tr, s = self.discrete.transcription, self.discrete.stages.sizes
        pi = self.outcome.multipliers.r[:, s.x : s.x + s.z]
        number = {int(p): i for i, p in enumerate(tr.places)}
        out: dict[str, dict[str, Array]] = {}
        for node, places in zip(self.discrete.system.nodes, tr.layout.nodes, strict=True):
            for name, at in places.items():
                if at in number:
                    n = node.group.n_params if name == "q" else node.size(name)
                    out.setdefault(node.name, {})[name] = pi[:, number[at] : number[at] + n]
        return out

    @property
    def motion_multipliers(self) -> dict[str, Array]:
        r"""Multipliers of the equations of motion of each step by node, (N, dim) each; of the last stage, where a step has several.

        With BEM, REM and GC these are the costates :math:`\lambda^p` of Siebert (7.15)-(7.22), with :math:`u = B\lambda^p` for effort as
        cost and :math:`\lambda^p_{BEM} = P\lambda^p_{REM}`.
        """
        tr = self.discrete.transcription
        rows = self.outcome.multipliers.r
        out = {}
        for node, places in zip(self.discrete.system.nodes, tr.numbering[-1].node, strict=True):
            at = tr.offsets[-2] + places["x"]
            out[node.name] = rows[:, at : at + node.group.dim]
        return out

    def summary(self) -> dict[str, Any]:
        """The key figures, for machines."""
        return key_figures(self)
