"""The rolling disk of Hante's thesis (Remark 5.8, Figure 11): order 2 in q, v, lam and mu."""

import pytest
from verification.published import agrees, check

from kreisel.studies import reproduce


def test_table():
    """Numbers of an independent computation: reference h = 2^-12, errors at multiples of 2^-7, h = 2^-8, 2^-9, 2^-10, t_end = 2."""
    numbers = reproduce("hante/rolling-disk", steps=2048, halvings=2, refinement=4).numbers
    table = numbers["error_table"]
    check(table["q"], "7.80e-3 1.92e-3 4.58e-4")
    check(table["v"], "5.41e-2 1.34e-2 3.18e-3")
    check(table["lam"], "19.5 4.82 1.15")
    check(table["mu"], "23.1 5.71 1.36")
    check(table["energy"], "0.522 0.131 0.0326")
    assert max(table["constraint"]) < 7e-16
    assert max(table["rolling"]) < 4e-15
    assert agrees(numbers["energy_start"], "845.260985")


def test_start():
    """Multipliers of the consistent start, held against the printed B and DPhi, derivative of B by central differences of step 1e-6.

    The independent computation prints 169.0917 and -6.169: differences of step 1e-4, which give 169.09173 and -6.16900. Smaller steps
    tend to the numbers here.
    """
    numbers = reproduce("hante/rolling-disk", steps=512, halvings=1, refinement=2).numbers
    assert numbers["lam_start"] == pytest.approx([169.09162397], abs=2e-7)
    assert numbers["mu_start"] == pytest.approx([0.0, -6.16889285], abs=2e-7)


def test_orders_over_four_halvings():
    orders = reproduce("hante/rolling-disk").numbers["orders"]
    assert [orders[x] for x in ("q", "v", "lam", "mu", "energy")] == pytest.approx([2] * 5, abs=0.05)


def test_coarse_step():
    """Newton's method also converges at h = 2^-7."""
    table = reproduce("hante/rolling-disk", steps=512, halvings=1, refinement=2).numbers["error_table"]
    assert agrees(table["energy"][0], "2.09")
