"""The discrete problem: steps of a method, costs and conditions put together as a problem with stages, with names for its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.control.conditions import Condition, Cost, Joined, Target
from kreisel.control.moment import Moment
from kreisel.control.outcome import Row
from kreisel.control.stages import Bounds, End, Sizes, Stages
from kreisel.control.transcription import Transcription
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.simulation.packs import Layout
from kreisel.simulation.prepare import Prepared
from kreisel.simulation.reduction import Reduction
from kreisel.simulation.run import check
from kreisel.simulation.start import start

Array = NDArray[np.float64]
Limits = tuple[float | None, float | None]


class Discrete:
    """An optimal control problem by the steps of a method. ``horizon``: a number, or the bounds of a free one."""

    def __init__(
        self,
        system: System,
        method: Method,
        horizon: float | tuple[float, float],
        steps: int,
        initial: Any,
        end: Target,
        cost: Cost,
        bounds: Mapping[Joined, Limits],
        path: Sequence[Condition],
    ) -> None:
        check(system, method)
        self.steps, self.method, self.horizon = steps, method, horizon
        self.free = isinstance(horizon, tuple)
        self.reduction = Reduction(system, method, initial, project=False) if method.reduces else None
        self.system = self.reduction.system if self.reduction else system
        #: The system of solutions.
        self.shown = self.reduction.original if self.reduction else system
        self.h = (sum(horizon) / 2 if isinstance(horizon, tuple) else horizon) / steps
        self.transcription = tr = Transcription(self.system, method, self.free)
        start, gain = self._start(None if self.reduction else initial)
        symbols, before, after, controls = tr.motion()
        t = tr.k * tr.h
        now = Moment(self.system, self.shown, before, t, controls, steps * tr.h)
        later = Moment(self.system, self.shown, after, t + tr.h, controls, steps * tr.h)
        last, z = self._last()
        parts = list(tr.parts)
        states = ca.vertcat(*(ca.vertcat(q, v) for q, v in before))
        L = self._running(cost, now, later, states, tr.h)
        limits, conditions = self._bounds(bounds, path, controls)
        rows, lower, upper, ends = [], [], [], list(end.all(self.shown))
        self.path_names: list[str] = []
        for c in conditions:
            y, low, high = c.rows(now)
            rows.append(y)
            low, high = (np.repeat(b[None], steps, axis=0) for b in (low, high))
            if not ca.depends_on(y, ca.vertcat(*controls.values(), ca.SX(0, 1))):
                # The start is given; the end is one of the conditions there.
                low[0], high[0] = -np.inf, np.inf
                ends.append(c)
            lower.append(low)
            upper.append(high)
            self.path_names += [c.name] * y.numel()
        if rows or not L.is_zero():
            column = ca.vertcat(ca.SX(0, 1), *rows)
            parts.append(tr.part(column, tr.n_x + tr.n_z + np.arange(column.numel())[None], symbols, L))
        e, e_lower, e_upper, self.end_names = self._end(ends, last)
        E = sum((ca.SX(f(last)) for f in cost.final), start=ca.SX(0))
        self._end_without_controls(ca.vertcat(e, E), last)
        none = np.zeros((steps, 0))
        self.stages = Stages(
            Sizes(tr.n_z, tr.n_x, tr.n_u, len(self.path_names), e.numel()),
            parts,
            End(z, E, e),
            Bounds(limits, (np.hstack([none, *lower]), np.hstack([none, *upper])), (e_lower, e_upper)),
            start,
            np.arange(steps, dtype=float),
            tr.parameters(self.h),
            np.arange(tr.n_z) == tr.n_z - 1 if self.free else None,
            gain,
        )

    def _start(self, initial: Any) -> tuple[Array, Array | None]:
        """z_0, and how it depends on the first controls: where the method carries accelerations from step to step, these do."""
        tr = self.transcription
        layout = Layout(self.system, self.method)
        carried = {p[name] for p in layout.nodes for name in self.method.acceleration_targets[0]} & set(tr.places.tolist())
        prepared = Prepared(layout, steps=False)

        def at(inputs: Array) -> Array:
            found, errors = start(prepared, [layout], [self.h], initial, inputs=inputs, complete=bool(carried))
            for error in errors.values():
                raise error
            return np.concatenate([found[0][tr.places], [self.h] if self.free else []])

        z = at(np.zeros(len(layout.inputs)))
        if not carried:
            return z, None
        units = np.array([[float(name == control) for name in layout.controls] for control in tr.controls])
        gain = np.stack([at(u) - z for u in units], axis=1)
        twice = at(2 * units.sum(axis=0)) - z
        if np.abs(twice - 2 * gain.sum(axis=1)).max() > 1e-6 * (1 + np.abs(twice).max()):
            raise ValueError(
                f"{self.method} carries accelerations, and those of the start are not linear in the controls; take kr.RATTLie()"
            )
        return z, gain

    def _last(self) -> tuple[Moment, ca.SX]:
        """The end, by a column z of all states."""
        tr = self.transcription
        z = ca.SX.sym("z", tr.n_z)
        number = {int(p): i for i, p in enumerate(tr.places)}
        nodes = []
        for node, places in zip(self.system.nodes, tr.layout.nodes, strict=True):
            q, v = number[places["q"]], number[places["v"]]
            nodes.append((z[q : q + node.group.n_params], z[v : v + node.size("v")]))
        horizon = self.steps * (z[-1] if self.free else ca.SX(self.h))
        return Moment(self.system, self.shown, nodes, horizon, {name: ca.SX.sym(name) for name in tr.controls}, horizon), z

    def _running(self, cost: Cost, now: Moment, later: Moment, states: ca.SX, h: ca.SX) -> ca.SX:
        L = ca.SX(0)
        for f in cost.running:
            here = ca.SX(f(now))
            if here.numel() != 1:
                raise ValueError(f"a cost must be one number, got {here.shape}")
            L += h * (here + ca.SX(f(later))) / 2 if ca.depends_on(here, ca.vertcat(states, self.transcription.k)) else h * here
        return L

    def _bounds(
        self, bounds: Mapping[Joined, Limits], path: Sequence[Condition], controls: Mapping[str, Any]
    ) -> tuple[tuple[Array, Array], list[Condition]]:
        """Bounds of the controls, and all conditions of the path."""
        u = np.full(len(controls), -np.inf), np.full(len(controls), np.inf)
        conditions = []
        names = list(controls)
        for key, (low, high) in bounds.items():
            low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
            if not low <= high:
                raise ValueError(f"bounds of '{key}': the lower one, {low}, is above the upper one, {high}")
            if key in controls:
                i = names.index(key)  # type: ignore[arg-type]
                u[0][i], u[1][i] = low, high
                continue
            joint, name = (key, "") if isinstance(key, str) else key
            if not any(e.name == joint for e in self.shown.elements):
                raise ValueError(f"bounds: there is no control and no joint '{joint}'; there are the controls {names}")
            conditions.append(_bounded(joint, name, low, high))
        return u, [*conditions, *path]

    def _end(self, conditions: list[Condition], last: Moment) -> tuple[ca.SX, Array, Array, list[str]]:
        rows, lower, upper, names = [], [], [], []
        if isinstance(self.horizon, tuple):
            conditions = [*conditions, Condition("horizon", lambda s: s.horizon, *self.horizon)]
        for c in conditions:
            y, low, high = c.rows(last)
            rows.append(y)
            lower.append(low)
            upper.append(high)
            names += [c.name] * y.numel()
        none = np.zeros(0)
        return ca.vertcat(ca.SX(0, 1), *rows), np.concatenate([none, *lower]), np.concatenate([none, *upper]), names

    def _end_without_controls(self, formulas: ca.SX, last: Moment) -> None:
        for name, u in last.u.items():
            if ca.depends_on(formulas, u):
                raise ValueError(f"a final cost or a condition of the end depends on the control '{name}', which the end does not have")

    def name(self, row: Row) -> str:
        """What a row is about, in the user's words."""
        when = f"in step {row.step}"
        if row.kind == "e":
            return f"'{self.end_names[row.index]}'"
        if row.kind == "c":
            return f"'{self.path_names[row.index]}' {when}"
        if row.kind == "u":
            return f"the bounds of '{self.transcription.controls[row.index]}' {when}"
        return f"the equations of motion of {self.transcription.owner(row.kind, row.index)} {when}"


def _bounded(joint: str, name: str, low: float, high: float) -> Condition:
    """A joint coordinate between bounds. An angle is given within half a turn of their middle; of one bound, of a quarter turn beside."""
    inside = [b for b in (low, high) if np.isfinite(b)]
    near = float(np.mean(inside)) if len(inside) == 2 else (low + np.pi / 2 if np.isfinite(low) else high - np.pi / 2)
    return Condition(joint, lambda s: s.coordinate(joint, name, near), low, high)
