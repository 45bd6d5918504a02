"""Formulas of an object, in symbols and on arrays: written once with SX expressions, compiled when they meet numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.symbolic.kernel import ArrayFunction

Array = NDArray[np.float64]

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def operator(formula: F) -> F: ...

else:

    class operator:
        """A formula in symbols that also works on arrays.

        Called with SX expressions it gives an expression; called with arrays (any leading axes), it is compiled and applied.
        The annotations of the formula name the shapes; keyword arguments are fixed choices.
        """

        def __init__(self, formula, like=None):
            self.formula = formula
            source = like.formula if like else formula
            names = [p for p in inspect.signature(source).parameters.values() if p.name != "self"]
            self.arguments = {p.name: p.annotation for p in names if p.kind is not p.KEYWORD_ONLY}
            self.defaults = {p.name: p.default for p in names if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY}
            self.result = inspect.signature(source).return_annotation
            self.__doc__ = formula.__doc__ or source.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            bound = _Bound(self, instance)
            instance.__dict__[self.name] = bound  # found first from now on
            return bound


class _Bound:
    """An operator of one object."""

    def __init__(self, definition: Any, owner: Operators) -> None:
        self.definition, self.owner = definition, owner
        self.__doc__ = definition.__doc__
        self.__name__ = definition.name
        self._compiled: dict[tuple[tuple[str, Any], ...], ArrayFunction] = {}

    def __call__(self, *args: Any, **options: Any) -> Any:
        if len(args) < len(self.definition.arguments):
            for name in list(self.definition.arguments)[len(args) :]:
                if name in options:
                    args += (options.pop(name),)
                elif name in self.definition.defaults:
                    args += (self.definition.defaults[name],)
        if any(isinstance(a, ca.SX) for a in args):
            return self.definition.formula(self.owner, *(a if isinstance(a, ca.SX) else ca.SX(ca.DM(a)) for a in args), **options)
        return self.compiled(**options)(*args)

    def compiled(self, **options: Any) -> ArrayFunction:
        """The array function behind the operator."""
        key = tuple(sorted(options.items()))
        if key not in self._compiled:
            d, g = self.definition, self.owner
            kinds = d.result.removeprefix("tuple[").removesuffix("]").split(", ")

            def formula(*symbols: ca.SX) -> Any:
                return d.formula(g, *symbols, **options)

            def valid(*symbols: ca.SX) -> ca.SX:
                # The results count, too: at a singular point of an operator there is an error, not a nan.
                values = formula(*symbols)
                ok = ca.SX(1)
                for value in values if isinstance(values, tuple) else (values,):
                    ok = ca.logic_and(ok, finite(value))
                for symbol, kind in zip(symbols, d.arguments.values(), strict=True):
                    ok = ca.logic_and(ok, g._admissible(kind, symbol))
                return ok

            self._compiled[key] = ArrayFunction(
                name=f"{g}.{d.name}",
                formula=formula,
                arguments={name: g._shape(kind) for name, kind in d.arguments.items()},
                results=[g._shape(kind) for kind in kinds],
                valid=valid,
                refuse=self._refuse,
            )
        return self._compiled[key]

    def _refuse(self, *values: Array) -> str:
        for (name, kind), value in zip(self.definition.arguments.items(), values, strict=True):
            problem = self.owner._problem(kind, value)
            if problem:
                return f"{name} {problem}"
        given = ", ".join(f"{n} = {np.array2string(v, precision=6)}" for n, v in zip(self.definition.arguments, values, strict=True))
        return f"there is no finite result for {given}"

    def __repr__(self) -> str:
        return f"<operator {self.owner}.{self.__name__}({', '.join(self.definition.arguments)})>"


def finite(x: ca.SX) -> ca.SX:
    """Whether all entries are finite."""
    return ca.sum1(ca.fabs(ca.vec(ca.densify(x)))) <= 1e300


class Operators:
    """An object with operators. What overrides an operator is one, too, with the arguments of the first.

    A derived class says what the annotations of the formulas mean: :meth:`_shape`, :meth:`_admissible`, :meth:`_problem`.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, formula in list(vars(cls).items()):
            parent = getattr(super(cls, cls), name, None)
            if inspect.isfunction(formula) and type(parent).__name__ == "operator":
                wrapped = operator(formula, like=parent)  # type: ignore[call-arg]
                wrapped.name = name  # type: ignore[attr-defined]
                setattr(cls, name, wrapped)

    def _shape(self, kind: str) -> tuple[int, ...]:
        """The shape of what the annotation names."""
        raise NotImplementedError

    def _admissible(self, kind: str, x: ca.SX) -> ca.SX:
        """Whether an argument is what it should be, in symbols."""
        raise NotImplementedError

    def _problem(self, kind: str, value: Array) -> str:
        """What is wrong with an argument, in words; empty if nothing is."""
        raise NotImplementedError
