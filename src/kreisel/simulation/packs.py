"""The symbols of a system within a stage of a method, and where their numbers are.

The layout says where states and parameters are in the flat vector S; packs are sets of elements that are evaluated together. Elements on
the same nodes go into one pack; packs that differ only in numbers are instances of one formula. A small system is one pack altogether.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.node import Ground
from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, Member, MultiplierView, NodeView

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Systems with at most this many unknowns per stage become one pack.
SMALL = 24

H, T, COUNT = 0, 1, 2  # places of the step, the time and the count of Newton iterations in S


class Layout:
    """Where everything is in the flat vector S: h, t, the states of nodes and multipliers, then parameters."""

    def __init__(self, system: System, method: Method) -> None:
        self.system, self.method = system, method
        at = 3
        self.nodes: list[dict[str, int]] = []
        for node in system.nodes:
            places = {"q": at}
            at += node.group.n_params
            for name in method.states:
                places[name] = at
                at += node.size(name)
            self.nodes.append(places)
        self.lam, at = self._multipliers(system.rows, method.lam_states, at)
        self.mu, at = self._multipliers(system.pfaffian_rows, method.mu_states, at)
        self.parameters: list[dict[str, int]] = []
        memory = []
        for e in system.elements:
            places = {}
            for name, a in e.memory.items():
                places[name] = at
                at += np.size(a)
                memory.append(np.ravel(a))
            self.parameters.append(places)
        self.memory_values = np.concatenate([np.zeros(0), *memory])
        self.n_state = at
        values = []
        for e, places in zip(system.elements, self.parameters, strict=True):
            for name, a in e.parameters.items():
                places[name] = at
                at += np.size(a)
                values.append(np.ravel(a))
        self.parameter_values = np.concatenate(values) if values else np.zeros(0)
        self.size = at
        driven = [(e.control, places["u"]) for e, places in zip(system.elements, self.parameters, strict=True) if e.control is not None]
        #: Places of the inputs of actuators, and the names of their controls.
        self.inputs = np.array([place for _, place in driven], dtype=np.int64)
        self.controls = [name for name, _ in driven]

    def _multipliers(self, rows: list[int], states: tuple[str, ...], at: int) -> tuple[list[dict[str, int]], int]:
        all_places = []
        for k in rows:
            places = {}
            for name in states if k else ():
                places[name] = at
                at += k
            all_places.append(places)
        return all_places, at

    def start(self) -> Array:
        """The states at the start: q and v of the nodes, everything else zero."""
        S = np.zeros(self.size)
        for node, places in zip(self.system.nodes, self.nodes, strict=True):
            S[places["q"] : places["q"] + node.group.n_params] = node.q
            S[places["v"] : places["v"] + node.size("v")] = node.v
            if "w" in places:
                S[places["w"] : places["w"] + node.group.dim] = node.v
        S[self.n_state - len(self.memory_values) : self.n_state] = self.memory_values
        S[self.n_state :] = self.parameter_values
        return S

    def place(self, S: Array, q: Array, v: Array) -> None:
        """Writes configurations and velocities of all nodes, side by side as in a solution, into S; all with any leading axes."""
        i = j = 0
        for node, places in zip(self.system.nodes, self.nodes, strict=True):
            n, d = node.group.n_params, node.group.dim
            S[..., places["q"] : places["q"] + n] = q[..., i : i + n]
            S[..., places["v"] : places["v"] + d] = v[..., j : j + d]
            i, j = i + n, j + d


class Unknowns:
    """Numbers of the unknowns of a stage before ordering: nodes, then multipliers; and whom they belong to."""

    def __init__(self, system: System, stage: Stage) -> None:
        self.node: list[dict[str, int]] = []
        self.lam: list[dict[str, int]] = []
        self.mu: list[dict[str, int]] = []
        self.owners: list[str] = []
        blocks: list[int] = []
        n = 0
        sources = [(self.node, stage.unknowns, node.group.dim, f"'{node.name}'") for node in system.nodes]
        sources += [(self.lam, stage.lam_unknowns, k, f"'{e.name}'") for e, k in zip(system.elements, system.rows, strict=True)]
        sources += [(self.mu, stage.mu_unknowns, k, f"'{e.name}'") for e, k in zip(system.elements, system.pfaffian_rows, strict=True)]
        for block, (target, names, size, owner) in enumerate(sources):
            places = {}
            for name in names:
                places[name] = n
                n += size
                self.owners += [owner] * size
                blocks += [block] * size
            target.append(places)
        self.n = n
        _, numbers = np.unique(blocks, return_inverse=True)
        self.blocks = numbers.astype(np.int64)


class PackView:
    """Sets of elements with equal formulas, in symbols, with the addresses of all instances."""

    depends: Any

    def __init__(self, layout: Layout, stage: Stage, u: Unknowns, instances: list[list[int]]) -> None:
        system, method = layout.system, layout.method
        first = instances[0]
        bodies = [self._bodies(system, members) for members in instances]
        if len(instances) == 1:
            # Nodes without any element still have equations of their own.
            bodies[0] += [n.name for n in system.nodes if len(first) == len(system.elements) and n.name not in bodies[0]]
        node_index = np.array([[system.number[b] for b in names] for names in bodies], dtype=np.int64).reshape(len(instances), -1)
        self.h, self.t = ca.SX.sym("h"), ca.SX.sym("t")
        nodes = [NodeView(system.nodes[i], method.states, stage.unknowns) for i in node_index[0]]
        count = len(instances)
        self.table: dict[int, Integers] = {self.h.element_hash(): np.full(count, H), self.t.element_hash(): np.full(count, T)}
        self.unknown: dict[int, Integers] = {}
        self.probe_places: list[Integers] = []
        self.state_symbols: list[ca.SX] = []
        unknown_symbols: list[ca.SX] = []
        for a, view in enumerate(nodes):
            index = node_index[:, a]
            for name, n in {"q": view.group.n_params, **{name: view.node.size(name) for name in method.states}}.items():
                symbol = getattr(view, name)
                register(self.table, symbol, np.array([layout.nodes[i][name] for i in index]), n)
                self.state_symbols.append(symbol)
            for name in stage.unknowns:
                symbol = getattr(view, name)
                register(self.unknown, symbol, np.array([u.node[i][name] for i in index]), view.group.dim)
                unknown_symbols.append(symbol)
        self.instances = elements = np.array(instances, dtype=np.int64)
        members, lam_at, mu_at = [], 0, 0
        for c, k in enumerate(first):
            e = system.elements[k]
            p = {name: ca.SX.sym(name, np.size(a)) for name, a in (e.parameters | e.memory).items()}
            for name, symbol in p.items():
                register(self.table, symbol, np.array([layout.parameters[i][name] for i in elements[:, c]]), symbol.numel())
            places = [None if b == Ground.name else bodies[0].index(system.nodes[system.number[b]].name) for b in e.bodies]
            rows = slice(lam_at, lam_at + system.rows[k])
            pfaffian_rows = slice(mu_at, mu_at + system.pfaffian_rows[k])
            lam_at, mu_at = rows.stop, pfaffian_rows.stop
            members.append(Member(e, places, SimpleNamespace(**p), rows, pfaffian_rows))
        lam = self._multipliers(
            stage.lam_unknowns, method.lam_states, lam_at, elements, members, "rows", layout.lam, u.lam, unknown_symbols
        )
        mu = self._multipliers(
            stage.mu_unknowns, method.mu_states, mu_at, elements, members, "pfaffian_rows", layout.mu, u.mu, unknown_symbols
        )
        self.elements = Elements(nodes, members, self.h, self.t, lam, mu, method.covariant_inputs)
        self.unknown_symbols = ca.vertcat(ca.SX(0, 1), *unknown_symbols)
        self.columns = columns_of([self.unknown[s.element_hash()] for s in ca.vertsplit(self.unknown_symbols)], count)
        self._equations(stage, u, node_index, elements, members)

    def _bodies(self, system: System, members: list[int]) -> list[str]:
        """The names of the nodes."""
        return list(dict.fromkeys(name for k in members for name in _nodes(system, k)))

    def _multipliers(
        self,
        unknowns: Any,
        states: Any,
        rows: int,
        elements: Integers,
        members: list[Member],
        part: str,
        at_state: Any,
        at_unknown: Any,
        symbols: list[ca.SX],
    ) -> MultiplierView:
        view = MultiplierView(rows, (*states, *unknowns))
        for c, m in enumerate(members):
            own = getattr(m, part)
            if own.stop == own.start:
                continue
            for name in (*states, *unknowns):
                places = at_unknown if name in unknowns else at_state
                register(
                    self.unknown if name in unknowns else self.table,
                    getattr(view, name)[own],
                    np.array([places[k][name] for k in elements[:, c]]),
                    own.stop - own.start,
                )
        for name in states:
            self.state_symbols.append(getattr(view, name))
        for name in unknowns:
            symbols.append(getattr(view, name))
        return view

    def _equations(self, stage: Stage, u: Unknowns, node_index: Integers, elements: Integers, members: list[Member]) -> None:
        """Rows that are not identically zero, their numbers, and the matrix by the chain rule over the cuts."""
        e = self.elements
        equations = stage.residual(e)
        expressions: list[ca.SX] = []
        numbers: list[Integers] = []
        for name in stage.unknowns:
            columns = equations.get(name, [ca.SX.zeros(n.group.dim) for n in e.nodes])
            for a, (view, column) in enumerate(zip(e.nodes, columns, strict=True)):
                if self._owns(a):
                    column = column + stage.node_residual(view, e.h).get(name, 0)
                base = np.array([u.node[i][name] for i in node_index[:, a]])
                for c in range(view.group.dim):
                    expressions.append(column[c])
                    numbers.append(base + c)
        for names, part, places in ((stage.lam_unknowns, "rows", u.lam), (stage.mu_unknowns, "pfaffian_rows", u.mu)):
            for name in names:
                for c, m in enumerate(members):
                    own = getattr(m, part)
                    for k, row in enumerate(range(own.start, own.stop)):
                        expressions.append(equations[name][row])
                        numbers.append(np.array([places[i][name] for i in elements[:, c]]) + k)
        keep = [k for k, y in enumerate(expressions) if not y.is_zero()]
        R = ca.vertcat(ca.SX(0, 1), *(expressions[k] for k in keep))
        self.rows = columns_of([numbers[k] for k in keep], len(elements))
        #: The same with symbols for moved configurations and relative motions.
        self.named = R
        J = e.matrix(R, self.unknown_symbols)
        R, J, *arguments = e.resolve([R, J, *(probe.arguments for probe in e.probes)])
        for probe, argument in zip(e.probes, arguments, strict=True):
            probe.arguments = argument
        self.residual, self.jacobian = R, J

    def _owns(self, a: int) -> bool:
        """Whether these elements bring the equations a node has by itself: those that hold its mass do."""
        return any(m.element.mass is not None and m.places == [a] for m in self.elements.members)

    def all_symbols(self) -> list[ca.SX]:
        """h, t, states, parameters and unknowns: everything the formulas may contain."""
        parameters = [p for m in self.elements.members for p in vars(m.parameters).values()]
        return [self.h, self.t, *self.state_symbols, *parameters, self.unknown_symbols]

    def values(self, i: int, S: Array, x: Array) -> list[Array]:
        """Their values for instance i, from the states S and the unknowns x (in their own numbering)."""
        out = []
        for symbol in self.all_symbols()[:-1]:
            out.append(S[[int(self.table[s.element_hash()][i]) for s in ca.vertsplit(symbol)]] if symbol.numel() else np.zeros(0))
        return [*out, x[self.columns[i]]]

    def inputs(self, outputs: list[ca.SX], at: int, place: Integers) -> tuple[list[ca.SX], Integers]:
        """The symbols that occur and where their values are, per instance."""
        symbols = ca.symvar(ca.vertcat(*(ca.vec(y) for y in outputs)))
        columns = []
        for s in symbols:
            key = s.element_hash()
            columns.append(self.table[key] if key in self.table else at + place[self.unknown[key]])
        return symbols, columns_of(columns, len(self.rows))


def columns_of(columns: list[Integers], rows: int) -> Integers:
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((rows, 0), dtype=np.int64)


def register(table: dict[int, Integers], symbol: ca.SX, base: Integers, n: int) -> None:
    for c in range(n):
        table[symbol[c].element_hash()] = base + c


def _nodes(system: System, element: int) -> list[str]:
    """The names of the nodes that carry the bodies of an element."""
    bodies = system.elements[element].bodies
    return list(dict.fromkeys(system.nodes[system.number[b]].name for b in bodies if b != Ground.name))


def packs_of(system: System, n: int) -> list[list[list[int]]]:
    """Elements to be evaluated together: sets with equal formulas, each a list of instances, each a list of elements."""
    if n <= SMALL:
        return [[list(range(len(system.elements)))]]
    by_nodes: dict[tuple[str, ...], list[int]] = {}
    for k in range(len(system.elements)):
        by_nodes.setdefault(tuple(_nodes(system, k)), []).append(k)
    sets: dict[Any, list[list[int]]] = {}
    for bodies, members in by_nodes.items():
        nodes = tuple(system.nodes[system.number[b]].signature() for b in bodies)
        places = {b: i for i, b in enumerate(bodies)}
        formulas = tuple((system.elements[k].signature(), tuple(places.get(b, b) for b in system.elements[k].bodies)) for k in members)
        sets.setdefault((nodes, formulas), []).append(members)
    return list(sets.values())
