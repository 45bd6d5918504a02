"""Starts: states that satisfy the constraints, with the accelerations and multipliers that belong to them. One or many at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.engine import driver
from kreisel.mechanics.system import System
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import Layout
from kreisel.simulation.prepare import Prepared
from kreisel.simulation.program import Program
from kreisel.simulation.solution import State
from kreisel.simulation.status import InconsistentStart, SingularStart, Status

Array = NDArray[np.float64]
Errors = dict[int, Exception]

# A start may violate the constraints by this much; beyond, it is a mistake.
CONSISTENT = 1e-8


def start(
    prepared: Prepared,
    layouts: list[Layout],
    steps: Sequence[float],
    initial: Any = None,
    acceleration: Any = None,
    project: bool = False,
    inputs: Array | None = None,
    which: NDArray[np.int64] | None = None,
    complete: bool = True,
) -> tuple[Array, Errors]:
    """The states at the start of runs of systems with equal formulas: given, projected if asked for, and (``complete``) completed with
    accelerations and multipliers. ``steps``: the first step of each run. ``inputs``: values of the controls. ``which``: the number of the
    layout of each run; by default there is one run for each. -> S (runs, prepared.size), and what is wrong, by the number of the run."""
    method = prepared.method
    which = np.arange(len(layouts)) if which is None else which
    S, wrong = _states(prepared, layouts, initial, project, inputs, complete)
    if acceleration is not None:
        for i in range(len(layouts)):
            _place_acceleration(layouts[i], S[i], acceleration)
    S = S[which]
    errors = {k: wrong[i] for k, i in enumerate(which.tolist()) if i in wrong} if wrong else {}

    def accelerations(layout: Layout, state: Array) -> Array:
        unsolved: Errors = {}
        found = _solve(
            prepared.program("accelerations"), [layout], state[None], np.zeros(1, dtype=np.int64), "find accelerations", unsolved
        )
        for error in unsolved.values():
            raise error
        return np.asarray(found[0])

    by_layout = [partial(accelerations, layout) for layout in layouts]
    for k, (i, h) in enumerate(zip(which.tolist(), steps, strict=True)):
        if k not in errors and complete:
            try:
                row = S[k]
                ready = method.prepare(layouts[i], row, h, by_layout[i])
                if ready is not row:
                    S[k] = ready
            except InconsistentStart as error:
                errors[k] = error
    return S, errors


def _states(
    prepared: Prepared, layouts: list[Layout], initial: Any, project: bool, inputs: Array | None, complete: bool
) -> tuple[Array, Errors]:
    """The states of the systems, without regard to steps, and what is wrong, by the number of the system."""
    S = np.zeros((len(layouts), prepared.size))
    errors: Errors = {}
    for i, layout in enumerate(layouts):
        S[i, : layout.size] = layout.start()
        place_initial(layout, S[i], initial)
        if inputs is not None:
            S[i, layout.inputs] = inputs
    S[:, 0] = 1.0
    n, size = prepared.layout.n_state, prepared.layout.size
    system = prepared.layout.system
    held = ("constraint", "constraint_rate", "pfaffian") if system.constrained or system.nonholonomic else ()
    gaps = {name: _largest(prepared.monitors.rows(name, S[:, :size])) for name in held}
    off = np.flatnonzero(np.max([np.zeros(len(S)), *gaps.values()], axis=0) > CONSISTENT * (1 + np.abs(S[:, :n]).max(axis=1)))
    for i in off.tolist() if not project else ():
        rate = max(gaps["constraint_rate"][i], gaps["pfaffian"][i])
        errors[i] = InconsistentStart(
            f"the start violates the constraints: positions by {gaps['constraint'][i]:.3g}, velocities by {rate:.3g}; "
            "simulate(..., project=True) moves it onto them, with the least kinetic energy of the change"
        )
    if len(off) and project:
        S[off] = _solve(prepared.program("projection"), layouts, S[off], off, "project the start onto the constraints", errors)
        for node, places in zip(prepared.layout.system.nodes, prepared.layout.nodes, strict=True):
            if "w" in places:
                S[off, places["w"] : places["w"] + node.group.dim] = S[off, places["v"] : places["v"] + node.group.dim]
    good = np.array([i for i in range(len(layouts)) if i not in errors], dtype=np.int64)
    if prepared.method.needs_acceleration and len(good) and complete:
        what = "find accelerations and multipliers of the start"
        S[good] = _solve(prepared.program("accelerations"), layouts, S[good], good, what, errors)
    return S, errors


def _place_acceleration(layout: Layout, S: Array, acceleration: Any) -> None:
    system = layout.system
    for name, a in acceleration.items():
        places = layout.nodes[_number(system, name)]
        a = np.asarray(a, dtype=float)
        dim = system.nodes[_number(system, name)].group.dim
        if a.shape != (dim,):
            raise ValueError(f"acceleration: '{name}' needs shape ({dim},), got {a.shape}")
        for target in set(layout.method.acceleration_targets[0]):
            S[places[target] : places[target] + len(a)] = a


def place_initial(layout: Layout, S: Array, initial: Any) -> None:
    """Writes another start than the system's own into the state S."""
    system = layout.system
    if initial is None:
        return
    given: dict[str, Any]
    if isinstance(initial, State):
        given, at_q, at_v = {}, 0, 0
        for node in system.nodes:
            given[node.name] = initial.q[at_q : at_q + node.group.n_params], initial.v[at_v : at_v + node.group.dim]
            at_q, at_v = at_q + node.group.n_params, at_v + node.group.dim
    else:
        given = dict(initial)
    for name, (q, v) in given.items():
        carrier = system.nodes[_number(system, name)].name
        if name != carrier:
            raise ValueError(f"initial: '{name}' is carried by '{carrier}'; give the coordinates of that")
        node, places = system.nodes[_number(system, name)], layout.nodes[_number(system, name)]
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        if q.shape != (node.group.n_params,) or v.shape != (node.group.dim,):
            wanted = f"q of shape ({node.group.n_params},) and v of shape ({node.group.dim},)"
            raise ValueError(f"initial: '{name}' needs {wanted}, got {q.shape} and {v.shape}")
        node.group.inverse(q)
        S[places["q"] : places["q"] + len(q)] = q
        for state in ("v", "w"):
            if state in places:
                S[places[state] : places[state] + len(v)] = v


