"""Methods that step in fewer coordinates than those of the system: their start and their solutions."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.carrier import Carrier
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.methods.bem import BEM
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.packs import Layout, T
from kreisel.simulation.prepare import Prepared
from kreisel.simulation.solution import Event, Solution, State
from kreisel.simulation.start import start

Array = NDArray[np.float64]


class Reduction:
    """A system and the one that takes its place, started at the same state."""

    def __init__(self, system: System, method: Method, initial: Any, project: bool) -> None:
        self.original = system.original or system
        layout = Layout(system, method)
        started, errors = start(Prepared(layout, steps=False), [layout], [1.0], initial, None, project)
        for error in errors.values():
            raise error
        S = started[0]
        nodes = []
        for node, places in zip(system.nodes, layout.nodes, strict=True):
            node = copy(node)
            node.q, node.v = (S[places[k] : places[k] + node.group.dim].copy() for k in ("q", "v"))
            nodes.append(node)
        self.system = method.reduce(System.of(nodes, system.elements))

    def restore(self, solution: Solution) -> Solution:
        """The solution in the coordinates of the original system."""
        return restored(solution, self.original, solution.method, solution._records)


def restored(solution: Solution, original: System, method: Method, records: Array) -> Solution:
    """A solution in the coordinates of the system of which its own is a reduction: with q, v and memory, as a method that has no others.

    ``records``: those of the solution, or with other velocities.
    """
    layout = Layout(solution_system(original, solution), method)
    old = solution._layout
    out = np.zeros((len(records), layout.n_state))
    out[:, :3] = records[:, :3]
    memory = len(layout.memory_values)
    out[:, layout.n_state - memory :] = records[:, old.n_state - memory :]
    for node, places in zip(old.system.nodes, old.nodes, strict=True):
        q, v = (records[:, places[k] : places[k] + n] for k, n in (("q", node.group.n_params), ("v", node.size("v"))))
        for body, q_body, v_body in bodies(node, q, v):
            at = layout.nodes[layout.system.number[body]]
            out[:, at["q"] : at["q"] + q_body.shape[1]] = q_body
            out[:, at["v"] : at["v"] + v_body.shape[1]] = v_body
    events = [Event(e.name, e.t, _state(original, solution, e.state)) for e in solution.events]
    return Solution(
        layout, out, solution.status, solution.message, solution.stats, events, solution._every,
        inputs=solution._inputs,
    )  # fmt: skip


def _state(original: System, solution: Solution, state: State) -> State:
    """A state in the coordinates of the original system."""
    found: dict[str, tuple[Array, Array]] = {}
    at_q = at_v = 0
    for node in solution.system.nodes:
        n, d = node.group.n_params, node.size("v")
        q, v = state.q[at_q : at_q + n], state.v[at_v : at_v + d]
        found |= {body: (q_body[0], v_body[0]) for body, q_body, v_body in bodies(node, q[None], v[None])}
        at_q, at_v = at_q + n, at_v + d
    q, v = (np.concatenate([found[n.name][k] for n in original.nodes]) for k in range(2))
    return State(state.t, q, v)


def solution_system(original: System, solution: Solution) -> System:
    """The original system with the functions of time that a run has put in the place of inputs."""
    driven = {e.name: e for e in solution.system.elements}
    elements = []
    for e in original.elements:
        if e.control is not None and e.name in driven and driven[e.name].control is None:
            e, history = copy(e), driven[e.name].history
            e.control, e.history = None, history
        elements.append(e)
    return System.of(original.nodes, elements, original.structures)


def bodies(node: Any, q: Array, v: Array) -> list[tuple[str, Array, Array]]:
    """Name, coordinates and velocities of what a node stands for."""
    if isinstance(node, Carrier):
        return [(name, *node.evaluate(name, q, v)) for name in node.carried]
    return [(node.name, q, v)]


def multipliers(solution: Solution) -> Array:
    """The multipliers of each step: those with which BEM's equations hold that P^T has removed. At the start: of the first step."""
    if solution._every > 1:
        raise ValueError("multipliers need every step of the method on record (every=1)")
    system = solution.system
    layout = Layout(system, BEM())
    assembly = Assembly(layout, BEM().stages[0])
    n = system.dim
    q, v, t = solution.q, solution.v, solution.t
    out = np.zeros((len(t), sum(system.rows)))
    S = layout.start()
    for k in range(1, len(t)):
        at_q = at_v = 0
        for node, places in zip(system.nodes, layout.nodes, strict=True):
            d = node.group.dim
            S[places["q"] : places["q"] + d], S[places["v"] : places["v"] + d] = q[k - 1, at_q : at_q + d], v[k - 1, at_v : at_v + d]
            at_q, at_v = at_q + d, at_v + d
        S[0], S[T] = t[k] - t[k - 1], t[k - 1]
        S[layout.inputs] = solution._inputs[k]
        residual, J = assembly(S, np.concatenate([(v[k - 1] + v[k]) / 2, np.zeros(assembly.n - n)]))
        l = np.linalg.lstsq(J[:n, n:].toarray(), -residual[:n], rcond=None)[0]
        out[k] = l[: out.shape[1]] / S[0]
    out[0] = out[min(1, len(out) - 1)]
    return out
