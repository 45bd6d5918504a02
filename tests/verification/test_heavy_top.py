"""The heavy top of Hante's thesis.

The thesis gives its results as figures and prose. The numbers here come from an independent computation with the thesis's parameters,
t_end = 1, the error norm of the thesis at multiples of 1/256, and a reference solution to 1e-13; the prose is held beside them.
"""

import numpy as np
import pytest
from verification.published import agrees, check

import kreisel as kr
from kreisel.studies import reproduce
from kreisel.studies.heavy_top import reference

SEMIDIRECT, DIRECT = ("SE3", "S3R3", "UDQ"), ("SO3xR3", "S3xR3")

#: Columns q, Omega, lam+, lam interpolated, lam separate, largest deviation of the energy; one row per step.
TABLES = {
    ("fast", SEMIDIRECT, 8): """9.683e-2 2.086e-1 41.2 33.7 23.6 4.00
                                2.459e-2 5.382e-2 21.5 8.49 5.89 0.989
                                6.169e-3 1.356e-2 11.1 2.13 1.47 0.247
                                1.544e-3 3.396e-3 5.65 0.532 0.368 0.0616""",
    ("fast", DIRECT, 8): """4.952e-3 9.844e-3 35.7 9.96 7.30 0.216
                            1.222e-3 2.380e-3 17.6 2.51 1.85 0.0537
                            3.046e-4 5.902e-4 8.77 0.628 0.463 0.0134
                            7.610e-5 1.472e-4 4.38 0.157 0.116 0.00335""",
    ("slow", SEMIDIRECT, 9): """6.129e-5 2.659e-4 0.459 2.88e-3 1.26e-3 1.03e-3
                                1.532e-5 6.649e-5 0.229 7.21e-4 3.14e-4 2.58e-4""",
    ("slow", DIRECT, 9): """9.625e-6 3.553e-5 0.449 2.99e-3 4.52e-3 2.02e-3
                            2.406e-6 8.882e-6 0.224 7.48e-4 1.13e-3 5.06e-4""",
}
COLUMNS = ("q", "v", "lam_plus", "lam_interpolated", "lam_separate", "energy")


@pytest.mark.parametrize(("spin", "kind", "coarsest"), TABLES, ids=lambda x: x if isinstance(x, str) else None)
def test_tables_of_rattlie(spin, kind, coarsest):
    """Figures 5 and 6; every formulation of a kind gives the same numbers."""
    rows = [line.split() for line in TABLES[spin, kind, coarsest].splitlines()]
    for formulation in kind:
        found = reproduce("hante/heavy-top-order", formulation=formulation, spin=spin, coarsest=coarsest, finest=coarsest + len(rows) - 1)
        table = found.numbers["error_table"]
        for k, row in enumerate(rows):
            check([table[c][k] for c in COLUMNS], row)


def test_direct_products_are_more_accurate_with_rattlie():
    """Remarks 5.5 and 5.7: 10 to 100 times for the fast top, and still for the slow one."""
    for spin, ratio in (("fast", "20.3"), ("slow", "6.4")):
        q = [
            reproduce("hante/heavy-top-order", formulation=f, spin=spin, coarsest=10, finest=11).numbers["error_table"]["q"][-1]
            for f in ("S3R3", "S3xR3")
        ]
        assert agrees(q[0] / q[1], ratio)


def test_unconstrained_quaternions_have_the_errors_of_the_semidirect_groups():
    q = [
        reproduce("hante/heavy-top-order", formulation=f, coarsest=8, finest=10).numbers["error_table"]["q"] for f in ("S3", "SO3", "S3R3")
    ]
    np.testing.assert_allclose(q[0], q[2], rtol=1e-9)
    np.testing.assert_allclose(q[1], q[2], rtol=1e-9)


@pytest.mark.parametrize(
    ("method", "coarsest", "errors"),
    [
        # the independent computation starts generalized-alpha with the corrected a_0, as the thesis's program does
        ("GeneralizedAlpha(index='stabilised-2', corrected_start=True)", 10, "5.68e-2 1.43e-2 3.57e-3"),
        ("GeneralizedAlpha(index=3, corrected_start=True)", 10, "5.68e-2 1.43e-2 3.57e-3"),
        ("BLieDF(k=2)", 10, "2.39e-1 5.97e-2 1.46e-2"),
        ("RATTLie", 10, "6.2e-3 1.5e-3"),
    ],
)
def test_order_of_methods(method, coarsest, errors):
    found = reproduce("hante/heavy-top-order", method=method, coarsest=coarsest, finest=coarsest + len(errors.split()) - 1)
    check(found.numbers["error_table"]["q"], errors)


