"""Any method as a transcription: its step as the equations of a stage.

A step of a method is a sequence of stages, each with unknowns x and equations R, and an update of the states. Here the stages of a step
are put one after the other: states of the step's start and all unknowns remain, z_{k+1} = U(z_k, x_k) is what the last update gives. Only
states that a step or a condition needs are kept; first guesses of Newton's method, for one, do not count. A horizon that is free is one
more state, the step h, which does not change.

On a group, the configuration q o exp(d) that a stage leads to is an unknown of its own, with this as its equation: else exp would stand in
every formula behind it, and second derivatives would be many times longer. So is the relative motion log(q_a^-1 q_b) of two nodes, in
which the segments of a beam are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.control.stages import Part
from kreisel.groups import R
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.methods.elements import MultiplierView, NodeView, Reached, Relation
from kreisel.simulation.packs import Layout, PackView, Unknowns, packs_of

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass
class Symbols:
    """Symbols and what they stand for: states by their places in S, unknowns of the step by their numbers; one per instance."""

    states: dict[int, Integers]
    unknowns: dict[int, Integers]

    def state(self, symbol: ca.SX, places: Any) -> None:
        for c in range(symbol.numel()):
            self.states[symbol[c].element_hash()] = np.asarray(places) + c

    def unknown(self, symbol: ca.SX, numbers: Any) -> None:
        for c in range(symbol.numel()):
            self.unknowns[symbol[c].element_hash()] = np.asarray(numbers) + c


class Transcription:
    """The steps of a method on a system, as parts of a problem with stages. ``free``: whether the horizon is free."""

    def __init__(self, system: System, method: Method, free: bool) -> None:
        self.system, self.method, self.free = system, method, free
        self.layout = Layout(system, method)
        self._refuse()
        self.h, self.k = ca.SX.sym("h"), ca.SX.sym("k")
        fractions = method.substeps()
        #: The stages of a step, each with its part of the step, and where in the step it begins.
        self.substages = [
            (stage, fraction, float(np.sum(fractions[:i]))) for i, fraction in enumerate(fractions) for stage in method.stages
        ]
        self.numbering = [Unknowns(system, stage) for stage, _, _ in self.substages]
        #: Numbers of the configurations that stages lead to, after their other unknowns; by node.
        self.moved: list[dict[int, int]] = []
        sizes = []
        for (stage, _, _), u in zip(self.substages, self.numbering, strict=True):
            self.moved.append({})
            n = u.n
            for i, node in enumerate(system.nodes):
                if not isinstance(node.group, R) and "q" in stage.update(NodeView(node, method.states, stage.unknowns), self.h):
                    self.moved[-1][i] = n
                    n += node.group.n_params
            sizes.append(n)
        self._relate(sizes)
        self.offsets = np.cumsum([0, *sizes])
        self.controls = list(system.controls)
        residuals = [*self._residuals(), *self._moves()]
        updates = list(self._updates())
        self._keep(residuals, updates)
        self._new = updates
        self.parts = [self.part(*residual) for residual in residuals] + [
            self.part(expression, self.n_x + self._numbers(place, expression.numel()), symbols)
            for places, symbols, new in updates
            for name, expression in new.items()
            for place in [places[name]]
            if place in self._number
        ]
        if free:
            row = np.array([[self.n_x + self.n_z - 1]])
            self.parts.append(self.part(self.h, row, Symbols({}, {})))

    def _relate(self, sizes: list[int]) -> None:
        """Numbers the relative motions in the packs of each stage, after its other unknowns, and adds these to their sizes."""
        self._views: list[list[PackView]] = []
        #: By stage, pack and relation: their numbers, (instances, numbers).
        self.related: list[dict[tuple[int, int], Integers]] = []
        #: By stage and node: the numbers of velocities that stages lead to.
        self.reached: list[dict[int, Integers]] = []
        for j, (stage, _, _) in enumerate(self.substages):
            u = self.numbering[j]
            views = [PackView(self.layout, stage, u, pack) for pack in packs_of(self.system, u.n)]
            self._views.append([view for view in views if view.named.numel()])
            self.related.append({})
            self.reached.append({})
            for a, view in enumerate(self._views[-1]):
                for b, named in enumerate(_named(view)):
                    n, count = named.symbol.numel(), len(view.instances)
                    self.related[-1][a, b] = numbers = sizes[j] + np.arange(n * count).reshape(count, n)
                    sizes[j] += n * count
                    for place, reached in view.elements.reached.items():
                        if named is reached:
                            index = (self.system.number[self._name(view, instance, place)] for instance in range(count))
                            self.reached[-1] |= dict(zip(index, numbers, strict=True))

    def _refuse(self) -> None:
        method, system = self.method, self.system
        if system.black_boxes:
            raise ValueError(f"'{system.black_boxes[0]}' is a plain function, without derivatives; write it as a formula")
        if method.outside or method.opening:
            why = "steps of its own choice" if method.outside else "another first step"
            raise ValueError(f"{method} takes {why}: it is no transcription; kr.BEM(), kr.RATTLie() and others are")

    # Sizes and numbers

    @property
    def n_z(self) -> int:
        return len(self.places) + self.free

    @property
    def n_x(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_u(self) -> int:
        return len(self.controls)

    def _numbers(self, place: int, n: int) -> Integers:
        return self._number[place] + np.arange(n)[None]

    # Equations

    def _residuals(self) -> Iterator[tuple[ca.SX, Integers, Symbols]]:
        """The equations of all stages of a step, pack by pack: expressions, their numbers, symbols."""
        system = self.system
        for j, (_, fraction, begin) in enumerate(self.substages):
            for number, view in enumerate(self._views[j]):
                symbols = Symbols({}, {})
                for s in ca.symvar(ca.vertcat(*(p for m in view.elements.members for p in vars(m.parameters).values()), ca.SX(0, 1))):
                    symbols.states[s.element_hash()] = view.table[s.element_hash()]
                symbols.unknowns |= {key: numbers + self.offsets[j] for key, numbers in view.unknown.items()}
                old, new = [view.h, view.t], [fraction * self.h, (self.k + begin) * self.h]
                for a, n in enumerate(view.elements.nodes):
                    index = [system.number[self._name(view, instance, a)] for instance in range(len(view.instances))]
                    before = self._node(index, j, symbols)
                    for name in ("q", *self.method.states):
                        old.append(getattr(n, name))
                        new.append(before[name])
                for kind, part, states in (("lam", "rows", self.method.lam_states), ("mu", "pfaffian_rows", self.method.mu_states)):
                    multipliers = getattr(view.elements, kind)
                    for c, m in enumerate(view.elements.members):
                        own = getattr(m, part)
                        if own.stop > own.start and states:
                            before = self._multipliers(kind, view.instances[:, c].tolist(), own.stop - own.start, j, symbols)
                            for name in states:
                                old.append(getattr(multipliers, name)[own])
                                new.append(before[name])
                equations, rows = [view.named], [view.rows + self.offsets[j]]
                for b, named in enumerate(_named(view)):
                    rows.append(self.offsets[j] + self.related[j][number, b])
                    symbols.unknown(named.symbol, rows[-1][:, 0])
                    equations.append(named.symbol - named.expression)
                equations = ca.substitute(self._written_out(equations, view, j, symbols), old, [ca.densify(y) for y in new])
                yield from ((equation, at, symbols) for equation, at in zip(equations, rows, strict=True))

    def _written_out(self, equations: list[ca.SX], view: PackView, j: int, symbols: Symbols) -> list[ca.SX]:
        """The equations of a pack, with configurations that the stage leads to as unknowns."""
        e = view.elements
        for _, turn in e.turns:
            equations = ca.substitute(equations, [turn.symbol], [turn.expression])
        for a, end in e.ends.items():
            index = [self.system.number[self._name(view, instance, a)] for instance in range(len(view.instances))]
            leads = index[0] in self.moved[j]
            if leads:
                n = e.nodes[a]
                stage = self.substages[j][0]
                leads = ca.is_equal(stage.update(n, view.h)["q"], end.expression, 100)
            if leads:
                symbols.unknown(end.symbol, [self.offsets[j] + self.moved[j][i] for i in index])
            else:
                equations = ca.substitute(equations, [end.symbol], [end.expression])
        return equations

    def _moves(self) -> Iterator[tuple[ca.SX, Integers, Symbols]]:
        """The equations of the configurations that stages lead to."""
        for j, (stage, fraction, _) in enumerate(self.substages):
            for i, number in self.moved[j].items():
                symbols = Symbols({}, {})
                before = self._node([i], j, symbols)
                view = self._view(i, j, before, symbols)
                q = self.system.nodes[i].group.symbol("q")
                symbols.unknown(q, [self.offsets[j] + number])
                yield q - stage.update(view, fraction * self.h)["q"], self.offsets[j] + number + np.arange(q.numel())[None], symbols

    def _view(self, i: int, j: int, before: dict[str, ca.SX], symbols: Symbols) -> NodeView:
        """A node within a stage, with these states."""
        stage = self.substages[j][0]
        view = NodeView(self.system.nodes[i], self.method.states, stage.unknowns)
        for name, value in before.items():
            setattr(view, name, value)
        for name in stage.unknowns:
            symbols.unknown(getattr(view, name), [self.offsets[j] + self.numbering[j].node[i][name]])
        return view

    def _name(self, view: PackView, instance: int, a: int) -> str:
        """The name of a node of a pack."""
        if instance == 0:
            return view.elements.nodes[a].node.name
        for c, m in enumerate(view.elements.members):
            if a in m.places:
                body = self.system.elements[view.instances[instance, c]].bodies[m.places.index(a)]
                return self.system.nodes[self.system.number[body]].name
        raise AssertionError("a node without an element")

    def motion(self) -> tuple[Symbols, list[tuple[ca.SX, ca.SX]], list[tuple[ca.SX, ca.SX]], dict[str, ca.SX]]:
        """Symbols for formulas of everything: q and v of all nodes before and after a step, and the controls."""
        symbols, before, after = Symbols({}, {}), [], []
        for i, node in enumerate(self.system.nodes):
            start = NodeView(node, self.method.states, ())
            now = self._node([i], len(self.substages), symbols, start)
            before.append((start.q, start.v))
            after.append((now["q"], now["v"]))
        controls = {name: ca.SX.sym(name) for name in self.controls}
        for name, symbol in controls.items():
            symbols.state(symbol, [self.layout.inputs[self.layout.controls.index(name)]])
        return symbols, before, after, controls

    def _node(self, index: list[int], upto: int, symbols: Symbols, start: NodeView | None = None) -> dict[str, ca.SX]:
        """The states of a node (of one, in all instances) before a substage, in symbols of the step's start and its unknowns."""
        node, method = self.system.nodes[index[0]], self.method
        start = NodeView(node, method.states, ()) if start is None else start
        now = {name: getattr(start, name) for name in ("q", *method.states)}
        for name, symbol in now.items():
            symbols.state(symbol, [self.layout.nodes[i][name] for i in index])
        for j, (stage, fraction, _) in enumerate(self.substages[:upto]):
            view = NodeView(node, method.states, stage.unknowns)
            for name, value in now.items():
                setattr(view, name, value)
            for name in stage.unknowns:
                symbols.unknown(getattr(view, name), [self.offsets[j] + self.numbering[j].node[i][name] for i in index])
            now |= stage.update(view, fraction * self.h)
            if index[0] in self.moved[j]:
                now["q"] = node.group.symbol("q")
                symbols.unknown(now["q"], [self.offsets[j] + self.moved[j][i] for i in index])
            if index[0] in self.reached[j]:
                now["v"] = ca.SX.sym("v", now["v"].numel())
                symbols.unknown(now["v"], [self.offsets[j] + self.reached[j][i][0] for i in index])
        return now

    def _multipliers(self, kind: str, index: list[int], rows: int, upto: int, symbols: Symbols) -> dict[str, ca.SX]:
        """The same for the multipliers of an element."""
        states = self.method.lam_states if kind == "lam" else self.method.mu_states
        start = MultiplierView(rows, states)
        now = {name: getattr(start, name) for name in states}
        for name, symbol in now.items():
            symbols.state(symbol, [getattr(self.layout, kind)[i][name] for i in index])
        for j, (stage, fraction, _) in enumerate(self.substages[:upto]):
            names = stage.lam_unknowns if kind == "lam" else stage.mu_unknowns
            view = MultiplierView(rows, (*states, *names))
            for name, value in now.items():
                setattr(view, name, value)
            for name in names:
                numbers = [self.offsets[j] + getattr(self.numbering[j], kind)[i][name] for i in index]
                symbols.unknown(getattr(view, name), numbers)
            update = stage.update_multipliers if kind == "lam" else stage.update_pfaffian
            now |= update(view, fraction * self.h)
        return now

    def _updates(self) -> Iterator[tuple[dict[str, int], Symbols, dict[str, ca.SX]]]:
        """The states after the step of each node and of the multipliers of each element: places in S, symbols, expressions."""
        every = len(self.substages)
        for i in range(len(self.system.nodes)):
            symbols = Symbols({}, {})
            yield self.layout.nodes[i], symbols, self._node([i], every, symbols)
        for kind, rows in (("lam", self.system.rows), ("mu", self.system.pfaffian_rows)):
            for i, n in enumerate(rows):
                places = getattr(self.layout, kind)[i]
                if n and places:
                    symbols = Symbols({}, {})
                    yield places, symbols, self._multipliers(kind, [i], n, every, symbols)

    # States that count

    def _keep(self, residuals: list[Any], updates: list[Any]) -> None:
        """Finds the states that the equations need: themselves, or for those they need."""
        n = self.layout.n_state
        needed: set[int] = {p["q"] for p in self.layout.nodes} | {p["v"] for p in self.layout.nodes}
        first: dict[int, int] = {}  # place of any entry of a state -> that of its first
        sizes: dict[int, int] = {}
        depends: dict[int, set[int]] = {}
        for places, _, new in updates:
            for name, expression in new.items():
                sizes[places[name]] = expression.numel()
                first |= {places[name] + c: places[name] for c in range(expression.numel())}
        for places, symbols, new in updates:
            for name, expression in new.items():
                depends[places[name]] = {first[p] for p in _places(expression, symbols)}
        memory = set(range(n - len(self.layout.memory_values), n))
        for expression, _, symbols in residuals:
            used = _places(expression, symbols)
            if used & memory:
                e = next(e for e, p in zip(self.system.elements, self.layout.parameters, strict=True) if used & memory & set(p.values()))
                raise ValueError(f"'{e.name}' follows an angle over full turns by memory, which a transcription has not")
            needed |= {first[p] for p in used if p < n}
        while more := {q for p in needed for q in depends[p]} - needed:
            needed |= more
        #: Places in S of the states.
        self.places = np.array([p + c for p in sorted(needed) for c in range(sizes[p])], dtype=np.int64)
        self._number = {int(p): i for i, p in enumerate(self.places)}

    def part(self, expression: ca.SX, at: Integers, symbols: Symbols, cost: ca.SX | None = None) -> Part:
        """Formulas with the columns of their symbols."""
        cost = ca.SX(0) if cost is None else cost
        control = {int(place): self.controls.index(name) for place, name in zip(self.layout.inputs, self.layout.controls, strict=True)}
        variables, columns, others, sources = [], [], [], []
        count = len(at)
        n_state = self.layout.n_state
        for s in ca.symvar(ca.vertcat(ca.vec(ca.densify(expression)), cost)):
            key = s.element_hash()
            if key in symbols.unknowns:
                variables.append(s)
                columns.append(self.n_z + symbols.unknowns[key])
            elif key == self.h.element_hash() and self.free:
                variables.append(s)
                columns.append(np.full(count, self.n_z - 1))
            elif key == self.h.element_hash():
                others.append(s)
                sources.append(np.ones(count, dtype=np.int64))
            elif key == self.k.element_hash():
                others.append(s)
                sources.append(np.zeros(count, dtype=np.int64))
            else:
                places = np.atleast_1d(symbols.states[key])
                if int(places[0]) in control:
                    variables.append(s)
                    columns.append(self.n_z + self.n_x + np.array([control[int(p)] for p in places]))
                elif places[0] >= n_state:
                    others.append(s)
                    sources.append(2 + places - n_state)
                else:
                    variables.append(s)
                    columns.append(np.array([self._number[int(p)] for p in places]))
        return Part(
            ca.vertcat(ca.SX(0, 1), *variables),
            _table(columns, count),
            ca.vertcat(ca.SX(0, 1), *others),
            _table(sources, count),
            ca.densify(expression),
            np.asarray(at, dtype=np.int64),
            cost,
        )

    def records(self, y: Array, end: Array, h: float) -> Array:
        """All states of the method at all times, (N + 1, n_state) as a solution has them, and the inputs of the steps before them."""
        steps, layout = len(y), self.layout
        S = np.zeros((steps + 1, layout.size))
        S[:, layout.n_state :] = layout.parameter_values
        S[:, 0], S[:, 1] = h, h * np.arange(steps + 1)
        S[:-1, self.places], S[-1, self.places] = y[:, : len(self.places)], end[: len(self.places)]
        x = y[:, self.n_z : self.n_z + self.n_x]
        for places, symbols, new in self._new:
            for name, expression in new.items():
                if places[name] in self._number:
                    continue
                used = ca.symvar(ca.vec(ca.densify(expression)))
                known = [s for s in used if s.element_hash() in symbols.unknowns or s.element_hash() == self.h.element_hash()]
                if len(known) < len(used):
                    continue
                values = [
                    x[:, symbols.unknowns[s.element_hash()][0]] if s.element_hash() in symbols.unknowns else np.full(steps, h)
                    for s in known
                ]
                f = ca.Function("state", [ca.vertcat(ca.SX(0, 1), *known)], [ca.densify(expression)])
                S[1:, places[name] : places[name] + expression.numel()] = np.array(f.map(steps)(np.array(values))).T
                S[0, places[name] : places[name] + expression.numel()] = S[1, places[name] : places[name] + expression.numel()]
        return S[:, : layout.n_state]

    def owner(self, kind: str, index: int) -> str:
        """Whose a row of R (or, of the new states, U) is."""
        if kind == "R":
            j = int(np.searchsorted(self.offsets, index, side="right")) - 1
            index -= int(self.offsets[j])
            if index < self.numbering[j].n:
                return str(self.numbering[j].owners[index])
            for (number, _), related in self.related[j].items():
                if index in related:
                    instance = self._views[j][number].instances[int(np.nonzero(related == index)[0][0])]
                    return f"'{self.system.elements[instance[0]].name}'"
            return next(f"'{self.system.nodes[i].name}'" for i, at in reversed(self.moved[j].items()) if at <= index)
        place = self.places[index] if index < len(self.places) else -1
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            if any(at <= place < at + (node.group.n_params if name == "q" else node.size(name)) for name, at in places.items()):
                return f"'{node.name}'"
        return "the multipliers"

    def parameters(self, h: float) -> Array:
        """The numbers that parts take: the step, and the parameters of all elements."""
        return np.concatenate([[h], self.layout.parameter_values])


def _named(view: PackView) -> list[Relation | Reached]:
    """Relative motions and velocities that are unknowns of their own."""
    return [*view.elements.relations.values(), *view.elements.reached.values()]


def _places(expression: ca.SX, symbols: Symbols) -> set[int]:
    """The places in S that a formula depends on, in any instance."""
    used = [symbols.states.get(s.element_hash()) for s in ca.symvar(ca.vec(ca.densify(expression)))]
    return {int(p) for places in used if places is not None for p in np.atleast_1d(places)}


def _table(columns: list[Integers], count: int) -> Integers:
    return np.stack([np.broadcast_to(c, count) for c in columns], axis=1).astype(np.int64) if columns else np.zeros((count, 0), np.int64)
