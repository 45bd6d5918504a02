"""Models, methods and groups by the words that name them, for the command line and the options of studies."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import pi
from typing import Any

from kreisel import methods, models
from kreisel.mechanics import System
from kreisel.mechanics.mechanism import COORDINATES, PIVOT_COORDINATES
from kreisel.methods import Method
from kreisel.names import check_names, parameters_of
from kreisel.studies.base import fitting

METHODS: dict[str, type[Method]] = {name: getattr(methods, name) for name in methods.__all__ if name != "Method"}
MODELS: dict[str, Any] = {name: getattr(models, name) for name in models.__all__}
FORMULATIONS = (*PIVOT_COORDINATES, *COORDINATES)


def further(model: str, methods: bool = False) -> tuple[str, ...]:
    """The parameters of a model, and if wanted of all methods: what a study takes besides its own options."""
    of_methods = [name for make in METHODS.values() for name in parameters_of(make)] if methods else []
    return tuple(dict.fromkeys([*parameters_of(MODELS[model]), *of_methods]))


def method_of(words: str | Method, parameters: Mapping[str, Any] | None = None) -> Method:
    """A method from its name, or its name with arguments.

    >>> method_of("GeneralizedAlpha(rho_inf=0.6)").rho_inf, method_of("BLieDF", {"k": 1}).k
    (0.6, 1)
    >>> str(method_of("Composition(RATTLie, 6)"))
    'Composition(RATTLie, order=6)'
    """
    if isinstance(words, Method):
        return words
    try:
        expression = ast.parse(words.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"a method is written as its name, or with arguments as in 'BLieDF(k=1)'; got '{words}'") from None
    return _method(expression, words, dict(parameters or {}))


def _method(expression: ast.expr, words: str, more: dict[str, Any]) -> Method:
    call = expression if isinstance(expression, ast.Call) else ast.Call(expression, [], [])
    if not isinstance(call.func, ast.Name):
        raise ValueError(f"a method is written as its name, or with arguments as in 'BLieDF(k=1)'; got '{words}'")
    check_names([call.func.id], METHODS, "there is no method")
    make = METHODS[call.func.id]
    names = list(parameters_of(make))
    if len(call.args) > len(names):
        raise ValueError(f"{call.func.id} takes at most {len(names)} arguments: {', '.join(names)}")
    given = {name: _argument(a, words) for name, a in zip(names, call.args, strict=False)}
    given |= {str(k.arg): _argument(k.value, words) for k in call.keywords}
    given |= more
    check_names(given, names, f"{call.func.id} has no parameter")
    # A whole number as default may stand beside words: index=3 or "stabilised-2".
    numbers = {name: default for name, default in parameters_of(make).items() if isinstance(default, float)}
    method = _made(make, call.func.id, {name: fitting(name, value, numbers.get(name)) for name, value in given.items()})
    assert isinstance(method, Method)
    return method


def _argument(expression: ast.expr, words: str) -> Any:
    if isinstance(expression, ast.Call) or (isinstance(expression, ast.Name) and expression.id in METHODS):
        return _method(expression, words, {})
    return value_of(ast.unparse(expression))


def model_of(name: str, parameters: Mapping[str, Any]) -> System:
    """A model by its name, with some of its parameters."""
    check_names([name], MODELS, "there is no model")
    defaults = parameters_of(MODELS[name])
    check_names(parameters, defaults, f"{name} has no parameter")
    system = _made(MODELS[name], name, {key: fitting(key, value, defaults[key]) for key, value in parameters.items()})
    assert isinstance(system, System)
    return system


def share(parameters: Mapping[str, Any], model: str, method: str | Method) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters that belong to the model, and those that belong to the method."""
    of_model = parameters_of(MODELS[model])
    of_method = {} if isinstance(method, Method) else parameters_of(METHODS.get(method.split("(")[0].strip(), object))
    check_names(parameters, [*of_model, *of_method], f"neither {model} nor the method has a parameter")
    return {k: v for k, v in parameters.items() if k in of_model}, {k: v for k, v in parameters.items() if k not in of_model}


def _made(make: Any, name: str, parameters: dict[str, Any]) -> Any:
    try:
        return make(**parameters)
    except TypeError as error:  # a word where a number belongs, and the like
        raise ValueError(f"{name}: {error}") from None


def value_of(text: str) -> Any:
    """A value from the command line: a number (also 2**-10, pi/20, 1e5), a list, True, False, None; everything else is a word.

    >>> value_of("2**-10"), value_of("-19*pi/20"), value_of("fast"), value_of("[0, 1.5]")
    (0.0009765625, -2.9845130209103035, 'fast', [0, 1.5])
    """
    try:
        return _evaluate(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, _NoValueError):
        return text
    except (ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"'{text}': {error}") from None


class _NoValueError(Exception):
    """The text is no value."""


_OPERATIONS: dict[type, Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: int(float(a) ** b) if isinstance(a, int) and isinstance(b, int) and b >= 0 else float(a) ** b,
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: a,
}


def _evaluate(e: ast.expr) -> Any:
    if isinstance(e, ast.Constant):
        return e.value
    if isinstance(e, ast.List | ast.Tuple):
        return [_evaluate(x) for x in e.elts]
    if isinstance(e, ast.Name) and e.id == "pi":
        return pi
    operands = [e.left, e.right] if isinstance(e, ast.BinOp) else [e.operand] if isinstance(e, ast.UnaryOp) else []
    values = [_evaluate(x) for x in operands]
    if operands and type(e.op) in _OPERATIONS and all(isinstance(v, int | float) for v in values):  # type: ignore[attr-defined]
        value = _OPERATIONS[type(e.op)](*values)  # type: ignore[attr-defined]
        if not isinstance(value, complex):
            return value
    raise _NoValueError
