"""Every operation of SX, compiled for one and for several lanes, against CasADi's virtual machine."""

import casadi as ca
import numpy as np
import pytest

from kreisel.symbolic import UnsupportedOperation, compile
from kreisel.symbolic.translate import _BINARY, _OPERATION_NAMES, _UNARY, kernel

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.7, 1e-300, 1e300, np.inf, -np.inf, np.nan, np.pi, 1e7, -1e22]

UNARY = {
    "neg": lambda x: -x, "sq": lambda x: x**2, "twice": lambda x: 2 * x, "inv": lambda x: 1 / x, "sqrt": ca.sqrt, "fabs": ca.fabs,
    "floor": ca.floor, "ceil": ca.ceil, "sign": ca.sign, "not": ca.logic_not, "sin": ca.sin, "cos": ca.cos, "tan": ca.tan,
    "asin": ca.asin, "acos": ca.acos, "atan": ca.atan, "sinh": ca.sinh, "cosh": ca.cosh, "tanh": ca.tanh, "asinh": ca.asinh,
    "acosh": ca.acosh, "atanh": ca.atanh, "exp": ca.exp, "log": ca.log, "expm1": ca.expm1, "log1p": ca.log1p, "erf": ca.erf,
}  # fmt: skip
BINARY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
    "and": ca.logic_and, "or": ca.logic_or, "if_else_zero": lambda x, y: ca.if_else(x, y, 0), "fmin": ca.fmin, "fmax": ca.fmax,
    "copysign": ca.copysign, "atan2": ca.atan2, "pow": lambda x, y: x**y, "constpow": lambda x, y: ca.constpow(x, 2.5) + 0 * y,
    "hypot": ca.hypot, "fmod": ca.fmod, "remainder": ca.remainder, "lift": lambda x, y: x + y,
}  # fmt: skip


def test_the_lists_above_are_complete():
    made = {_OPERATION_NAMES[op] for op in (*_UNARY, *_BINARY)}
    assert made - {"assign", "lift"} == (set(UNARY) | set(BINARY)) - {"lift"}


def compare(f, points):
    """Scalar kernel and all widths, against the virtual machine: equal to an ulp, the same infinities and nans."""
    expected = np.array([f(*p).nonzeros() for p in points], dtype=float).T
    for lanes in (1, 2, 4, 8):
        k = compile(f, lanes)
        blocks = [points[i : i + lanes] for i in range(0, len(points) - lanes + 1, lanes)]
        got = np.concatenate([k(np.array(b).T) for b in blocks], axis=1)
        want = expected[:, : got.shape[1]]
        np.testing.assert_allclose(got, want, rtol=4.5e-16, atol=0, err_msg=f"{lanes} lanes")


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = ca.SX.sym("x")
    points = SPECIAL + list(np.random.default_rng(1).uniform(-4, 4, 48)) + list(np.random.default_rng(2).uniform(0, 1, 16))
    compare(ca.Function("f", [x], [UNARY[name](x)]), [(p,) for p in points])


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    pairs = [(a, b) for a in SPECIAL for b in SPECIAL]
    if name == "copysign":
        # The virtual machine takes the sign of -0.0 and of nan by comparison; ours, as in C, by the sign bit.
        pairs = [(a, b) for a, b in pairs if not np.isnan(b) and str(b) != "-0.0"]
    pairs += list(np.random.default_rng(1).uniform(-4, 4, (64, 2)))
    compare(ca.Function("f", [x, y], [BINARY[name](x, y)]), pairs)


def test_a_long_expression_and_its_derivatives():
    x = ca.SX.sym("x", 3)
    y = ca.sin(x[0]) * ca.exp(-(x[1] ** 2)) / (1 + x[2] ** 2) + ca.atan2(x[0], x[1] + 3) * ca.sqrt(1 + x[2] ** 2)
    J = ca.jacobian(y, x)
    f = ca.Function("f", [x], [y, J, ca.hessian(y, x)[0]])
    points = np.random.default_rng(3).standard_normal((16, 3))
    expected = np.array([np.concatenate([r.nonzeros() for r in f(p)]) for p in points]).T
    for lanes in (1, 8):
        got = np.concatenate([compile(f, lanes)(points[i : i + lanes].T) for i in range(0, 16, lanes)], axis=1)
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)


def test_lanes_do_not_influence_each_other():
    x = ca.SX.sym("x")
    k = compile(ca.Function("f", [x], [ca.sin(x)]), 8)
    x = np.array([[0.1, np.nan, np.inf, 1e300, -0.0, 2.0, 1e7, 3.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(k(x), np.sin(x), rtol=2.3e-16)


def test_an_operation_without_code_is_named():
    x = ca.SX.sym("x")
    with pytest.raises(UnsupportedOperation, match=r"function 'mine' contains the operation 'erfinv'.*KREISEL_BACKEND=vm"):
        compile(ca.Function("mine", [x], [ca.erfinv(x)]))


def test_an_input_used_twice_is_read_once():
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [x * x + x, x])
    assert kernel(f, 1).count("load") == 1
