"""Inputs of actuators over a run: functions of time, or values that are constant in each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.system import System

Array = NDArray[np.float64]


def divide(system: System, controls: Mapping[str, Any] | None, steps: int) -> tuple[System, dict[str, Array]]:
    """The system with all inputs that are functions of time built in, and the values of the others per step.

    Inputs that are not given are zero.
    """
    given = dict(controls or {})
    for name in given:
        if name not in system.controls:
            raise ValueError(f"there is no control '{name}'; there are {system.controls}")
    functions = {name: u for name, u in given.items() if callable(u)}
    values = {}
    for name in system.controls:
        if name in functions:
            continue
        u = np.asarray(given.get(name, 0.0), dtype=float)
        if u.shape not in ((), (steps,)) or not np.all(np.isfinite(u)):
            raise ValueError(
                f"control '{name}' must be a number, a function of time, or {steps} finite numbers, one per step; got {u.shape}"
            )
        values[name] = np.broadcast_to(u, steps).astype(float)
    return system.driven(functions), values


def inputs(names: list[str], values: Mapping[str, Array], repeat: int) -> Array:
    """Values for the places of the inputs in S, one row per substep."""
    steps = len(next(iter(values.values()))) if values else 0
    return np.repeat(np.stack([values[name] for name in names], axis=1) if names else np.zeros((steps, 0)), repeat, axis=0)
