"""What a study is, and the list of all studies.

A study reproduces an experiment of a publication: a function of keyword options that runs it and gives a :class:`Result`. To add one,

1. write a function with keyword options, named as the parameters of the model and the method and with the values of the source as
   defaults, at a size that runs in seconds; its first line says what is shown;
2. let it return ``Result(numbers, arrays, draw)``: named plain numbers (and lists and dictionaries of them), arrays, and a function that
   draws on a figure;
3. put ``@study("author/name", source="where it stands")`` above it, and import its file in ``kreisel.studies``;
4. hold its numbers against the source in ``tests/verification``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.names import check_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution


@dataclass(frozen=True)
class Result:
    """What a study found: ``numbers`` by name (plain, ready for JSON), ``arrays`` by name, and how to ``draw`` them on a figure."""

    numbers: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    draw: Callable[[Figure], None] = lambda figure: None
    name: str = ""
    source: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """All but the arrays, as JSON knows it: infinite and undefined numbers become None."""
        return {"name": self.name, "source": self.source, "options": plain(self.options), "numbers": plain(self.numbers)}

    def save_figure(self, path: str) -> None:
        """Draws into a file; the ending says in which format."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 5.5), layout="constrained")
        figure.suptitle(f"{self.name}\n{self.source}", fontsize=10)
        self.draw(figure)
        figure.savefig(path, dpi=130)


@dataclass(frozen=True)
class Study:
    """A registered study."""

    name: str
    source: str
    function: Callable[..., Result]
    #: Names of further options: the parameters of the model, and of methods.
    further: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What is shown, in a line."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """Options and their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}

    def __call__(self, **options: Any) -> Result:
        check_names(options, dict.fromkeys([*self.options, *self.further]), f"{self.name} has no option")
        return self.function(**{name: fitting(name, value, self.options.get(name)) for name, value in options.items()})


def fitting(name: str, value: Any, default: Any) -> Any:
    """The value of an option, if it is of the kind of its default."""
    if default is None or value is None or isinstance(value, np.ndarray):
        return value
    if isinstance(default, tuple) and default:
        several = list(value) if isinstance(value, list | tuple) else [value]
        if not several:
            raise ValueError(f"{name} must not be empty")
        values = tuple(fitting(name, v, default if isinstance(v, list | tuple) else default[0]) for v in several)
        return values if isinstance(value, list | tuple) else values[0]
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False, got {value!r}")
        return value
    if isinstance(default, int | float):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise ValueError(f"{name} must be a number, got {value!r}")
        if isinstance(default, int) and value != int(value):
            raise ValueError(f"{name} must be a whole number, got {value!r}")
        return type(default)(value)
    if isinstance(default, str) and isinstance(value, int | float | list | tuple):
        raise ValueError(f"{name} must be a word, got {value!r}")
    return value


STUDIES: dict[str, Study] = {}


def study(name: str, source: str, further: Iterable[str] = ()) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Registers a function as a study.

    Its result then carries name, source and options. ``further``: what it takes besides its named options.
    """

    def register(function: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(function)
        def run(**options: Any) -> Result:
            defaults = STUDIES[name].options
            return replace(function(**options), name=name, source=source, options=defaults | options)

        STUDIES[name] = Study(name, source, run, tuple(further))
        return run

    return register


def find(name: str) -> Study:
    """The study of the given name; if there is none, the error says what exists."""
    check_names([name], sorted(STUDIES), "there is no study")
    return STUDIES[name]


def plain(value: Any) -> Any:
    """Numbers, lists and dictionaries as JSON knows them."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return repr(value)


def end_of_run(solution: Solution) -> dict[str, Any]:
    """The key figures of a simulation.

    Where each body is at the end and how fast (velocity as its group has it), energies, constraints, effort. Of the nodes of a beam or
    shell only the first and the last.
    """
    numbers = solution.summary()
    numbers["message"] = solution.message
    for what in ("position", "rotation", "velocity"):
        numbers[what] = {}
        for node in solution.system.prominent:
            try:
                numbers[what][node.name] = getattr(solution, what)(node.name)[-1].tolist()
            except TypeError:  # a coordinate that is no body
                numbers[what][node.name] = None
    return numbers


def fitted_order(steps: np.ndarray, errors: np.ndarray) -> float:
    """The slope of log(error) over log(step), by least squares."""
    if len(errors) < 2 or not np.all(np.isfinite(errors)) or np.any(errors <= 0):
        return float("nan")
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def largest(difference: np.ndarray) -> float:
    """The largest discrete L2 norm, sqrt(mean of squares), of all times (Hante, section 5.3, where the square is missing in print)."""
    return float(np.sqrt(np.mean(difference**2, axis=1)).max())


def last(difference: np.ndarray) -> float:
    """The same norm at the last time."""
    return float(np.sqrt(np.mean(difference[-1] ** 2)))


def error_axes(axes: Axes) -> None:
    """Logarithmic axes for errors over steps that are halved."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("step h in s")
