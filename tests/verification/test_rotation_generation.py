"""The rotation-generating equation of Sadlowski (section 2.5): every pair of form and scheme.

The figures of the source are lost; the numbers are those of an independent computation of its experiment: eps_max (2.184) / eps_rms (2.185)
of the accumulated angle, increments projected on SO(3), no renormalisation, pole e1, trapezoid with omega at the middle of the step.
"""

import numpy as np
import pytest
from verification.published import agrees, check

from kreisel.exact import peano_baker, precessing_rotation
from kreisel.rotations import EulerParameters, ExplicitMidpoint, RotationVector, SixNumbers, Trapezoid, generate
from kreisel.studies import reproduce

#: Columns: constant omega, h = .01, .1, .5; omega turned by 90 degrees, h = .1, .5; by 270 degrees, h = .1, .5.
COLUMNS = [("0", 0.01), ("0", 0.1), ("0", 0.5), ("90", 0.1), ("90", 0.5), ("270", 0.1), ("270", 0.5)]
WHOLE_TIME = {
    ("six", "midpoint"): "1.7e-5/3.0e-6 1.7e-3/9.7e-4 3.8e-2/5.1e-2 1.7e-3/9.9e-4 3.9e-2/5.2e-2 2.0e-3/1.1e-3 4.5e-2/5.9e-2",
    ("six", "modified trapezoid"): "1.7e-5/3.0e-6 1.7e-3/9.7e-4 3.8e-2/5.1e-2 1.6e-3/9.5e-4 3.8e-2/5.0e-2 1.5e-3/8.6e-4 3.4e-2/4.4e-2",
    ("six", "trapezoid"): "8.3e-6/1.5e-6 8.3e-4/4.8e-4 2.0e-2/2.7e-2 8.2e-4/4.8e-4 2.0e-2/2.7e-2 7.4e-4/4.3e-4 1.8e-2/2.4e-2",
    ("five", "midpoint"): "1.1e-4/3.3e-6 1.1e-2/1.1e-3 2.5e-1/3.5e-2 1.1e-2/1.2e-3 2.5e-1/9.4e-2 1.1e-2/1.4e-3 2.5e-1/1.0e-1",
    ("five", "modified trapezoid"): "7.7e-5/3.2e-6 7.8e-3/1.0e-3 4.2e-1/3.8e-1 7.7e-3/1.1e-3 4.1e-1/3.8e-1 7.6e-3/1.2e-3 3.6e-1/3.2e-1",
    ("four", "midpoint"): "4.2e-6/7.6e-7 4.3e-4/2.4e-4 1.2e-2/1.3e-2 4.4e-4/2.5e-4 1.2e-2/1.4e-2 5.1e-4/2.9e-4 1.2e-2/1.6e-2",
    ("four", "modified trapezoid"): "4.2e-6/7.6e-7 4.3e-4/2.4e-4 1.2e-2/1.3e-2 4.1e-4/2.3e-4 1.1e-2/1.2e-2 2.3e-4/1.3e-4 5.2e-3/6.2e-3",
    ("four", "trapezoid"): "2.1e-6/3.8e-7 2.1e-4/1.2e-4 5.2e-3/6.9e-3 2.0e-4/1.2e-4 4.9e-3/6.6e-3 1.2e-4/6.7e-5 2.8e-3/3.8e-3",
    ("canonical", "midpoint"): "0 0 0 2.6e-3/1.2e-3 2.3e-1/2.1e-1 5.4e-4/2.7e-4 1.3e-2/1.5e-2",
    ("canonical", "modified trapezoid"): "0 0 0 2.7e-3/1.2e-3 2.6e-1/2.4e-1 3.4e-4/1.2e-4 8.7e-3/6.9e-3",
}  # fmt: skip
STEPS = (0.01, 0.1, 0.5)


@pytest.fixture(scope="module")
def numbers():
    schemes = ("midpoint", "modified trapezoid", "trapezoid", "trapezoid, ends")
    return reproduce("sadlowski/rotation-generation", steps=STEPS, schemes=schemes).numbers


def entry(numbers, form, scheme, sweep, h, which="whole time"):
    table = numbers["errors"][which][form][scheme][sweep]
    k = STEPS.index(h)
    return table["eps_max"][k], table["eps_rms"][k]


@pytest.mark.parametrize(("form", "scheme"), WHOLE_TIME)
def test_whole_time(numbers, form, scheme):
    for (sweep, h), text in zip(COLUMNS, WHOLE_TIME[form, scheme].split(), strict=True):
        ours = entry(numbers, form, scheme, sweep, h)
        if text == "0":
            assert max(ours) < 1e-12
        else:
            check(ours, text.split("/"))


def test_cayley_below_half_a_turn(numbers):
    """As far as whole steps go: t = 3.14, 3.1 and 3."""
    for scheme, texts in {"midpoint": "1.6e-3 1.3e-2 5.9e-2", "modified trapezoid": "1.4e-3 1.1e-2 4.6e-2"}.items():
        check([entry(numbers, "Cayley", scheme, "0", h, "below half a turn")[0] for h in STEPS], texts)
    for sweep, texts in {"90": "1.1e-2 8.4e-3", "270": "3.0e-3 2.1e-3"}.items():
        ours = [entry(numbers, "Cayley", s, sweep, 0.1, "below half a turn")[0] for s in ("midpoint", "modified trapezoid")]
        check(ours, texts)
    assert "Cayley" not in numbers["errors"]["whole time"]