ORDERS = [
    # method, formulations, orders of q and v, of the method's multipliers at the end and in the maximum, tolerance
    ("RATTLie", ("SO3", "S3", *SEMIDIRECT, *DIRECT), 2, 1, 1, 0.05),
    ("GeneralizedAlpha(index='stabilised-2')", ("S3R3", "SO3xR3"), 2, 2, 2, 0.05),
    ("GeneralizedAlpha", ("SO3", "SE3"), 2, 2, 2, 0.05),
    ("SHAKELie", ("UDQ", "S3xR3"), 2, 2, 2, 0.05),
    ("SHAKELie('simple')", ("SE3", "S3R3"), 1, 1, 1, 0.1),
    ("BLieDF(k=2)", ("S3R3",), 2, 2, 2, 0.05),
    # the opening step is of order 1, and where it violates more than round-off its multiplier shows it
    ("BLieDF()", ("SO3xR3",), 2, 2, 1, 0.05),
    ("Composition(RATTLie, 4)", ("S3", "SE3", "S3xR3"), 4, 1, 1, 0.1),
    ("Composition(RATTLie, 6)", ("SO3", "S3R3", "SO3xR3"), 6, 1, 1, 0.1),
]


@pytest.mark.parametrize(("method", "formulations", "order", "at_end", "in_maximum", "tolerance"), ORDERS, ids=[o[0] for o in ORDERS])
def test_fitted_orders(method, formulations, order, at_end, in_maximum, tolerance):
    """Over four halvings."""
    for formulation in formulations:
        orders = reproduce("hante/heavy-top-order", method=method, formulation=formulation).numbers["orders"]
        assert orders["q"] == pytest.approx(order, abs=tolerance)
        assert orders["v"] == pytest.approx(order, abs=tolerance)
        if formulation not in ("SO3", "S3"):
            assert orders["lam_end"] == pytest.approx(at_end, abs=0.1)
            assert orders["lam"] == pytest.approx(in_maximum, abs=0.1)


def test_better_multipliers_of_rattlie():
    """Section 3.2.4: raw order 1, interpolated and separate 2."""
    for formulation in ("S3R3", "SO3xR3"):
        orders = reproduce("hante/multipliers-top", formulation=formulation, coarsest=9, finest=13).numbers["orders"]
        for name, order in {"lam": 1, "lam_plus": 1, "lam_interpolated": 2, "lam_separate": 2}.items():
            for end in ("", "_end"):
                assert orders[name + end] == pytest.approx(order, abs=0.08), name


def test_multipliers_of_generalized_alpha_have_a_transient_on_direct_products():
    """In index 3, B v = 0 is not imposed. On a direct product the first step violates it by O(h^2), and the multiplier answers with O(h).

    That error grows for about 15 steps and then decays by rho_inf = 0.9 per step, whatever h: order 1 in the maximum, 2 at the end. In the
    semidirect groups the rotations about the fixed point are a subgroup, nothing is violated; and the stabilised form imposes B v = 0.
    """
    study = "hante/heavy-top-order"
    for formulation in DIRECT:
        orders = reproduce(study, method="GeneralizedAlpha", formulation=formulation).numbers["orders"]
        assert orders["lam"] == pytest.approx(1, abs=0.05)
        assert orders["lam_end"] == pytest.approx(2, abs=0.05)
    orders = reproduce(study, method="GeneralizedAlpha(index='stabilised-2', corrected_start=True)", formulation="SO3xR3").numbers["orders"]
    assert orders["lam"] == pytest.approx(2, abs=0.05)


def test_backward_differentiation_of_order_one():
    orders = reproduce("hante/heavy-top-order", method="BLieDF(k=1)", formulation="S3xR3", t_end=0.25).numbers["orders"]
    assert [orders["q"], orders["v"], orders["lam"]] == pytest.approx([1, 1, 1], abs=0.05)


def test_one_step_from_exact_data():
    """Theorem 3.1: local error of order 3 in q and v."""
    for formulation in ("S3R3", "S3xR3"):
        orders = reproduce("hante/heavy-top-order", formulation=formulation).numbers["local_orders"]
        assert [orders["q"], orders["v"]] == pytest.approx([3, 3], abs=0.05)


