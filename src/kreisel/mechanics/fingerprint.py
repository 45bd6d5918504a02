"""What distinguishes the formulas of two systems: everything but the numbers that are parameters.

Systems with equal fingerprints share tables and machine code, whatever their parameters, memory and starts. A fingerprint never says
"equal" by mistake: what it cannot look into it takes by its identity, and keeps, so that no other object can have the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from kreisel.groups import Group
from kreisel.mechanics.system import System

#: What is numbers, and what is a name of its own in the fingerprint.
_NUMBERS = {"parameters", "memory", "q", "v", "name", "bodies"}


def fingerprint(system: System) -> Hashable | None:
    """Equal for systems that differ only in numbers; None for one with a plain function as a force, which belongs to its system.

    >>> import kreisel as kr
    >>> a, b, c = (kr.models.extended_top("SE3", stiffness=k, damping=d) for k, d in ((1.0, 2.0), (3.0, 4.0), (5.0, 0.0)))
    >>> fingerprint(a) == fingerprint(b), fingerprint(a) == fingerprint(c)  # no damping: no friction
    (True, False)
    """
    if system.black_boxes:
        return None
    nodes = tuple((n.name, type(n), n.signature(), _attributes(n)) for n in system.nodes)
    elements = tuple((e.name, e.bodies, type(e), _shapes(e.parameters), _shapes(e.memory), _attributes(e)) for e in system.elements)
    return type(system), nodes, elements, tuple(system.rows), tuple(system.pfaffian_rows)


class _Same:
    """An object by its identity, kept alive."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


def _shapes(numbers: Mapping[str, Any]) -> Hashable:
    return tuple((name, np.shape(a)) for name, a in numbers.items())


def _attributes(thing: Any) -> Hashable:
    return tuple((name, look(value, thing)) for name, value in sorted(vars(thing).items()) if name not in _NUMBERS)


def look(value: Any, owner: Any = None) -> Hashable:
    """A value as something that can be compared. ``owner``: whose attribute it is, which needs no look again.

    >>> def line(slope):
    ...     return lambda x: slope * x
    >>> look(line(2.0)) == look(line(2.0)), look(line(2.0)) == look(line(3.0))
    (True, False)
    """
    if value is owner and owner is not None:
        return "itself"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | type | CodeType | Group):
        # 0.0 and -0.0 are equal and yet not the same; nan is not equal to itself.
        return type(value), repr(value) if isinstance(value, float | complex) else value
    if isinstance(value, np.ndarray):
        return _Same(value) if value.dtype.hasobject else (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, tuple | list):
        return type(value), tuple(look(v, owner) for v in value)
    if isinstance(value, dict):
        return dict, tuple((look(k), look(v, owner)) for k, v in value.items())
    if isinstance(value, MethodType):
        return look(value.__func__), look(value.__self__, owner)
    if isinstance(value, FunctionType):
        return _function(value, owner)
    return _Same(value)


def _function(f: FunctionType, owner: Any) -> Hashable:
    """A function by its code and by what it refers to: defaults, what it encloses, and the variables of its module."""
    enclosed = tuple(look(c.cell_contents, owner) for c in f.__closure__ or ())
    defaults = look(f.__defaults__), look(f.__kwdefaults__)
    # Functions of the module are taken as they are; they do not refer to what changes from system to system.
    outer = tuple((name, _variable(f.__globals__[name])) for name in _names(f.__code__) if name in f.__globals__)
    return f.__code__, enclosed, defaults, outer


def _names(code: CodeType) -> tuple[str, ...]:
    """The names a function refers to, and those of the functions within it."""
    return sum((_names(c) for c in code.co_consts if isinstance(c, CodeType)), start=code.co_names)


def _variable(value: Any) -> Hashable:
    return look(value) if isinstance(value, bool | int | float | complex | str | tuple | list | np.ndarray) else _Same(value)