def test_omega_at_the_ends_of_the_step(numbers):
    """A_n and A_{n+1} in the trapezoid instead of one: other errors, and no orthogonality (columns 5e-4, determinant 1.5e-3)."""
    for form, texts in {"six": "8.9e-4 1.2e-3", "four": "2.3e-4 3.9e-4"}.items():
        check([entry(numbers, form, "trapezoid, ends", sweep, 0.1)[0] for sweep in ("90", "270")], texts)
    table = numbers["errors"]["whole time"]["six"]
    assert agrees(table["trapezoid, ends"]["270"]["column_product"][1], "5e-4")
    assert agrees(table["trapezoid, ends"]["270"]["determinant"][1], "1.5e-3")
    assert table["trapezoid"]["270"]["column_product"][1] < 1e-13
    assert table["trapezoid"]["270"]["determinant"][1] < 1e-13


def test_rankings(numbers):
    """The five statements of the source, and the exception: below pi the canonical vector beats four numbers also for varying omega."""

    def of(*key, which="whole time"):
        return entry(numbers, *key, which)[0]

    for scheme in ("midpoint", "modified trapezoid"):
        for sweep in ("0", "90", "270"):
            for h in STEPS:
                assert of("four", scheme, sweep, h) < of("six", scheme, sweep, h) < of("five", scheme, sweep, h)
                assert of("four", scheme, sweep, h) < of("Cayley", scheme, sweep, h, which="below half a turn")
    # With the midpoint rule a little less, since the quaternion is no longer of unit length.
    check([of("six", s, "0", 0.01) / of("four", s, "0", 0.01) for s in ("midpoint", "trapezoid")], "4.0 4.000")
    assert of("canonical", "midpoint", "90", 0.1) > of("six", "midpoint", "90", 0.1)
    ours = [of(form, "midpoint", "90", 0.1, which="below half a turn") for form in ("canonical", "four")]
    check(ours[:1], "2.7e-5")
    assert ours[1] == pytest.approx(4.3e-4, rel=0.02)


def test_orders():
    """Two, everywhere. Cayley's vector has it only where it stays away from half a turn."""
    orders = reproduce("sadlowski/rotation-generation", steps=(0.0125, 0.025, 0.05)).numbers["orders"]
    for form in ("six", "five", "four", "canonical"):
        for order in orders["whole time"][form].values():
            assert order == pytest.approx(2, abs=0.02)


@pytest.mark.parametrize(("sweep", "peak"), [(90, "5.31"), (270, "4.75")])
def test_the_rotation_vector_leaves_half_a_turn_behind(sweep, peak):
    s = np.radians(sweep) / 10
    run = generate(lambda t: (0, -np.sin(s * t), np.cos(s * t)), 10.0, 0.01, RotationVector, ExplicitMidpoint())
    assert agrees(np.linalg.norm(run.x, axis=1).max(), peak)


@pytest.mark.parametrize(("form", "factor"), [(SixNumbers, 1), (EulerParameters, 2)], ids=str)
def test_growth_of_the_midpoint_rule(form, factor):
    """Constant omega: lengths grow by (1 + z^4/4)^(1/2) per step, z = h |omega|, halved for Euler parameters; not with the trapezoid."""
    z = 0.5 / factor
    grown = generate([0, 0, 1], 10.0, 0.5, form, ExplicitMidpoint())
    assert np.linalg.norm(grown.x[-1]) / np.linalg.norm(grown.x[0]) == pytest.approx((1 + z**4 / 4) ** 10, rel=1e-13)
    kept = generate([0, 0, 1], 10.0, 0.5, form, Trapezoid())
    assert np.linalg.norm(kept.x[-1]) == pytest.approx(np.linalg.norm(kept.x[0]), rel=1e-14)


def test_peano_baker_reference():
    """(2.88) with 40 terms and parabolas over 0.005: 7e-11 at t = 5, 2e-9 at t = 10; 30 terms only 1e-3 there."""
    s = np.radians(90) / 10

    def A(t):
        y, z = -np.sin(s * t), np.cos(s * t)
        return [[0, -z, y], [z, 0, 0], [-y, 0, 0]]

    t, R = peano_baker(A, 10.0)
    error = np.abs(R - precessing_rotation([0, 0, 1], [s, 0, 0], t)).max(axis=(1, 2))
    assert len(t) == 2001
    assert error[1000] < 1e-10
    assert error[-1] < 4e-9
    _, R = peano_baker(A, 10.0, terms=30)
    assert agrees(np.abs(R[-1] - precessing_rotation([0, 0, 1], [s, 0, 0], 10.0)).max(), "1e-3")
    _, R = peano_baker(A, 10.0, terms=60)
    # with enough terms only the quadrature is left
    assert np.abs(R[-1] - precessing_rotation([0, 0, 1], [s, 0, 0], 10.0)).max() < 3e-10


def test_step_operators():
    """Determinants and amplification in closed form; only the trapezoidal rule is orthogonal, and stable from alpha = 1/2 on."""
    numbers = reproduce("sadlowski/step-operators").numbers
    for of_form in numbers["operators"].values():
        for name, table in of_form.items():
            np.testing.assert_allclose(table["determinant"], table["determinant_formula"], rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(table["spectral_radius"], table["amplification"], rtol=1e-12)
            orthogonal = max(table["orthogonality"]) < 1e-15
            assert orthogonal == (name == "trapezoid, alpha = 0.5")
    assert numbers["stable"] == {
        "midpoint": False,
        "trapezoid, alpha = 0": False,
        "trapezoid, alpha = 0.25": False,
        "trapezoid, alpha = 0.5": True,
        "trapezoid, alpha = 0.75": True,
        "trapezoid, alpha = 1": True,
    }