def _number(system: System, name: str) -> int:
    if name not in system.number:
        raise ValueError(f"there is no body '{name}'; there are {sorted(system.number)}")
    return system.number[name]


def _largest(a: Array) -> Array:
    return np.asarray(np.max(np.abs(a), axis=1, initial=0.0))


def _solve(program: Program, layouts: list[Layout], S: Array, numbers: NDArray[np.int64], what: str, errors: Errors) -> Array:
    """Solves equations once for each of some systems, without a step in time."""
    size = program.layout.size
    full = np.zeros((len(S), program.size))
    full[:, :size] = S[:, :size]
    count = len(S)
    steps, times = np.arange(count + 1), np.repeat(S[:, 1], 2)
    options = Newton().options(inexact=bool(program.layout.system.black_boxes))
    stats = np.zeros((count, 8), dtype=np.int64)
    codes, failures = program.run_each(full, steps, np.ones(count), times, program.tolerances(1e-13, 1e-13), options, stats)
    for k in np.flatnonzero(codes != driver.DONE):
        status, culprit = explain(program, layouts[numbers[k]], failures[k], int(codes[k]), S[k])
        kind = SingularStart if codes[k] == driver.SINGULAR else InconsistentStart
        errors[int(numbers[k])] = kind(f"cannot {what}: {status.value}{culprit}")
    out = S.copy()
    out[:, :size] = full[:, :size]
    return out


def explain(program: Program, layout: Layout, failure: NDArray[np.int64], code: int, S: Array) -> tuple[Status, str]:
    """What went wrong, in the user's words."""
    _, stage, column = failure
    if code == driver.SINGULAR:
        owner = program.owner(int(stage), int(column) - 1)
        return Status.SINGULAR, f" (at {owner})"
    if code == driver.NOT_FINITE:
        from kreisel.simulation.diagnose import not_finite

        culprits = not_finite(layout, S)
        return Status.NOT_FINITE, f": {', '.join(culprits)}" if culprits else ""
    if code == driver.TOO_FAR:
        return Status.TOO_FAR, f" ('{layout.system.nodes[int(column)].name}')"
    return Status.NOT_CONVERGED, ""
