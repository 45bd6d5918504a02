"""From a system and a method to the tables of the driver, and what it takes to run them."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.engine import driver, linear
from kreisel.engine.native import aligned
from kreisel.methods.base import Stage
from kreisel.methods.elements import MultiplierView, NodeView
from kreisel.simulation.packs import Layout, PackView, Unknowns, columns_of, packs_of, register
from kreisel.symbolic import compile

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Instances per kernel call, at most.
LANES = 8


@dataclass
class _Kernels:
    """Table rows in the making."""

    ops: list[list[int]] = field(default_factory=list)
    gather: list[Integers] = field(default_factory=list)
    scatter: list[Integers] = field(default_factory=list)
    n_gather: int = 0
    n_scatter: int = 0
    longest: int = 8

    def add(
        self,
        inputs: list[ca.SX],
        outputs: list[ca.SX],
        sources: Integers,
        targets: list[Integers],
        waste: list[int],
        to_state: bool = False,
    ) -> None:
        """One operation: ``sources`` (instances, inputs) and per output ``targets`` (instances, entries) are indices."""
        instances = len(sources)
        lanes = 1
        while lanes < LANES and lanes < instances:
            lanes *= 2
        f = ca.Function("k", [ca.vertcat(ca.SX(0, 1), *inputs)], [ca.vertcat(*ca.cse(outputs))])
        self.call(compile(f, lanes).address, lanes, sources, targets, waste, to_state)

    def call(self, address: int, lanes: int, sources: Integers, targets: list[Integers], waste: list[int], to_state: bool) -> None:
        """One operation by machine code that is there already."""
        instances = len(sources)
        blocks = -(-instances // lanes)
        row = [address, blocks, sources.shape[1] * lanes, self.n_gather]
        self._append(self.gather, sources, lanes, None)
        self.n_gather += blocks * sources.shape[1] * lanes
        for k in range(2):
            target = targets[k] if k < len(targets) else np.zeros((instances, 0), dtype=np.int64)
            row += [target.shape[1] * lanes, self.n_scatter]
            self._append(self.scatter, target, lanes, waste[k] if k < len(waste) else 0)
            self.n_scatter += blocks * target.shape[1] * lanes
        self.ops.append([*row, int(to_state)])
        self.longest = max(self.longest, row[2], sum(t.shape[1] for t in targets) * lanes)

    def _append(self, to: list[Integers], index: Integers, lanes: int, waste: int | None) -> None:
        """Padding lanes repeat the last instance and write to the waste bin."""
        pad = -len(index) % lanes
        filler = np.repeat(index[-1:], pad, axis=0) if waste is None else np.full((pad, index.shape[1]), waste)
        full = np.concatenate([index, filler])
        full = full.reshape(len(full) // lanes, lanes, index.shape[1])
        to.append(full.transpose(0, 2, 1).ravel().astype(np.int64))


class Program:
    """The tables for a sequence of stages, and the memory to run them. ``steps``: whether they are a step in time, which elements may
    remember."""

    def __init__(
        self,
        layout: Layout,
        stages: tuple[Stage, ...],
        guess: Any = "extrapolated",
        solver: str = "auto",
        events: tuple[Any, ...] = (),
        steps: bool = True,
    ) -> None:
        self.layout, self.guess = layout, guess
        system = layout.system
        self.kernels = _Kernels()
        self.plans: list[linear.Plan] = []
        rows: list[list[int]] = []
        at = layout.size
        self.places: list[Integers] = []
        self.owners: list[list[str]] = []
        for k, stage in enumerate(stages):
            self.reserved = 0
            unknowns = Unknowns(system, stage)
            row, plan = self._stage(stage, unknowns, at, solver, remember=steps and k == len(stages) - 1)
            rows.append(row)
            self.plans.append(plan)
            self.owners.append(unknowns.owners)
            at += unknowns.n + self.reserved
        self.first_event = at
        self.size = at + max(len(events), 0) + 1  # the last place is the waste bin
        self._waste_fix()
        self.watch = self._events(events)
        self.rows = rows
        self._lock = Lock()
        self._tables()

    # Building

    def _stage(self, stage: Stage, u: Unknowns, at: int, solver: str, remember: bool) -> tuple[list[int], linear.Plan]:
        layout = self.layout
        packs = packs_of(layout.system, u.n)
        made = []
        is_linear = is_constant = True
        entries: list[tuple[Integers, Integers]] = []
        for pack in packs:
            view = PackView(layout, stage, u, pack)
            self._reserve(view, at + u.n)
            e, R, J, X = view.elements, view.residual, view.jacobian, view.unknown_symbols
            if not R.numel():
                continue
            i, j = (np.array(k, dtype=np.int64) for k in J.sparsity().get_triplet())
            values = J.nz[:]
            if values.numel():
                is_linear &= not ca.depends_on(values, X)
                varying = [e.h, e.t, X, *view.state_symbols]
                is_constant &= not ca.depends_on(values, ca.vertcat(*varying))
                entries.append((view.rows[:, i].ravel(), view.columns[:, j].ravel()))
            made.append((view, R, values, i, j))
        rows = np.concatenate([a for a, _ in entries])
        columns = np.concatenate([b for _, b in entries])
        plan = linear.plan(u.n, rows, columns, u.blocks, solver)
        place = plan.place
        self.places.append(place)
        ranges = [len(self.kernels.ops)]

        self._local(stage, u, at, place, predict=True)
        ranges.append(len(self.kernels.ops))
        # Rows that do not depend on the unknowns are evaluated once per step.
        for view, R, _, i, _ in made:
            depends = np.zeros(R.numel(), dtype=bool)
            depends[i] = True
            view.depends = depends
            fixed = np.flatnonzero(~depends)
            if fixed.size:
                self._add(view, [R[fixed.tolist()]], at, place, [place[view.rows[:, fixed]]], [u.n])
        ranges.append(len(self.kernels.ops))
        self._probe(made, at, place)
        for view, R, _, _, _ in made:
            live = np.flatnonzero(view.depends)
            if live.size:
                self._add(view, [R[live.tolist()]], at, place, [place[view.rows[:, live]]], [u.n])
        ranges.append(len(self.kernels.ops))
        self._probe(made, at, place)
        for view, R, values, i, j in made:
            live = np.flatnonzero(view.depends)
            if live.size:
                where = np.asarray(plan.index(view.rows[:, i], view.columns[:, j]))
                self._add(view, [R[live.tolist()], values], at, place, [place[view.rows[:, live]], where], [u.n, plan.waste])
        ranges.append(len(self.kernels.ops))
        guard = at + u.n + self.reserved
        self.reserved += self._local(stage, u, at, place, predict=False, guard=guard)
        if remember:
            for view, *_ in made:
                self._remember(view)
        ranges.append(len(self.kernels.ops))
        return [u.n, at, int(is_linear), int(is_constant and is_linear), *ranges, guard, at + u.n + self.reserved], plan

    def _add(self, view: PackView, outputs: list[ca.SX], at: int, place: Integers, targets: list[Integers], waste: list[int]) -> None:
        symbols, sources = view.inputs(outputs, at, place)
        self.kernels.add(symbols, outputs, sources, targets, waste)

    def _local(self, stage: Stage, u: Unknowns, at: int, place: Integers, predict: bool, guard: int = 0) -> int:
        """First guesses and updates: node by node, constraint by constraint.

        With an update, how far each node is from a full turn goes to S from ``guard`` on. -> how many such numbers there are.
        """
        guarded = 0
        system, layout, method = self.layout.system, self.layout, self.layout.method
        jobs: dict[Any, tuple[Any, list[tuple[dict[str, int], dict[str, int]]]]] = {}
        for i, node in enumerate(system.nodes):
            jobs.setdefault(("node", node.signature()), (node, []))[1].append((layout.nodes[i] | {"guard": guard + i}, u.node[i]))
        for kind, rows, places, unknown in (("lam", system.rows, layout.lam, u.lam), ("mu", system.pfaffian_rows, layout.mu, u.mu)):
            for k, n in enumerate(rows):
                if n:
                    jobs.setdefault((kind, n), (n, []))[1].append((places[k], unknown[k]))
        h = ca.SX.sym("h")
        for (kind, _), (what, instances) in jobs.items():
            if kind == "node":
                view: Any = NodeView(what, method.states, stage.unknowns)
                names = {"q": what.group.n_params} | {name: what.size(name) for name in method.states}
                unknown_names, size = stage.unknowns, what.group.dim
                guess = self._guess(stage, view, h) if predict else stage.update(view, h)
                increment = None if predict else stage.increment(view, h)
                if increment is not None:
                    guess = guess | {"guard": 2 * np.pi - what.group.turn(increment)}
                    guarded = len(system.nodes)
            else:
                states = method.lam_states if kind == "lam" else method.mu_states
                unknown_names = stage.lam_unknowns if kind == "lam" else stage.mu_unknowns
                view = MultiplierView(what, (*states, *unknown_names))
                names, size = dict.fromkeys(states, what), what
                hook = ("start_" if predict else "update_") + ("multipliers" if kind == "lam" else "pfaffian")
                guess = getattr(stage, hook)(view, h)
            if predict:
                guess = {name: guess.get(name, ca.SX.zeros(size)) for name in unknown_names}
            if not guess:
                continue
            table = {h.element_hash(): np.zeros(len(instances), dtype=np.int64)}
            for name, n in names.items():
                register(table, getattr(view, name), np.array([s[name] for s, _ in instances]), n)
            for name in unknown_names:
                base = np.array([x[name] for _, x in instances])
                for c in range(size):
                    table[getattr(view, name)[c].element_hash()] = at + place[base + c]
            targets = []
            for name, y in guess.items():
                n = y.numel()
                if predict:
                    base = np.array([x[name] for _, x in instances])
                    targets.append(at + place[base[:, None] + np.arange(n)])
                else:
                    targets.append(np.array([s[name] for s, _ in instances])[:, None] + np.arange(n))
            out = ca.densify(ca.vertcat(*guess.values()))
            symbols = ca.symvar(out)
            sources = columns_of([table[s.element_hash()] for s in symbols], len(instances))
            self.kernels.add(symbols, [out], sources, [np.concatenate(targets, axis=1)], [-1])
        return guarded

    def _reserve(self, view: PackView, at: int) -> None:
        """Room in S for the arguments and values of forces that are no formulas, behind the unknowns of the stage."""
        for probe in view.elements.probes:
            n, d = probe.arguments.numel(), probe.symbol.numel()
            base = at + self.reserved + np.arange(len(view.instances)) * (n + d)
            self.reserved += len(base) * (n + d)
            view.probe_places.append(base)
            register(view.table, probe.symbol, base + n, d)

    def _probe(self, made: list[Any], at: int, place: Integers) -> None:
        """Evaluates forces that are no formulas, for the present values of the unknowns."""
        for view, *_ in made:
            for probe, base in zip(view.elements.probes, view.probe_places, strict=True):
                n, d = probe.arguments.numel(), probe.symbol.numel()
                symbols, sources = view.inputs([probe.arguments], at, place)
                arguments, values = base[:, None] + np.arange(n), base[:, None] + n + np.arange(d)
                self.kernels.add(symbols, [ca.densify(probe.arguments)], sources, [arguments], [-1], to_state=True)
                assert probe.member.element.routine is not None
                address = probe.member.element.routine(n - 1 - d, d)
                self.kernels.call(address, 1, arguments, [values], [-1], to_state=True)

    def _remember(self, view: PackView) -> None:
        """What elements remember, from the configuration after the step."""
        e = view.elements
        for c, m in enumerate(e.members):
            if m.element.remember is None:
                continue
            # The states are new by now; so is the time.
            new = m.element.remember(m.parameters, e.t + e.h, *e._frames(m, e.q, e.get("v")))
            (out,) = e.resolve([ca.densify(ca.vertcat(*new.values()))])
            targets = np.concatenate(
                [
                    np.array([[self.layout.parameters[k][name]] for k in view.instances[:, c]]) + np.arange(y.numel())
                    for name, y in new.items()
                ],
                axis=1,
            )
            symbols, sources = view.inputs([out], 0, np.zeros(0, dtype=np.int64))
            self.kernels.add(symbols, [out], sources, [targets], [-1])

    def _guess(self, stage: Stage, view: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        if self.guess == "extrapolated":
            return stage.start(view, h)
        if self.guess == "zero":
            return {}
        return {name: ca.SX(self.guess(view, h)) for name in stage.unknowns}

    def _waste_fix(self) -> None:
        """Results of padding lanes that belong nowhere in S go to its last place."""
        for s in self.kernels.scatter:
            s[s == -1] = self.size - 1

    def _events(self, events: tuple[Any, ...]) -> Integers:
        first = len(self.kernels.ops)
        for k, event in enumerate(events):
            symbols, expression, sources = event
            self.kernels.add(symbols, [expression], sources, [np.array([[self.first_event + k]])], [self.size - 1])
        return np.array([first, len(self.kernels.ops), self.first_event, len(events)], dtype=np.int64)

    def _tables(self) -> None:
        k = self.kernels
        self.ops = np.array(k.ops, dtype=np.int64).reshape(-1, driver.OPERATION_COLUMNS)
        self.gather = np.concatenate([*k.gather, np.zeros(0, dtype=np.int64)])
        self.scatter = np.concatenate([*k.scatter, np.zeros(0, dtype=np.int64)])
        self.metas = np.stack([plan.meta for plan in self.plans])
        self.tables = np.concatenate([*(plan.tables for plan in self.plans), np.zeros(0, dtype=np.int64)])
        self.space = self._space(1)
        self._check()

    def _space(self, room: int) -> Space:
        """The table of stages, for factorisations that need ``room`` times the space first planned."""
        stages = np.zeros((len(self.rows), driver.STAGE_COLUMNS), dtype=np.int64)
        at = dict.fromkeys(("tables", "values", "work", "pivots"), 0)
        for s, (row, plan) in enumerate(zip(self.rows, self.plans, strict=True)):
            stages[s, : len(row)] = row
            stages[s, driver.META] = s
            for name, column, n in (
                ("tables", driver.TABLES, len(plan.tables)),
                ("values", driver.VALUES, plan.n_values),
                ("work", driver.WORK, room * plan.n_work),
                ("pivots", driver.PIVOTS, room * plan.n_pivots),
            ):
                stages[s, column], stages[s, column + 1] = at[name], at[name] + n
                at[name] += -(-n // 8) * 8 if name in ("values", "work") else n
        return Space(room, stages, at["values"], at["work"], at["pivots"])

    def memory(self) -> Memory:
        """What a run writes to; one per thread."""
        longest = max(self.kernels.longest, self.size, max(p.n for p in self.plans) + 32) + 8
        memory = Memory(
            buffers=aligned(6 * (-(-longest // 8) * 8)).reshape(6, -1),
            have=np.zeros(len(self.plans), dtype=np.int64),
            stats=np.zeros(8, dtype=np.int64),
            failure=np.zeros(3, dtype=np.int64),
        )
        memory.fit(self.space)
        return memory

    def run(
        self,
        S: Array,
        hs: Array,
        ts: Array,
        begin: int,
        end: int,
        tolerances: Array,
        options: Array,
        memory: Memory,
        every: int = 0,
        records: Array | None = None,
        watched: bool = True,
        inputs: Array | None = None,
    ) -> int:
        """Steps begin to end, events ``watched`` or not; ``inputs``: values of the controls per step. -> a code of the driver.

        A factorisation that asks for more room than planned gets it, and the step is taken again.
        """
        m = memory
        places = self.layout.inputs if inputs is not None else np.zeros(0, dtype=np.int64)
        watch = self.watch if watched else 0 * self.watch
        while True:
            if m.space is not self.space:
                m.fit(self.space)
            code = int(
                driver.drive(
                    begin, end, hs, ts, S, self.layout.n_state, self.ops, self.gather, self.scatter, m.space.stages, self.metas,
                    self.tables, m.values, m.work, m.pivots, tolerances, options, m.have, m.buffers, every,
                    np.zeros((0, 0)) if records is None else records, watch, m.stats, m.failure, places,
                    np.zeros((0, 0)) if inputs is None else inputs,
                )
            )  # fmt: skip
            if code != driver.NO_ROOM:
                return code
            begin = int(m.failure[0])
            self._enlarge(m.space)

    def run_each(
        self,
        S: Array,
        starts: Integers,
        hs: Array,
        ts: Array,
        tolerances: Array,
        options: Array,
        stats: Integers,
        record: Record | None = None,
        span: tuple[int, int] | None = None,
        before: tuple[Integers, Integers] | None = None,
    ) -> tuple[Integers, Integers]:
        """Many runs in one call: run i begins at S[i] and takes the steps starts[i] to starts[i + 1] of hs, at the times ts (one more per
        run); stats[i] counts. ``record``: what to look at on the way. ``span``: of these steps, only those from the first number on and
        before the second. ``before``: the answer for earlier steps; runs that failed there stay as they are. -> codes of the driver, and
        the step and stage of failures."""
        codes, failures = before or (np.zeros(len(S), dtype=np.int64), np.zeros((len(S), 3), dtype=np.int64))
        begin, end = span or (0, len(hs))
        record = record or _NOTHING
        looks = record.looks
        n_state = self.layout.n_state
        longest = int(np.diff(record.rows).max(initial=0)) if looks.every else 0
        room, x = np.empty((longest, n_state)), np.empty(looks.room * driver.LOOK_ROWS)
        m = self.memory()
        done = 0
        while done < len(S):
            if m.space is not self.space:
                m.fit(self.space)
            done = int(
                driver.drive_each(
                    done, begin, end, starts, hs, ts, S, n_state, self.ops, self.gather, self.scatter, m.space.stages, self.metas,
                    self.tables, m.values, m.work, m.pivots, tolerances, options, m.have, m.buffers, looks.every, room, looks.table,
                    looks.sources, record.rows, record.seen, x, 0 * self.watch, stats, failures, codes,
                )
            )  # fmt: skip
            if done < len(S):
                self._enlarge(m.space)
        return codes, failures

    def _enlarge(self, space: Space) -> None:
        """Twice the space; unless another thread has seen to it."""
        with self._lock:
            if self.space is space:
                self.space = self._space(2 * space.room)

    def tolerances(self, atol: ArrayLike, rtol: ArrayLike) -> Array:
        """Absolute and relative tolerances per stage and unknown, in the order of the driver."""
        out = np.ones((2, len(self.plans), max(p.n for p in self.plans)))
        for k, given in enumerate((atol, rtol)):
            for s, plan in enumerate(self.plans):
                a = np.asarray(given, dtype=float)
                if a.ndim and len(a) != plan.n:
                    raise ValueError(f"tolerances must be numbers or arrays of the {plan.n} unknowns of a stage, got {len(a)}")
                out[k, s, : plan.n] = a[plan.order] if a.ndim else a
        return out

    def owner(self, stage: int, unknown: int) -> str:
        """Whom an unknown of a stage belongs to."""
        return self.owners[stage][unknown]

    def _check(self) -> None:
        """Indices in range and no two results of an assignment in one place: wrong tables would crash the interpreter, much later."""
        assert self.gather.size == 0 or (self.gather.min() >= 0 and self.gather.max() < self.size)
        for s, plan in enumerate(self.plans):
            row = self.space.stages[s]
            limits = {
                driver.GUESS: self.size,
                driver.CONSTANT_ROWS: plan.n + 1,
                driver.RESIDUAL: plan.n + 1,
                driver.MATRIX: plan.n + 1,
                driver.UPDATE: self.size,
            }
            for column in limits:
                written = []
                for op in self.ops[row[column] : row[column + 1]]:
                    limit = self.size if op[driver.TO_STATE] else limits[column]
                    n = op[driver.BLOCKS]
                    target = self.scatter[op[driver.SCATTER_FIRST] : op[driver.SCATTER_FIRST] + n * op[driver.N_FIRST]]
                    assert target.size == 0 or (target.min() >= 0 and target.max() < limit)
                    written.append(target)
                    if column == driver.MATRIX:
                        target = self.scatter[op[driver.SCATTER_SECOND] : op[driver.SCATTER_SECOND] + n * op[driver.N_SECOND]]
                        assert target.size == 0 or (target.min() >= 0 and target.max() < plan.n_values)
                if column in (driver.GUESS, driver.UPDATE) and written:
                    places = np.concatenate(written)
                    places = places[places != self.size - 1]
                    assert len(np.unique(places)) == len(places), "two operations write to one place"


@dataclass(frozen=True)
class Looks:
    """Functions of the state, one number per instance, to be evaluated every so many steps. ``table``, ``sources``: see the driver."""

    every: int
    table: Integers
    sources: Integers

    @property
    def instances(self) -> list[int]:
        """Of each function."""
        return [int(n) for n in self.table[:, driver.INSTANCES]]

    @property
    def room(self) -> int:
        """The most numbers that a function takes, for all instances."""
        return int(np.max(self.table[:, driver.INPUTS] * self.table[:, driver.INSTANCES], initial=0))


class Record:
    """What is seen on the way of many runs. ``rows``: where those of each run begin, and at last their number."""

    def __init__(self, looks: Looks, rows: Integers) -> None:
        self.looks, self.rows = looks, rows
        self.seen = np.zeros(int(rows[-1]) * sum(looks.instances))

    def values(self) -> list[Array]:
        """Of each function: (rows, instances). Zero where no run came to."""
        ends = np.cumsum([int(self.rows[-1]) * n for n in self.looks.instances])
        return [part.reshape(-1, n) for part, n in zip(np.split(self.seen, ends[:-1]), self.looks.instances, strict=True)]


_NOTHING = Record(Looks(0, np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64)), np.zeros(1, dtype=np.int64))


@dataclass(frozen=True)
class Space:
    """Where the matrices of all stages and their factorisations are. ``room``: how many times longer than first planned the space is."""

    room: int
    stages: Integers
    values: int
    work: int
    pivots: int


@dataclass
class Memory:
    """What a run writes to besides S and the records."""

    buffers: Array
    have: Integers
    stats: Integers
    failure: Integers
    values: Array = field(init=False)
    work: Array = field(init=False)
    pivots: Integers = field(init=False)
    space: Space = field(init=False)

    def fit(self, space: Space) -> None:
        """New space for the matrices; factorisations are lost."""
        self.space = space
        self.values, self.work = aligned(space.values + 8), aligned(space.work + 8)
        self.pivots = np.zeros(space.pivots + 1, dtype=np.int64)
        self.have[:] = 0
