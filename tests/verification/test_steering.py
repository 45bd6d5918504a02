"""Optimal control of systems whose best motions are known elsewhere, or in closed form."""

import numpy as np
import pytest

from kreisel.studies import reproduce


def test_cart_pole():
    """Kelly, SIAM Review 59 (2017), section 6: the integral of the squared force is 58.8 N^2 s."""
    numbers = reproduce("control/cart-pole", steps=[50, 100]).numbers
    table = numbers["table"]
    cost = {(m, n): c for m, n, c in zip(table["method"], table["N"], table["cost"], strict=True)}
    for method in ("GC", "REM", "BEM", "RATTLie"):
        limit = (4 * cost[method, 100] - cost[method, 50]) / 3
        assert limit == pytest.approx(58.81, abs=0.01)
    assert cost["BEM", 100] == pytest.approx(cost["REM", 100], rel=1e-11)
    assert max(table["kkt_residual"]) < 1e-12
    assert numbers["position"]["cart"] == pytest.approx([1, 0, 0], abs=1e-9)


def test_bounds_of_the_cart_are_kept():
    numbers = reproduce("control/cart-pole", steps=40, methods="GC", force=12.0, stroke=1.1).numbers
    assert np.abs(numbers["controls"]["force"]).max() == pytest.approx(12, abs=1e-6)
    assert numbers["states"]["q"][:, 0].max() == pytest.approx(1.1, abs=1e-6)
    assert numbers["cost"] > 1.03 * 59.36


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_turning_about_a_principal_axis(axis):
    """u = J 6 theta / T^2 (1 - 2 t/T), effort 6 J^2 theta^2 / T^3."""
    J, theta, T = (1.0, 2.0, 3.0)[axis], 1.0, 1.5
    options = {"axis": np.eye(3)[axis].tolist(), "angle": theta, "horizon": T, "steps": [20, 40], "formulations": ["S3", "directors"]}
    numbers = reproduce("control/reorientation", **options).numbers
    exact = 6 * J**2 * theta**2 / T**3
    assert numbers["fixed_axis"] == pytest.approx(exact, rel=1e-14)
    coarse, fine = np.reshape(numbers["table"]["cost"], (2, 2)) - exact
    np.testing.assert_allclose(coarse / fine, 4, rtol=0.02)
    assert np.abs(fine).max() < 2e-3 * exact
    middle = (np.arange(40) + 0.5) / 40
    np.testing.assert_allclose(numbers["controls"][f"u{axis + 1}"], 6 * J * theta / T**2 * (1 - 2 * middle), rtol=0, atol=0.01 * J)
    others = [u for name, u in numbers["controls"].items() if name != f"u{axis + 1}"]
    assert np.abs(others).max() < 1e-9


def test_turning_about_another_axis_is_cheaper_than_straight():
    """The closed form of the turn about a fixed axis is held against a quadrature; the best turn is cheaper."""
    numbers = reproduce("control/reorientation", steps=[20, 40, 80], formulations=["SO3", "S3"]).numbers
    J, n, theta, T = np.diag([1.0, 2, 3]), np.ones(3) / np.sqrt(3), np.pi / 2, 2.0
    s, weights = np.polynomial.legendre.leggauss(8)
    s, weights = (s + 1) / 2, weights / 2
    rate, acceleration = 6 * theta / T * (s - s**2), 6 * theta / T**2 * (1 - 2 * s)
    u = acceleration[:, None] * (J @ n) + rate[:, None] ** 2 * np.cross(n, J @ n)
    assert numbers["fixed_axis"] == pytest.approx(T * weights @ np.sum(u**2, axis=1) / 2, rel=1e-13)
    assert numbers["cost"] < 0.85 * numbers["fixed_axis"]
    assert numbers["orders"]["S3"] == pytest.approx(2, abs=0.05)
    costs = np.reshape(numbers["table"]["cost"], (3, 2))
    np.testing.assert_allclose(costs[:, 0], costs[:, 1], rtol=1e-10)


def test_a_flexible_arm_comes_to_rest():
    """Least effort with two points at rest: next to no energy is left, where the torque for a rigid arm leaves a third."""
    numbers = reproduce("control/beam-tip", segments=2, steps=30).numbers
    assert numbers["residual_energy"] < 1e-3
    assert numbers["residual_energy_rigid"] > 0.2
    assert numbers["tip_error"] < 1e-3 < 0.02 < numbers["tip_error_rigid"]
    assert numbers["kkt_residual"] < 1e-9
    # A stiff arm takes what a rigid one takes (6 J^2 theta^2 / T^3; its mass is lumped, and the steps are thirty).
    stiff = reproduce("control/beam-tip", segments=2, steps=30, bending=[2e3, 2e3, 2e3]).numbers
    J = 0.1 + 0.5 * (0.5 * 0.5**2 + 0.25 * 1.0**2) + 1e-3
    assert stiff["cost"] == pytest.approx(6 * J**2 * (np.pi / 3) ** 2, rel=0.02)
    assert stiff["cost"] < numbers["cost"]
