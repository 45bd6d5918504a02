"""Kernels by address and functions on arrays."""

import casadi as ca
import numpy as np
import pytest

from kreisel.symbolic import ArrayFunction, compile


@pytest.fixture(params=["llvm", "vm"])
def backend(request, monkeypatch):
    monkeypatch.setenv("KREISEL_BACKEND", request.param)
    return request.param


def scaled_product():
    return ArrayFunction(
        "scaled_product",
        lambda A, b, s: (s * ca.mtimes(A, b), ca.trace(A[:, :2])),
        {"A": (2, 3), "b": (3,), "s": ()},
        [(2,), ()],
        valid=lambda A, b, s: s > 0,
        refuse=lambda A, b, s: f"s must be positive, got {s}",
    )


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_kernel_ports_stand_one_after_the_other(backend, lanes):
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 3)
    k = compile(ca.Function("f", [x, y], [x[1] * y, x[0]]), lanes)
    assert (k.n_in, k.n_out, k.lanes) == (5, 4, lanes)
    data = np.random.default_rng(1).standard_normal((5, lanes))
    np.testing.assert_array_equal(k(data), np.concatenate([data[1] * data[2:], data[:1]]))


def test_kernels_take_only_nonzeros(backend):
    A = ca.SX.sym("A", ca.Sparsity.lower(2))
    k = compile(ca.Function("f", [A], [ca.diag(ca.diag(A))]))
    assert (k.n_in, k.n_out) == (3, 2)
    np.testing.assert_array_equal(k([[1.0], [2.0], [3.0]]), [[1.0], [3.0]])


def test_kernel_sizes_are_checked(backend):
    x = ca.SX.sym("x", 2)
    k = compile(ca.Function("f", [x], [x]), 4)
    with pytest.raises(ValueError, match=r"kernel 'f' takes an array of shape \(2, 4\), got \(4, 2\)"):
        k(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="lanes must be 1, 2, 4 or 8"):
        compile(ca.Function("f", [x], [x]), 3)
    y = ca.MX.sym("y")
    with pytest.raises(TypeError, match="must consist of SX"):
        compile(ca.Function("g", [y], [y]))


@pytest.mark.parametrize("batch", [(), (1,), (7,), (8,), (9,), (23,), (3, 5), (0,)])
def test_leading_axes(backend, batch):
    rng = np.random.default_rng(2)
    A, b, s = rng.standard_normal((*batch, 2, 3)), rng.standard_normal((*batch, 3)), rng.uniform(1, 2, batch)
    y, trace = scaled_product()(A, b, s)
    np.testing.assert_allclose(y, s[..., None] * np.einsum("...ij,...j->...i", A, b), atol=1e-15)
    np.testing.assert_allclose(trace, A[..., 0, 0] + A[..., 1, 1], atol=1e-15)


def test_broadcasting(backend):
    rng = np.random.default_rng(3)
    A, b, s = rng.standard_normal((4, 1, 2, 3)), rng.standard_normal((5, 3)), 2.0
    y, trace = scaled_product()(A, b, s)
    np.testing.assert_allclose(y, 2 * np.einsum("...ij,...j->...i", A, b), atol=1e-15)
    assert trace.shape == (4, 5)


def test_strided_and_integer_arrays(backend):
    A = np.arange(12).reshape(2, 6)[:, ::2]
    np.testing.assert_array_equal(scaled_product()(A, [1, 1, 1], 1)[0], A.sum(axis=1))


@pytest.mark.parametrize("at", [0, 6, 13, 20])
def test_the_first_instance_that_is_not_admissible_is_named(backend, at):
    s = np.ones(21)
    s[at] = -at - 1
    with pytest.raises(ValueError, match=rf"scaled_product: s must be positive, got {-at - 1}.0 at index \({at},\)"):
        scaled_product()(np.ones((2, 3)), np.ones(3), s)
    with pytest.raises(ValueError, match=r"got nan$"):
        scaled_product()(np.ones((2, 3)), np.ones(3), np.nan)


def test_arguments_are_named_in_messages(backend):
    f = scaled_product()
    with pytest.raises(ValueError, match=r"scaled_product: A must have shape \(\.\.\., 2, 3\), got \(3, 2\)"):
        f(np.ones((3, 2)), np.ones(3), 1)
    with pytest.raises(ValueError, match="b must be an array of numbers"):
        f(np.ones((2, 3)), "abc", 1)
    with pytest.raises(ValueError, match=r"leading axes do not fit together: A \(4,\), b \(5,\), s \(\)"):
        f(np.ones((4, 2, 3)), np.ones((5, 3)), 1)
    with pytest.raises(TypeError, match=r"takes 3 arguments \(A, b, s\), got 1"):
        f(np.ones((2, 3)))


def test_results_do_not_depend_on_the_place_in_the_batch():
    f = ArrayFunction("f", lambda x: ca.sin(x) * ca.atan2(x, 2) / (1 + x**2), {"x": ()}, [()])
    x = np.random.default_rng(4).standard_normal(37)
    assert f(x).tolist() == [float(f(a)) for a in x]


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("KREISEL_BACKEND", "gcc")
    with pytest.raises(ValueError, match="KREISEL_BACKEND must be 'llvm' or 'vm', got 'gcc'"):
        compile(ca.Function("f", [ca.SX.sym("x")], [1]))
