"""Beams against Hante's thesis (spec numbers measured with an independent program) and published benchmarks."""

import numpy as np
import pytest

import kreisel as kr
from kreisel.studies import reproduce


@pytest.fixture(scope="module")
def flight():
    """The flying spaghetti, Kirchhoff, M = 8, h = 2^-8, to t = 15."""
    return kr.simulate(kr.models.flying_spaghetti(segments=8), until=15.0, step=2**-8)


def test_momentum_is_the_integral_of_the_load(flight):
    after = flight.t >= 5
    np.testing.assert_allclose(flight.momentum[after], np.tile([50.0, 0, 0], (after.sum(), 1)), atol=1e-11)


def test_centre_of_mass_follows_newton(flight):
    """x1 = 3 + 0.8 t^3 / 6 while the load rises, (3, 4, 0) at the start, velocity 5 after the load; mass 10."""
    x = flight.beam("spaghetti").position()
    share = np.full(9, 1.25)
    share[[0, -1]] /= 2
    centre = np.einsum("m,nmi->ni", share, x) / 10
    rising = flight.t <= 2.5
    np.testing.assert_allclose(centre[0], [3, 4, 0], atol=1e-12)
    np.testing.assert_allclose(centre[rising, 0], 3 + 0.8 * flight.t[rising] ** 3 / 6, atol=1e-4)
    after = flight.t >= 5.5
    np.testing.assert_allclose(np.gradient(centre[after, 0], flight.t[after])[1:-1], 5.0, atol=2e-2)


def test_energy_and_angular_momentum_after_the_load(flight):
    """Digest, E4: within 1.5e-3 of 874.526 up to t = 15, M = 8, h = 2^-8; angular momentum constant."""
    after = flight.t >= 5
    assert np.abs(flight.energy[after] - 874.526).max() < 2e-3
    L = flight.angular_momentum[after]
    assert np.ptp(L, axis=0).max() < 1e-10 * np.abs(L).max()
    slope = np.polyfit(flight.t[after], flight.energy[after], 1)[0]
    assert abs(slope) < 1e-4
    assert flight.constraint_violation.max() < 1e-13
    assert flight.velocity_violation.max() < 1e-11


def test_the_loaded_end_matters():
    """Digest, section 6: with the load at the other end the motion differs by about 8 length units at t = 4."""
    ends = [
        kr.simulate(kr.models.flying_spaghetti(segments=8, loaded_end=s), until=4.0, step=2**-8, every=1024).position("spaghetti[8]")[-1]
        for s in (0.0, 10.0)
    ]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(8, abs=1.5)


def test_time_order_and_errors():
    """Digest, E4: errors at h = 2^-9 of 3.78e-6 in q and 6.39e-5 in v, against a reference of 2^-11 (which makes them 1/16 smaller)."""
    numbers = reproduce("hante/flying-spaghetti-time", finest=10, refinement=3).numbers
    table = numbers["error_table"]
    assert table["q"][0] == pytest.approx(3.78e-6 * 16 / 15, rel=0.01)
    assert table["v"][0] == pytest.approx(6.39e-5 * 16 / 15, rel=0.02)
    assert numbers["orders"]["q"] == pytest.approx(2, abs=0.05)
    assert numbers["orders"]["v"] == pytest.approx(2, abs=0.1)
    assert numbers["orders"]["lam"] == pytest.approx(2, abs=0.2)


@pytest.mark.slow
def test_orders_with_sixteen_segments():
    numbers = reproduce("hante/flying-spaghetti-time", segments=16, coarsest=10, finest=12).numbers
    for name in ("q", "v", "lam"):
        assert numbers["orders"][name] == pytest.approx(2, abs=0.1)


@pytest.mark.slow
def test_methods():
    """Hante, Remark 5.6: all of order 2, RATTLie the most accurate in q. (Over 2 s the factor to generalized-alpha is still small.)"""
    found = reproduce("hante/flying-spaghetti-methods", finest=12).numbers["methods"]
    for name, result in found.items():
        assert result["orders"]["q"] == pytest.approx(2, abs=0.06), name
        assert result["errors"]["q"][-1] >= 0.99 * found["RATTLie"]["errors"]["q"][-1]


def test_multipliers():
    """Hante, Remark 5.10: one-sided order 1; interpolated and separate order 2."""
    orders = reproduce("hante/flying-spaghetti-multipliers", t_end=1.0).numbers["orders"]
    assert orders["plus"] == pytest.approx(1, abs=0.15)
    assert orders["minus"] == pytest.approx(1, abs=0.15)
    assert orders["interpolated"] == pytest.approx(2, abs=0.1)
    assert orders["lam"] == pytest.approx(2, abs=0.1)


@pytest.mark.slow
def test_variable_steps():
    orders = reproduce("hante/flying-spaghetti-variable-steps").numbers["orders"]
    for name in ("q", "v", "lam"):
        assert orders[name] == pytest.approx(2, abs=0.12)


def test_space():
    """Digest, E9: x1 of the loaded end at t = 4, M = 4, 8, 16: successive differences 0.4475, 0.1209."""
    numbers = reproduce("hante/flying-spaghetti-space", meshes=(4, 8, 16), step=2**-10).numbers
    np.testing.assert_allclose(numbers["tip_differences"], [0.4475, 0.1209], atol=1e-4)
    assert numbers["orders"]["q"] == pytest.approx(2, abs=0.1)
    assert numbers["orders"]["v"] > 1.5


