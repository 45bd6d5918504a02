r"""The derivative of a step.

A step maps the states z_n of all nodes and multipliers to z_{n+1}. A stage solves R(x, z) = 0 for its unknowns and then sets z' = U(x,
z); so

.. math:: \mathrm{d}z' = (U_z - U_x R_x^{-1} R_z)\,\mathrm{d}z,

and the derivative of the step is the product over its stages. R, its matrix and U are the ones the driver uses. Configurations are varied
along the group, q exp(w), so that the matrix is square and as small as it can be.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.engine import driver
from kreisel.methods.base import Stage
from kreisel.methods.elements import MultiplierView, NodeView
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import Layout, PackView, Unknowns, packs_of
from kreisel.simulation.program import Program

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


class StepDerivative:
    """d z_{n+1} / d z_n of a method on a system, at any state: formulas are made once.

    Order of rows and columns: for each node w (of q exp(w)) and the states the method declares; then the states of holonomic and
    nonholonomic multipliers.
    """

    def __init__(self, layout: Layout, newton: Newton | None = None) -> None:
        if layout.system.black_boxes:
            name = layout.system.black_boxes[0]
            raise ValueError(f"'{name}' is a plain function: a step with it has no derivative; write it as a formula")
        if layout.method.reduces:
            raise ValueError(f"{layout.method} steps in other coordinates than those of the system; take the derivative of a step of BEM")
        self.layout, self.local = layout, Local(layout)
        self._stages = [StageDerivative(layout, self.local, stage, newton) for stage in layout.method.stages]

    def __call__(self, S: Array, h: float) -> tuple[Array, Array]:
        """At the state S (as recorded), for a step of length h: the matrix, and the state after the step."""
        layout = self.layout
        total = np.eye(self.local.size)
        full = np.concatenate([S[: layout.n_state], layout.parameter_values])
        t = full[1]
        for fraction in layout.method.substeps():
            for stage in self._stages:
                full[0], full[1] = fraction * h, t
                derivative, full = stage(full)
                total = derivative @ total
            t += fraction * h
        full[1] = t
        return total, full[: layout.n_state]


class Local:
    """Numbers of the states, configurations counted by the dimension of their group."""

    def __init__(self, layout: Layout) -> None:
        self.places: dict[int, int] = {}  # place in S -> number; of a configuration: its first entry
        self.nodes: list[dict[str, slice]] = []
        at = 0
        for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
            self.nodes.append({})
            for name, place in places.items():
                self.places[place] = at
                self.nodes[-1][name] = slice(at, at + node.group.dim)
                at += node.group.dim
        for rows, multipliers in ((layout.system.rows, layout.lam), (layout.system.pfaffian_rows, layout.mu)):
            for k, places in zip(rows, multipliers, strict=True):
                for place in places.values():
                    self.places[place] = at
                    at += k
        self.size = at

    def columns(self, name: str) -> Integers:
        """The numbers of a state of all nodes."""
        return np.concatenate([np.arange(n[name].start, n[name].stop) for n in self.nodes])


class Rows:
    """The derivatives of the rows of a stage: R_x by its unknowns, R_z by the states."""

    def __init__(self, layout: Layout, local: Local, stage: Stage) -> None:
        self.layout, self.local = layout, local
        self.unknowns = Unknowns(layout.system, stage)
        self._parts = []
        for pack in packs_of(layout.system, self.unknowns.n):
            view = PackView(layout, stage, self.unknowns, pack)
            symbols, expressions, columns = _varied(view, layout, layout.method)
            by_state = [
                ca.densify(ca.jacobian(view.residual, q) @ rate if rate is not None else ca.jacobian(view.residual, q))
                for q, rate in expressions
            ]
            both = [ca.densify(view.jacobian), ca.horzcat(ca.SX(view.residual.numel(), 0), *by_state)]
            where = [
                np.concatenate([np.zeros(0, dtype=int), *(local.places[int(c[i])] + np.arange(n) for c, n in columns)])
                for i in range(len(pack))
            ]
            self._parts.append((view, ca.Function("f", symbols, both), where))

    def __call__(self, S: Array, x: Array) -> tuple[Array, Array]:
        n = self.unknowns.n
        R_x, R_z = np.zeros((n, n)), np.zeros((n, self.local.size))
        for view, f, where in self._parts:
            for i, columns in enumerate(where):
                J, Z = f(*view.values(i, S, x))
                np.add.at(R_x, np.ix_(view.rows[i], view.columns[i]), J.full())
                np.add.at(R_z, np.ix_(view.rows[i], columns), Z.full())
        return R_x, R_z


class StageDerivative:
    """The derivative of one stage."""

    def __init__(self, layout: Layout, local: Local, stage: Stage, newton: Newton | None = None, steps: bool = True) -> None:
        newton = newton or Newton()
        self.layout = layout
        self.program = Program(layout, (stage,), newton.start, steps=steps)
        self.rows = Rows(layout, local, stage)
        self._tolerances, self._options = self.program.tolerances(newton.atol, newton.rtol), newton.options()
        self._update = _Update(layout, local, stage, self.rows.unknowns)

    def __call__(self, S: Array) -> tuple[Array, Array]:
        """The derivative, and the states after the stage."""
        program = self.program
        full = np.concatenate([S, np.zeros(program.size - len(S))])
        times = np.array([S[1], S[1]])
        if program.run(full, S[:1].copy(), times, 0, 1, self._tolerances, self._options, program.memory()) != driver.DONE:
            raise ValueError("the step that is to be linearised does not converge")
        x = full[self.layout.size + program.places[0]]
        R_x, R_z = self.rows(S, x)
        U_x, U_z = self._update(S, x)
        return U_z - U_x @ np.linalg.solve(R_x, R_z), full[: self.layout.size]


def _varied(view: PackView, layout: Layout, method: Any) -> tuple[list[ca.SX], list[tuple[ca.SX, ca.SX | None]], list[tuple[Any, int]]]:
    """Symbols to evaluate with, states to differentiate by (with the rate matrix of configurations), and their places in S."""
    expressions: list[tuple[ca.SX, ca.SX | None]] = []
    columns: list[tuple[Any, int]] = []
    for n in view.elements.nodes:
        w = ca.SX.sym("w", n.group.dim)
        expressions.append((n.q, ca.jacobian(n.group.rate(n.q, w), w)))
        columns.append((view.table[n.q[0].element_hash()], n.group.dim))
        for name in method.states:
            symbol = getattr(n, name)
            expressions.append((symbol, None))
            columns.append((view.table[symbol[0].element_hash()], n.group.dim))
    for multipliers, states, part in (
        (view.elements.lam, method.lam_states, "rows"),
        (view.elements.mu, method.mu_states, "pfaffian_rows"),
    ):
        for m in view.elements.members:
            own = getattr(m, part)
            for name in states if own.stop > own.start else ():
                symbol = getattr(multipliers, name)[own]
                expressions.append((symbol, None))
                columns.append((view.table[symbol[0].element_hash()], own.stop - own.start))
    return view.all_symbols(), expressions, columns


class _Update:
    """U_x and U_z: the derivatives of the update of a stage, node by node and constraint by constraint."""

    def __init__(self, layout: Layout, local: Local, stage: Stage, u: Unknowns) -> None:
        system, method = layout.system, layout.method
        self.shape, self._parts = (local.size, u.n), []
        h = ca.SX.sym("h")
        jobs: list[tuple[Any, Any, dict[str, int], dict[str, int], dict[str, Any], tuple[str, ...], Any]] = []
        for i, node in enumerate(system.nodes):
            n = NodeView(node, method.states, stage.unknowns)
            jobs.append((n, node.group, layout.nodes[i], u.node[i], stage.update(n, h), stage.unknowns, ("q", *method.states)))
        for rows, places, numbers, unknowns, states, hook in (
            (system.rows, layout.lam, u.lam, stage.lam_unknowns, method.lam_states, stage.update_multipliers),
            (system.pfaffian_rows, layout.mu, u.mu, stage.mu_unknowns, method.mu_states, stage.update_pfaffian),
        ):
            for k, size in enumerate(rows):
                if size:
                    m = MultiplierView(size, (*states, *unknowns))
                    jobs.append((m, None, places[k], numbers[k], hook(m, h), unknowns, states))
        for view, group, at_state, at_unknown, update, unknowns, states in jobs:
            symbols = [getattr(view, name) for name in (*states, *unknowns)]
            starts = [at_state[name] for name in states]
            in_states = [start + np.arange(s.numel()) for start, s in zip(starts, symbols, strict=False)]
            in_unknowns = [at_unknown[name] + np.arange(s.numel()) for name, s in zip(unknowns, symbols[len(states) :], strict=True)]
            for name, y in update.items():
                at = local.places[at_state[name]]
                size = group.dim if group else y.numel()
                blocks = []
                base = ca.SX(0, 1)
                if name == "q":
                    # The variation of the new configuration, seen from it.
                    base = group.symbol("base")
                    y = ca.mtimes(ca.DM(group._to_algebra), group.compose(group.inverse(base), y))
                for symbol, source in zip(symbols, (*states, *unknowns), strict=True):
                    D = ca.jacobian(y, symbol)
                    if source == "q":
                        w = ca.SX.sym("w", group.dim)
                        D = ca.mtimes(D, ca.jacobian(group.rate(symbol, w), w))
                    blocks.append(ca.densify(ca.substitute(D, base, update["q"]) if name == "q" else D))
                columns = [local.places[start] for start in starts] + [at_unknown[name] for name in unknowns]
                f = ca.Function("D", [h, *symbols], blocks)
                self._parts.append((f, in_states, in_unknowns, slice(at, at + size), columns, len(states)))

    def __call__(self, S: Array, x: Array) -> tuple[Array, Array]:
        U_x, U_z = np.zeros(self.shape), np.eye(self.shape[0])
        for f, in_states, in_unknowns, rows, columns, states in self._parts:
            U_z[rows] = 0.0
            blocks = f.call([S[0], *(S[i] for i in in_states), *(x[i] for i in in_unknowns)])
            for k, (at, D) in enumerate(zip(columns, blocks, strict=True)):
                (U_z if k < states else U_x)[rows, at : at + D.shape[1]] = D.full()
        return U_x, U_z
