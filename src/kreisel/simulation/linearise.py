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
from kreisel.methods.base import MultiplierView, NodeView, Stage
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import Layout, PackView, Unknowns, packs_of
from kreisel.simulation.program import Program

Array = NDArray[np.float64]


def step_matrix(layout: Layout, S: Array, h: float, newton: Newton | None = None) -> Array:
    """d z_{n+1} / d z_n at the state S (as recorded), for a step of length h.

    Order of rows and columns: for each node w (of q exp(w)) and the states the method declares; then the states of holonomic and
    nonholonomic multipliers.
    """
    if layout.system.black_boxes:
        raise ValueError(f"'{layout.system.black_boxes[0]}' is a plain function: a step with it has no derivative; write it as a formula")
    if layout.method.reduces:
        raise ValueError(f"{layout.method} steps in other coordinates than those of the system; take the derivative of a step of BEM")
    newton = newton or Newton()
    local = _Local(layout)
    total = np.eye(local.size)
    full = np.concatenate([S[: layout.n_state], layout.parameter_values])
    t = full[1]
    for fraction in layout.method.substeps():
        for stage in layout.method.stages:
            full[0], full[1] = fraction * h, t
            derivative, full = _stage_matrix(layout, local, stage, full, newton)
            total = derivative @ total
        t += fraction * h
    return total


class _Local:
    """Numbers of the states, configurations counted by the dimension of their group."""

    def __init__(self, layout: Layout) -> None:
        self.places: dict[int, int] = {}  # place in S -> number; of a configuration: its first entry
        at = 0
        for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
            for place in places.values():
                self.places[place] = at
                at += node.group.dim
        for rows, multipliers in ((layout.system.rows, layout.lam), (layout.system.pfaffian_rows, layout.mu)):
            for k, places in zip(rows, multipliers, strict=True):
                for place in places.values():
                    self.places[place] = at
                    at += k
        self.size = at


def _stage_matrix(layout: Layout, local: _Local, stage: Stage, S: Array, newton: Newton) -> tuple[Array, Array]:
    """The derivative of one stage and the states after it."""
    system, method = layout.system, layout.method
    program = Program(layout, (stage,), newton.start)
    full = np.concatenate([S, np.zeros(program.size - len(S))])
    times = np.array([S[1], S[1]])
    if (
        program.run(full, S[:1].copy(), times, 0, 1, program.tolerances(newton.atol, newton.rtol), newton.options(), program.memory())
        != driver.DONE
    ):
        raise ValueError("the step that is to be linearised does not converge")
    x = full[layout.size + program.places[0]]
    u = Unknowns(system, stage)
    R_x, R_z = np.zeros((u.n, u.n)), np.zeros((u.n, local.size))
    for pack in packs_of(system, u.n):
        view = PackView(layout, stage, u, pack)
        symbols, expressions, columns = _varied(view, layout, method)
        by_state = [
            ca.densify(ca.jacobian(view.residual, q) @ rate if rate is not None else ca.jacobian(view.residual, q))
            for q, rate in expressions
        ]
        f = ca.Function("f", symbols, [ca.densify(view.jacobian), ca.horzcat(ca.SX(view.residual.numel(), 0), *by_state)])
        for i in range(len(pack)):
            J, Z = f(*view.values(i, S, x))
            np.add.at(R_x, np.ix_(view.rows[i], view.columns[i]), J.full())
            where = np.concatenate([local.places[int(c[i])] + np.arange(n) for c, n in columns]) if columns else np.zeros(0, dtype=int)
            np.add.at(R_z, np.ix_(view.rows[i], where), Z.full())
    U_x, U_z = _update_matrix(layout, local, stage, u, S, x)
    return U_z - U_x @ np.linalg.solve(R_x, R_z), full[: layout.size]


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


def _update_matrix(layout: Layout, local: _Local, stage: Stage, u: Unknowns, S: Array, x: Array) -> tuple[Array, Array]:
    system, method = layout.system, layout.method
    U_x, U_z = np.zeros((local.size, u.n)), np.eye(local.size)
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
        values = [S[at_state[name] : at_state[name] + getattr(view, name).numel()] for name in states]
        values += [x[at_unknown[name] : at_unknown[name] + getattr(view, name).numel()] for name in unknowns]
        for name, y in update.items():
            at = local.places[at_state[name]]
            size = group.dim if group else y.numel()
            if name == "q":
                # The variation of the new configuration, seen from it.
                base = group.symbol("base")
                y = ca.mtimes(ca.DM(group._to_algebra), group.compose(group.inverse(base), y))
                new = ca.Function("q", [h, *symbols], [update["q"]])(S[0], *values)
            U_z[at : at + size] = 0.0
            for symbol, source in zip(symbols, (*states, *unknowns), strict=True):
                D = ca.jacobian(y, symbol)
                if source == "q":
                    w = ca.SX.sym("w", group.dim)
                    D = ca.mtimes(D, ca.jacobian(group.rate(symbol, w), w))
                extra = [base] if name == "q" else []
                f = ca.Function("D", [h, *symbols, *extra], [ca.densify(D)])
                value = f(S[0], *values, *([new] if name == "q" else [])).full()
                if source in states:
                    start = local.places[at_state[source]]
                    U_z[at : at + size, start : start + value.shape[1]] = value
                else:
                    start = at_unknown[source]
                    U_x[at : at + size, start : start + value.shape[1]] = value
    return U_x, U_z
