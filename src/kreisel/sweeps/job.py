"""What is done at a point: a model is made, simulated and measured. Whatever goes wrong there is an answer, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.fingerprint import look
from kreisel.mechanics.system import System
from kreisel.methods import Method
from kreisel.names import check_names, parameters_of
from kreisel.simulation.many import figures, simulate_each
from kreisel.simulation.newton import Newton
from kreisel.simulation.prepare import SYMBOLS, hashable
from kreisel.simulation.run import simulate
from kreisel.simulation.solution import Solution
from kreisel.sweeps.design import Columns, Point

Array = NDArray[np.float64]
Measure = Callable[[Solution], dict[str, Any]]

#: Status of a point whose simulation could not begin (a mass below zero, a start off the constraints), or whose measure failed.
REFUSED, UNMEASURED = "REFUSED", "UNMEASURED"


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


def evaluate(job: Job, points: Columns) -> Columns:
    """The answers at some points: the figures of the runs (:func:`kreisel.simulation.many.figures`), and what ``job.measure`` adds. What
    a point does not have is None."""
    count = len(next(iter(points.values())))
    answers: Columns = {"status": [None] * count, "message": [None] * count}
    with SYMBOLS:
        own = [name for name in points if name in job._own]
        methods, method_of = _different(job.method_at, points, [name for name in points if name not in (*own, "step", "until")], count)
        systems, system_of = _different(job.system_at, points, own, count)
        until, not_until = _numbers("until", points, job.until, count)
        step, not_step = _numbers("step", points, job.step, count)
        errors = not_step | not_until | _failures(systems, system_of) | _failures(methods, method_of)
        runs: dict[int, list[int]] = {}
        for i, k in enumerate(method_of):
            if i not in errors:
                runs.setdefault(k, []).append(i)
        for k, numbers in runs.items() if job.measure is not None else ():
            for i in numbers:
                try:
                    answer = _measured(job, methods[k], systems[system_of[i]], float(until[i]), float(step[i]))
                    _write(answers, count, [i], {name: [value] for name, value in answer.items()})
                except Exception as reason:
                    errors[i] = reason
    for k, numbers in runs.items() if job.measure is None else ():
        found, refused = simulate_each([systems[system_of[i]] for i in numbers], until[numbers], step[numbers], methods[k], job.newton)
        _write(answers, count, numbers, found)
        errors |= {numbers[i]: error for i, error in refused.items()}
    for i, error in errors.items():
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        answers["status"][i], answers["message"][i] = REFUSED, f"{kind}{error}"
    return answers


def _different(make: Callable[[Point], Any], points: Columns, names: list[str], count: int) -> tuple[list[Any], list[int]]:
    """What ``make`` gives for the different combinations of the values of some parameters, or the error; and which one each point has."""
    keys = zip(*(_keys(points[name]) for name in names), strict=True) if names else [()] * count
    numbers: dict[Any, int] = {}
    which = [numbers.setdefault(key, len(numbers)) for key in keys]
    made: list[Any] = []
    for i, k in enumerate(which):
        if k == len(made):
            try:
                made.append(make({name: points[name][i] for name in names}))
            except Exception as error:
                made.append(error)
    return made, which


def _keys(column: list[Any]) -> list[Any]:
    """What tells values apart. Numbers by their bits: 0.0 and -0.0 are equal and yet not the same."""
    if set(map(type, column)) == {float}:
        return list(np.array(column).view(np.int64).tolist())
    return [value if isinstance(value, Method) and hashable(value) else look(value) for value in column]


def _numbers(name: str, points: Columns, default: float | None, count: int) -> tuple[Array, dict[int, Exception]]:
    values = points.get(name, [default] * count)
    wrong = {kind for kind in set(map(type, values)) if kind is bool or not issubclass(kind, int | float)}
    errors: dict[int, Exception] = {}
    if wrong:
        errors = {i: ValueError(f"{name} must be a number, got {v!r}") for i, v in enumerate(values) if type(v) in wrong}
        values = [np.nan if i in errors else v for i, v in enumerate(values)]
    return np.array(values, dtype=float), errors


def _failures(made: list[Any], which: list[int]) -> dict[int, Exception]:
    failed = {k: error for k, error in enumerate(made) if isinstance(error, Exception)}
    return {i: failed[k] for i, k in enumerate(which) if k in failed} if failed else {}


def _write(answers: Columns, count: int, numbers: list[int], found: Columns) -> None:
    for name, values in found.items():
        if len(numbers) == count:
            answers[name] = values
            continue
        column = answers.setdefault(name, [None] * count)
        for i, value in zip(numbers, values, strict=True):
            column[i] = value


def _measured(job: Job, method: Method, system: System, until: float, step: float) -> dict[str, Any]:
    solution = simulate(system, until, step, method, newton=job.newton)
    answer = figures(solution)
    assert job.measure is not None
    try:
        found = {name: np.asarray(value).tolist() for name, value in job.measure(solution).items()}
    except Exception as error:
        return answer | {"status": UNMEASURED, "message": f"the measure failed: {type(error).__name__}: {error}"}
    return answer | found