def test_roll_up():
    """Digest, 4.6 and E10: the discrete circle is an equilibrium, also with M = 4; a few 1e-3 and 1e-2 at t = 30, in the plane."""
    numbers = reproduce("hante/roll-up", meshes=(4, 8)).numbers
    assert max(numbers["circle_imbalance"]) < 1e-10
    assert max(numbers["static_distance"]) < 1e-10
    assert numbers["distance_end"] < 1e-2
    assert numbers["velocity_end"] < 1e-1
    assert numbers["out_of_plane"] < 1e-12


def test_bend():
    """Tip at the loads 300, 450, 600 with 8 elements: Simo and Vu-Quoc (1986); the mesh series is of order 2."""
    numbers = reproduce("beam/45-degree-bend").numbers
    published = numbers["published"]["Simo and Vu-Quoc 1986, 8 elements"]
    for k, load in enumerate(("300", "450", "600")):
        np.testing.assert_allclose(numbers["tips"]["8"][k], published[load], atol=0.1)
    assert numbers["order"] == pytest.approx(2, abs=0.02)
    # Exudyn 1.13.6, its geometrically exact beam on Euler parameter nodes, static: the same scheme, so the same numbers, mesh by mesh.
    np.testing.assert_allclose(numbers["tips"]["8"][2], (47.232, 15.711, 53.334), atol=6e-4)
    np.testing.assert_allclose(numbers["tips"]["32"][2], (47.155, 15.686, 53.467), atol=6e-4)
    # The other torsional stiffness in circulation, also against Exudyn.
    other = reproduce("beam/45-degree-bend", torsion=0.140577 * 5e6, meshes=(8, 32)).numbers["tips"]
    np.testing.assert_allclose(other["8"][0], (58.593, 22.139, 40.363), atol=6e-4)
    np.testing.assert_allclose(other["8"][2], (46.976, 15.585, 53.466), atol=6e-4)
    np.testing.assert_allclose(other["32"][2], (46.897, 15.559, 53.599), atol=6e-4)


def test_frequencies():
    numbers = reproduce("beam/frequencies").numbers
    np.testing.assert_allclose(numbers["cosserat"][-1], numbers["timoshenko"], rtol=2e-4)
    np.testing.assert_allclose(numbers["orders"], 2, atol=0.15)
    low, high = np.array(numbers["timoshenko"]), np.array(numbers["euler_bernoulli"])
    assert np.all((low < numbers["kirchhoff"][-1]) & (numbers["kirchhoff"][-1] < high))
    # (1.875104)^2 / L^2 sqrt(EI / rho A) / 2 pi of the textbook
    section = kr.Section.circle(0.03, E=70e9, nu=0.3, rho=2700.0)
    assert high[0] == pytest.approx(1.8751040687**2 * np.sqrt(section.EI1 / section.mass) / (2 * np.pi), rel=1e-9)


def test_shell():
    numbers = reproduce("hante/shell", steps=(2**-11, 2**-12), t_end=0.75).numbers
    np.testing.assert_allclose(numbers["momentum_end"], [1.0, 0.5, 2.0], atol=1e-12)
    assert numbers["momentum_drift"] < 1e-12
    assert numbers["angular_momentum_drift"] < 1e-12
    assert numbers["orders"]["q"] == pytest.approx(2, abs=0.1)
    assert max(numbers["strips"]["gap"]) < 1e-12
    low, high = numbers["energy_after_push"]
    assert high - low < 1e-4 * high


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ring", "tip"])
def test_a_hundred_thousand_steps(kind):
    """Energy bounded, constraints at 1e-10: a ring of a beam, and a beam with a heavy tip body."""
    section = kr.Section(50.0, 50.0, 40.0, 1e4, 1e4, 1e4, 1.0, (0.1, 0.1, 0.2))
    m = kr.Mechanism(gravity=(0, 0, 0) if kind == "ring" else (0, 0, -9.81))
    if kind == "ring":
        m.beam("ring", 2 * np.pi, 12, section, curve=kr.arc(1.0), closed=True, variant="kirchhoff", omega=(0, 3.0, 1.0))
    else:
        tip = m.body("tip", 5.0, (0.2, 0.3, 0.4), position=(2.0, 0, 0))
        m.beam("rod", 2.0, 6, section, curve=kr.straight((0, 0, 0), (1, 0, 0)), start="clamped", end=tip, variant="kirchhoff")
    sol = kr.simulate(m.system(), until=100.0, step=1e-3, every=50)
    assert sol.success, sol.message
    assert sol.constraint_violation.max() < 1e-10
    deviation = sol.energy - sol.energy[0]
    scale = np.abs(sol.potential_energy).max() + np.abs(sol.kinetic_energy).max()
    assert np.abs(deviation).max() < 5e-3 * scale
    slope = np.polyfit(sol.t, deviation, 1, w=np.sin(np.pi * (np.arange(len(sol.t)) + 0.5) / len(sol.t)) ** 2)[0]
    assert abs(slope) * 100 < 0.2 * np.ptp(deviation)
