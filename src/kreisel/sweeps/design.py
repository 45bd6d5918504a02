"""Designs: which points of a space of parameters are looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = dict[str, Any]
#: Some points, or what is known of them: a list for each name, with an entry for each point.
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Design:
    """Points in a space of named parameters: all combinations of some values (:meth:`grid`), a list (:meth:`table`), or random ones
    (:meth:`random`). Points are numbered; the last parameter of a grid runs fastest.

    >>> design = Design.grid(damping=[0, 1, 2], step=[0.01, 0.02])
    >>> len(design), design.shape, design[3]
    (6, (3, 2), {'damping': 1, 'step': 0.02})
    >>> Design.random(100, seed=1, damping=(0, 500))[7] == Design.random(100, seed=1, damping=(0, 500))[7]
    True
    """

    values: dict[str, list[Any]]
    is_grid: bool

    @classmethod
    def grid(cls, **parameters: Iterable[Any]) -> Design:
        """All combinations of the given values."""
        return cls(_columns(parameters), True)

    @classmethod
    def table(cls, **columns: Iterable[Any]) -> Design:
        """The points of a table, given by its columns."""
        values = _columns(columns)
        lengths = {name: len(column) for name, column in values.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a table have one length, got {lengths}")
        return cls(values, False)

    @classmethod
    def random(cls, count: int, *, seed: int = 0, **ranges: Sequence[float]) -> Design:
        """Independent points, each parameter uniform in its range (low, high). The same seed gives the same points, and a longer design
        begins with the points of a shorter one."""
        if count < 1:
            raise ValueError(f"a random design has at least one point, got {count}")
        bounds = {}
        for name, given in ranges.items():
            if np.shape(given) != (2,) or not np.all(np.isfinite(given)):
                raise ValueError(f"{name}: a range is (low, high), got {given!r}")
            bounds[name] = given
        low, high = (np.array([b[k] for b in bounds.values()]) for k in range(2))
        drawn = low + (high - low) * np.random.default_rng(seed).random((count, len(bounds)))
        return cls.table(**dict(zip(bounds, drawn.T, strict=True)))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of values of a grid; of a list, the number of its points."""
        return tuple(map(len, self.values.values())) if self.is_grid else (len(next(iter(self.values.values()))),)

    def __len__(self) -> int:
        return prod(self.shape)

    def __getitem__(self, number: int) -> Point:
        point = {}
        for name, column in reversed(self.values.items()):
            number, at = divmod(number, len(column)) if self.is_grid else (number, number)
            point[name] = column[at]
        return {name: point[name] for name in self.values}

    def some(self, numbers: Sequence[int]) -> Columns:
        """Some of the points, by columns.

        >>> Design.grid(damping=[0, 1, 2], step=[0.01, 0.02]).some([2, 3])
        {'damping': [1, 1], 'step': [0.01, 0.02]}
        """
        at = np.unravel_index(np.array(numbers, dtype=np.int64), self.shape)
        places = at if self.is_grid else at * len(self.values)
        return {name: [column[i] for i in own.tolist()] for (name, column), own in zip(self.values.items(), places, strict=True)}

    def coordinates(self) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
        """Of a labelled array: dimensions and values of each parameter; what is neither number nor word is told by its words."""
        return {name: ((name,) if self.is_grid else ("point",), labels(column)) for name, column in self.values.items()}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Of a labelled array."""
        return self.names if self.is_grid else ("point",)

    def digest(self) -> dict[str, Any]:
        """What distinguishes designs, for files: kind, shape, and a check sum of the values of each parameter."""
        sums = {name: hashlib.sha256(repr([_plain(v) for v in column]).encode()).hexdigest()[:16] for name, column in self.values.items()}
        return {"kind": "grid" if self.is_grid else "table", "shape": list(self.shape), "values": sums}


def design_of(given: Design | Mapping[str, Iterable[Any]]) -> Design:
    """A design; a mapping is a grid."""
    if isinstance(given, Design):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"a design is a kr.Design or a dictionary {{parameter: values}}, got {type(given).__name__}")
    return Design.grid(**given)


def _columns(parameters: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    if not parameters:
        raise ValueError("a design needs at least one parameter with its values")
    columns = {}
    for name, given in parameters.items():
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"{name}: the values of a design are a sequence, got {given!r}")
        if isinstance(given, np.ndarray) and given.ndim == 1:
            columns[name] = given.tolist()
        else:
            columns[name] = [v.item() if isinstance(v, np.generic) else v for v in given]
        if not columns[name]:
            raise ValueError(f"{name}: the sequence of values is empty, so the design has no points")
    return columns


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def labels(column: Sequence[Any]) -> NDArray[Any]:
    """Numbers or words as an array; everything else by its words."""
    kinds = set(map(type, column))
    if kinds == {str} or kinds <= {bool, int, float}:
        return np.array(column)
    return np.array([str(_plain(v)) for v in column])