def test_energy():
    """Figure 14, Remark 5.12: RATTLie oscillates, the others lose; BLieDF drops in its first step."""
    numbers = reproduce("hante/heavy-top-energy").numbers
    assert agrees(numbers["energy_start"], "5435.69679")
    check(numbers["loss"]["GeneralizedAlpha"], "1.16 0.239 0.0547 0.0132")
    check(numbers["loss"]["BLieDF"], "185 45.5 7.1 1.09")
    check(numbers["first_step_drop"]["BLieDF"], "11.6 3.07 0.778 0.195")
    assert numbers["rattlie_amplitude_order"] == pytest.approx(2, abs=0.02)
    # extrapolated to the thesis's step
    assert agrees(numbers["rattlie_amplitude"][-1] * 2.0 ** (-2 * 4), "6e-5")


def test_energy_of_rattlie_does_not_drift():
    """At h = 2^-10 it stays in [0, 0.24663] above its start in every second of [0, 5].

    Generalized-alpha loses more from second to second.
    """
    (ranges,) = reproduce("hante/heavy-top-energy", coarsest=10, finest=10, t_end=5.0).numbers["rattlie_range"]
    assert len(ranges) == 5
    for low, high in ranges:
        assert low > -1e-9
        assert high == pytest.approx(0.24663, abs=1e-5)
    sol = kr.simulate(kr.models.heavy_top(), until=5, step=2**-10, method=kr.GeneralizedAlpha(corrected_start=True))
    best = [sol.energy[1024 * s : 1024 * (s + 1) + 1].max() for s in range(5)]
    assert np.all(np.diff(best) < 0)


def test_cost_of_the_groups():
    """Figure 10: only the rank of the groups is to be compared, and on a busy machine only that direct products do not take longer."""
    numbers = reproduce("hante/heavy-top-groups", t_end=1.0, repetitions=5).numbers
    assert numbers["relative_time"]["SE3"] == 1
    assert sorted(numbers["rank"]) == sorted([*SEMIDIRECT, *DIRECT])
    assert min(numbers["relative_time"][f] for f in DIRECT) < max(numbers["relative_time"][f] for f in SEMIDIRECT)


def placed(formulation, method, steps=1024):
    sol = kr.simulate(kr.models.heavy_top(formulation), until=1.0, step=1.0 / steps, method=method)
    assert sol.success
    return np.concatenate([sol.rotation("top").reshape(-1, 9), sol.position("top")], axis=1), sol.velocity("top")[:, :3]


@pytest.mark.parametrize("formulation", SEMIDIRECT)
def test_rattlie_in_semidirect_groups_is_rattlie_without_constraints(formulation):
    """The constraint is a coset of the rotations about the fixed point: equal to 1e-12 after 1024 steps."""
    q, v = placed(formulation, kr.RATTLie())
    exact_q, exact_v = placed("S3", kr.RATTLie())
    assert np.abs(q - exact_q).max() < 1e-12
    assert np.abs(v - exact_v).max() < 1e-10  # velocities are of size 150
    assert np.abs(placed("S3xR3", kr.RATTLie())[0] - exact_q).max() > 1e-4


def test_generalized_alpha_on_se3_is_generalized_alpha_on_so3():
    q, v = placed("SE3", kr.GeneralizedAlpha())
    exact_q, exact_v = placed("SO3", kr.GeneralizedAlpha())
    assert np.abs(q - exact_q).max() < 1e-12
    assert np.abs(v - exact_v).max() < 1e-10


@pytest.mark.parametrize(("spin", "speed"), [("fast", 150.0), ("slow", 1.5)])
def test_constraints_hold_to_round_off(spin, speed):
    """Positions to 2e-15, velocities to 2e-15 of their size.

    Printed are 1e-15 and, for the hidden constraint, 1.5e-15 without a size. Not reproduced: here the hidden residual of the fast top is
    3e-14 to 7e-14 in all formulations, one or two roundings of numbers of size 150, and that of the slow top 1.3e-15 to 2.7e-15; positions
    of the slow top reach 1.6e-15 in UDQ. How the printed residuals were evaluated is not known.
    """
    for formulation in (*SEMIDIRECT, *DIRECT):
        sol = kr.simulate(kr.models.heavy_top(formulation, spin), until=1.0, step=2**-10)
        assert sol.constraint_violation.max() < 2e-15
        assert sol.velocity_violation.max() < 2e-15 * speed


def test_the_reference_conserves_energy():
    r = reference(np.linspace(0, 1, 5), {"spin": "fast"})
    J = np.diag([15.234375, 0.46875, 15.234375])
    E = np.einsum("ni,ij,nj->n", r.omega, J, r.omega) / 2 + 15 * 9.81 * r.q[:, 11]
    assert np.ptp(E) < 1e-9
