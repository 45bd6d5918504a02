"""Müller: the experiments that the digest proposes, with the numbers of an independent computation for it (spec 003, E4 to E6)."""

import numpy as np
import pytest
from verification.published import agrees, check

import kreisel as kr
from kreisel.studies import reproduce


def test_four_bar_baumgarte():
    """E4: the drift of |B - A|^2 - 1 after 20 s with RK45, the cost, and the period."""
    numbers = reproduce("mueller/four-bar-baumgarte").numbers
    table = numbers["table"]
    check(table["drift"][:3], "3.1e-3 3.0e-6 1.2e-7")
    assert agrees(table["evaluations_relative"][2], "3.8")
    assert max(table["largest_drift"][3:]) < 1e-15
    assert agrees(numbers["period_exact"], "1.863160337")
    assert agrees(numbers["period_small"], "1.831279955")
    assert agrees(numbers["period"], "1.86316034")


def test_the_parallelogram_is_a_pendulum():
    """Its closed form: theta'' = -(6 g/5) cos(theta), theta from the horizontal; at the start of any angle."""
    for angle in (0.2, 1.0, 2.5):
        sol = kr.simulate(kr.models.point_four_bar(angle=angle), 1e-3, 1e-3, kr.Projection())
        # B = (sin, -cos): B'' = phi'' (cos, sin) at rest
        expected = -1.2 * 9.81 * np.sin(angle) * np.array([np.cos(angle), np.sin(angle)])
        np.testing.assert_allclose(sol.a[0], [*expected, *expected], rtol=1e-12)


def test_brick_pendulum():
    """E5: the frame is not at the centre of mass."""
    numbers = reproduce("mueller/brick-pendulum").numbers
    assert agrees(numbers["period_exact"], "1.145955050")
    assert agrees(numbers["period_small"], "1.067810532")
    assert agrees(numbers["period"], "1.14595505")
    assert numbers["orders"]["BEM"] == pytest.approx(2, abs=0.02)
    assert numbers["orders"]["RATTLie"] == pytest.approx(2, abs=0.02)
    assert min(numbers["orders"]["Projection"], numbers["orders"]["Baumgarte"]) > 3.4
    assert numbers["energy"]["BEM"] < 1e-14
    assert numbers["energy"]["Projection"] > 1e-6


def test_free_body():
    """E6: accelerations to 1e-14, and what is kept over 50 s."""
    numbers = reproduce("mueller/free-body").numbers
    assert numbers["acceleration_error"] < 1e-14
    kept = numbers["largest"]
    assert kept["BEM"]["energy"] < 1e-13
    assert kept["BEM"]["momenta"] < 1e-12
    assert kept["Projection"]["constraint"] < 1e-15
    assert 1e-7 < kept["Baumgarte"]["constraint"] < 1e-5 < 1e-3 < kept["index 1"]["constraint"]
    for method in ("index 1", "Baumgarte", "Projection"):
        assert kept[method]["energy"] > 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_newton_and_euler(seed):
    """E6 with other random bodies and loads."""
    assert reproduce("mueller/free-body", seed=seed, t_end=0.1).numbers["acceleration_error"] < 1e-13
