"""What is done at a point: a model is made, simulated and measured. Whatever goes wrong there is an answer, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kreisel.mechanics.system import System
from kreisel.methods import Method
from kreisel.names import check_names, parameters_of
from kreisel.simulation.many import figures, simulate_each
from kreisel.simulation.newton import Newton
from kreisel.simulation.prepare import SYMBOLS
from kreisel.simulation.run import simulate
from kreisel.simulation.solution import Solution
from kreisel.sweeps.design import Point

Measure = Callable[[Solution], dict[str, Any]]

#: Status of a point whose simulation could not begin (a mass below zero, a start off the constraints), or whose measure failed.
REFUSED, UNMEASURED = "REFUSED", "UNMEASURED"
#: So many recorded numbers at once, at most, wherever many runs go together.
NUMBERS = 4_000_000


@dataclass(frozen=True)
class Job:
    """A sweep without its points. ``model``: a system, or a function of parameters that makes one."""

    model: System | Callable[..., System]
    method: Method
    newton: Newton
    until: float | None
    step: float | None
    measure: Measure | None = None

    def check(self, names: Sequence[str]) -> None:
        """Refuses parameters that nothing has, or that both model and method have, and a step or an end that nobody gives."""
        own = sorted(self._own)
        theirs = [f.name for f in fields(self.method)]
        check_names(names, [*own, *theirs, "step", "until", "method"], "neither the model nor the method has a parameter")
        for name in names:
            if name in own and name in (*theirs, "step", "until", "method"):
                raise ValueError(f"'{name}' is a parameter of the model, but also of the method or the run; rename that of the model")
        for name in ("step", "until"):
            if getattr(self, name) is None and name not in names:
                raise ValueError(f"say {name}=..., or make '{name}' a parameter of the design")

    def words(self) -> dict[str, str]:
        """What distinguishes jobs, for files."""
        start = self.newton.start if isinstance(self.newton.start, str) else _name(self.newton.start)
        return {
            "model": repr(self.model) if isinstance(self.model, System) else _name(self.model),
            "method": repr(self.method),
            "newton": repr(replace(self.newton, start="zero")) + f" from {start}",
            "until": repr(self.until),
            "step": repr(self.step),
            "measure": "None" if self.measure is None else _name(self.measure),
        }

    def method_at(self, point: Point) -> Method:
        """The method of a point."""
        method = point.get("method", self.method)
        if not isinstance(method, Method):
            raise ValueError(f"method must be a method such as kr.RATTLie(), got {method!r}")
        given = {name: point[name] for name in point if name not in self._own and name in method.__dataclass_fields__}
        return replace(method, **given) if given else method

    def system_at(self, point: Point) -> System:
        """The system of a point."""
        if isinstance(self.model, System):
            return self.model
        return self.model(**{name: value for name, value in point.items() if name in self._own})

    @cached_property
    def _own(self) -> frozenset[str]:
        """The parameters of the model."""
        return frozenset() if isinstance(self.model, System) else frozenset(parameters_of(self.model))


def _name(f: Any) -> str:
    if isinstance(f, partial):
        given = [repr(a) for a in f.args] + [f"{k}={v!r}" for k, v in f.keywords.items()]
        return f"{_name(f.func)}({', '.join(given)})"
    return f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', repr(f))}"


def evaluate(job: Job, points: list[Point]) -> list[dict[str, Any]]:
    """The answers at some points: the figures of the runs (:func:`kreisel.simulation.many.figures`), and what ``job.measure`` adds."""
    answers: list[dict[str, Any]] = [{} for _ in points]
    together: dict[Method, list[tuple[int, System, float, float]]] = {}
    with SYMBOLS:
        systems: dict[Any, System] = {}
        own = job._own
        for i, point in enumerate(points):
            try:
                method = job.method_at(point)
                key = tuple([repr(v) for k, v in point.items() if k in own])
                if key not in systems:
                    systems[key] = job.system_at(point)
                run = systems[key], _number("until", point, job.until), _number("step", point, job.step)
                if job.measure is not None:
                    answers[i] = _measured(job, method, *run)
                else:
                    together.setdefault(method, []).append((i, *run))
            except Exception as error:
                answers[i] = _refused(error)
    for method, runs in together.items():
        for some in _portions(runs):
            numbers, made, until, step = zip(*some, strict=True)
            for i, answer in zip(numbers, simulate_each(made, until, step, method, job.newton), strict=True):
                answers[i] = _refused(answer) if isinstance(answer, Exception) else answer
    return answers


def _number(name: str, point: Point, default: float | None) -> float:
    value = point.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, got {value!r}")
    return float(value)


def _portions(runs: list[tuple[int, System, float, float]]) -> list[list[tuple[int, System, float, float]]]:
    """So few runs at a time that their records fit into the memory of a laptop."""
    portions: list[list[Any]] = [[]]
    room = NUMBERS
    for run in runs:
        _, system, until, step = run
        size = int(until / step + 2) * 8 * (system.n_params + system.dim) if step > 0 and np.isfinite(until / step) else 0
        if portions[-1] and size > room:
            portions.append([])
            room = NUMBERS
        portions[-1].append(run)
        room -= size
    return portions


def _measured(job: Job, method: Method, system: System, until: float, step: float) -> dict[str, Any]:
    solution = simulate(system, until, step, method, newton=job.newton)
    answer = figures(solution)
    assert job.measure is not None
    try:
        found = {name: np.asarray(value).tolist() for name, value in job.measure(solution).items()}
    except Exception as error:
        return answer | {"status": UNMEASURED, "message": f"the measure failed: {type(error).__name__}: {error}"}
    return answer | found


def _refused(error: Exception) -> dict[str, Any]:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return {"status": REFUSED, "message": f"{kind}{error}"}
