"""Siebert's thesis: optimal control by direct transcription. Its figures are lost; the numbers are those of an independent computation for
the digest (spec 001, E4 to E8), most of them beside the studies."""

import numpy as np
import pytest
from verification.published import agrees, check

from kreisel.studies import crane, reproduce, satellite_control, three_link
from kreisel.studies.direct_control import extrapolated


def rows(name, **options):
    """The numbers of a study, and its table by method and number of steps."""
    numbers = reproduce(name, **options).numbers
    table = numbers["table"]
    found = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return numbers, {(row["method"], row["N"]): row for row in found}


def costs_agree(table, reference):
    """All costs are those of the references: to nine digits, of which some have the last one wrong by one (IPOPT with 1e-8)."""
    assert [row["cost"] for row in table.values()] == pytest.approx([float(reference[method][n]) for method, n in table], rel=5e-9)


def limit_agrees(table, method, steps, reference, rel):
    """The continuous limit, by extrapolation of costs of order 2 from the last two numbers of steps."""
    cost = {n: table[method, n]["cost"] for n in steps}
    assert extrapolated(*list(cost.items())[-2:]) == pytest.approx(float(reference["limit"]), rel=rel)
    errors = [abs(c - float(reference["limit"])) for c in cost.values()]
    assert errors == sorted(errors, reverse=True)


# E6: the manipulator without bounds

HAMILTONIANS = {
    ("BEM", 10): "580902.38 708279.39",
    ("BEM", 20): "624378.52 658181.37",
    ("BEM", 40): "640426.53 649531.84",
    ("REM", 10): "580902.38 708279.39",
    ("REM", 20): "624378.52 658181.37",
    ("REM", 40): "640426.53 649531.84",
    ("GC", 10): "491203.05 712788.51",
    ("GC", 20): "597836.73 666067.80",
    ("GC", 40): "632968.09 651341.67",
}


@pytest.mark.parametrize("method", ["BEM", "REM", "GC"])
def test_manipulator(method):
    """E6. The energy balance holds to round-off of the energy, 5e3 J, with BEM and REM at any number of steps, not with GC."""
    _, table = rows("siebert/three-link", steps=[10, 20, 40], method=method)
    costs_agree(table, three_link.REFERENCES["free"])
    for (_, n), row in table.items():
        check(row["hamiltonian"], HAMILTONIANS[method, n])
        if method == "GC":
            assert row["balance_drift"] > 1
        else:
            assert row["balance_drift"] < 1e-10


def test_bem_is_rem():
    """E6, E8: the same optimum, to more digits than the nine that are asked for; and the same Hamiltonian."""
    for study, n in (("siebert/three-link", 10), ("siebert/crane", 20)):
        _, table = rows(study, steps=n, method=["BEM", "REM"])
        bem, rem = table["BEM", n], table["REM", n]
        assert bem["cost"] == pytest.approx(rem["cost"], rel=1e-11)
        assert bem["hamiltonian"] == pytest.approx(rem["hamiltonian"], rel=1e-8)
        assert bem["u_start"] == pytest.approx(rem["u_start"], rel=1e-7)


def test_manipulator_without_gravity():
    """E6: the value of the same branch for g = 0."""
    numbers, _ = rows("siebert/three-link", steps=[40, 80], method="GC", gravity=0.0)
    assert numbers["limit"]["GC"] == pytest.approx(726761.7357, rel=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["BEM", "REM", "GC"])
def test_limit_of_the_manipulator(method):
    """E6: costs, angles in the middle of the time, and the Hamiltonian approach those of the continuous problem with order 2."""
    _, table = rows("siebert/three-link", steps=[10, 20, 40, 80, 160], method=method)
    reference = three_link.REFERENCES["free"]
    costs_agree(table, reference)
    limit_agrees(table, method, [10, 20, 40, 80, 160], reference, 1e-7)
    low, high = table[method, 160]["hamiltonian"]
    assert low < 646808 < high
    angles = []
    for n in (40, 80):
        numbers, _ = rows("siebert/three-link", steps=n, method=method)
        angles.append((n, np.array([numbers["coordinates"][joint][n // 2] for joint in three_link.JOINTS])))
    assert extrapolated(*angles) == pytest.approx([1.7335442, -1.5473947, 2.6640863], abs=2e-5)


def test_lower_minima_of_the_manipulator():
    """E4, E6: other guesses lead to other minima: the third link turns almost once; and the lower one of her u3 <= 0.

    The digest's largest angles are those of GC with 20 steps; with more they are -3.77 and 6.23.
    """
    numbers, _ = rows("siebert/three-link", steps=[40, 80], method="GC", middle=[1.5, -3.7, 6.2])
    assert numbers["limit"]["GC"] == pytest.approx(2213379.34, rel=2e-6)
    numbers, _ = rows("siebert/three-link", steps=20, method="GC", middle=[1.5, -3.7, 6.2])
    assert agrees(numbers["coordinates"]["elbow"].min(), "-3.77")
    assert agrees(numbers["coordinates"]["wrist"].max(), "6.26")
    numbers, _ = rows("siebert/three-link", steps=20, method="GC", middle=[1.27, -4.2, 3.22], lower=[None, None, 0.0])
    assert agrees(numbers["cost"], "3601181")


@pytest.mark.slow
def test_limits_of_the_lower_minima():
    for friction, cost in ((0.0, 2213379.34), (300.0, 4294982.97)):
        numbers, _ = rows("siebert/three-link", steps=[80, 160], method=["REM", "GC"], middle=[1.5, -3.7, 6.2], friction=friction)
        for method in ("REM", "GC"):
            assert numbers["limit"][method] == pytest.approx(cost, rel=5e-6)


# E4: one torque with one sign; E5: friction


@pytest.mark.parametrize("method", ["REM", "GC"])
def test_manipulator_with_a_bound(method):
    """E4. Her u3 >= 0 is our torque u3 <= 0."""
    numbers, table = rows("siebert/three-link", steps=[10, 20], method=method, upper=[None, None, 0.0])
    costs_agree(table, three_link.REFERENCES["u3 <= 0"])
    assert numbers["controls"]["u3"].max() <= 1e-8
    assert np.sum(np.abs(numbers["controls"]["u3"]) < 1e-3) > 5  # it is the bound that makes it dear
    row = table[method, 20]
    if method == "REM":
        assert row["balance_drift"] < 2e-10
        assert agrees(row["T_end"], "9.1e-2")
    else:
        assert agrees(row["balance_drift"], "1.1")


def test_manipulator_with_the_opposite_bound():
    """E4: the other sign gives another value, so signs count."""
    _, table = rows("siebert/three-link", steps=[20, 40], method="REM", lower=[None, None, 0.0])
    costs_agree(table, three_link.REFERENCES["u3 >= 0"])


@pytest.mark.parametrize("method", ["REM", "GC"])
def test_manipulator_with_friction(method):
    """E5. Energy minus work plus losses is constant with REM."""
    _, table = rows("siebert/three-link", steps=[10, 20], method=method, friction=300.0)
    costs_agree(table, three_link.REFERENCES["friction"])
    drift = max(row["balance_drift"] for row in table.values())
    assert drift < 1e-10 if method == "REM" else drift > 100


@pytest.mark.slow
@pytest.mark.parametrize("method", ["REM", "GC"])
@pytest.mark.parametrize(("case", "options"), [("u3 <= 0", {"upper": [None, None, 0.0]}), ("friction", {"friction": 300.0})])
def test_limits_with_bound_and_friction(case, options, method):
    """E4, E5."""
    steps = [10, 20, 40, 80, 160]
    _, table = rows("siebert/three-link", steps=steps, method=method, **options)
    costs_agree(table, three_link.REFERENCES[case])
    limit_agrees(table, method, steps, three_link.REFERENCES[case], 1e-7)


@pytest.mark.slow
def test_limit_with_the_opposite_bound():
    """E4."""
    _, table = rows("siebert/three-link", steps=[20, 40, 80, 160], method="REM", lower=[None, None, 0.0])
    limit_agrees(table, "REM", [20, 40, 80, 160], three_link.REFERENCES["u3 >= 0"], 2e-6)


# E7: the satellite


@pytest.mark.slow
def test_satellite():
    """E7. Momentum and energy balance hold to round-off (of terms of 1e3 Nms and 7e3 J); the centre of mass stays where it is."""
    _, table = rows("siebert/satellite-ocp", steps=20, method="REM")
    costs_agree(table, satellite_control.REFERENCES[0.0])
    row = table["REM", 20]
    assert row["momentum"] < 1e-10
    assert row["balance_drift"] < 1e-10
    check(row["main_end"], "0.12415 0.03104 -0.06208")
    check(row["rotors_end"], "-6.698 -15.877 -20.160")
    assert agrees(row["T_max"], "7028.4")
    assert agrees(row["T_end"], "2.8e-3")


@pytest.mark.slow
def test_satellite_with_friction():
    """E7."""
    _, table = rows("siebert/satellite-ocp", steps=[20, 40], method="REM", friction=100.0)
    costs_agree(table, satellite_control.REFERENCES[100.0])
    for row in table.values():
        check(row["main_end"], "0.12415 0.03104 -0.06208")
        assert max(row["momentum"], row["balance_drift"]) < 1e-9


@pytest.mark.parametrize("friction", [0.0, 100.0])
def test_reduced_satellite(friction):
    """E7: the problem of six states has the limit of both others; Romberg's scheme, since a step of RATTLie is symmetric."""
    turn = np.pi / np.sqrt(14) * np.arange(1, 4)
    cost = {n: satellite_control.reduced(turn, 5.0, n, friction).solve().cost for n in (20, 40, 80)}
    coarse, fine = extrapolated((20, cost[20]), (40, cost[40])), extrapolated((40, cost[40]), (80, cost[80]))
    assert fine + (fine - coarse) / 15 == pytest.approx(float(satellite_control.REFERENCES[friction]["limit"]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 100.0])
def test_limits_of_the_satellite(friction):
    """E7: GC with Euler angles is always cheaper than REM, and keeps neither momentum nor, with friction, energy. (Its formulas are long:
    to compile them takes a minute, once.)"""
    reference = satellite_control.REFERENCES[friction]
    _, table = rows("siebert/satellite-ocp", steps=[20, 40, 80], friction=friction)
    _, coarse = rows("siebert/satellite-ocp", steps=10, method="GC", friction=friction)
    table = coarse | table
    costs_agree(table, reference)
    limit_agrees(table, "REM", [20, 40, 80], reference, 1e-4)
    limit_agrees(table, "GC", [10, 20, 40, 80], reference, 2e-7)
    for n in (20, 40, 80):
        assert table["GC", n]["cost"] < table["REM", n]["cost"]
        assert table["REM", n]["momentum"] < 1e-9 < table["GC", n]["momentum"]
    if not friction:
        assert agrees(table["GC", 20]["momentum"], "3.8")


@pytest.mark.slow
def test_satellite_with_ten_steps():
    """E7. The rotors turn by more than 2 rad in a step, and there are other minima; large friction first leads around them."""
    via = [1600, 800, 400, 200]
    for friction in (100.0, 0.0):
        _, table = rows("siebert/satellite-ocp", steps=10, method="REM", friction=friction, via=via)
        costs_agree(table, satellite_control.REFERENCES[friction])
        check(table["REM", 10]["main_end"], "0.12415 0.03104 -0.06208")
        via += [100, 50, 20]


# E8: the crane


def test_crane():
    """E8."""
    numbers, table = rows("siebert/crane", steps=[20, 40], method=["BEM", "REM"])
    costs_agree(table, crane.REFERENCE)
    check(table["REM", 40]["u_start"], "360.2648 -124.7457")
    check(table["REM", 40]["u_end"], "-361.9874 -88.3562")
    assert agrees(table["REM", 40]["T_max"], "482.16")
    assert max(row["balance_drift"] for row in table.values()) < 1e-10  # of 4e3 J
    assert numbers["coordinates"]["rope"].min() > 0.2


def test_crane_by_gc():
    """E8."""
    _, table = rows("siebert/crane", steps=[40, 80, 160], method="GC")
    costs_agree(table, crane.REFERENCE)
    limit_agrees(table, "GC", [40, 80, 160], crane.REFERENCE, 1e-5)
    assert agrees(table["GC", 40]["balance_drift"], "10.0")


def test_crane_with_ten_steps():
    """E8."""
    for method, guess in (("BEM", "optimum"), ("REM", "course")):
        _, table = rows("siebert/crane", steps=10, method=method, guess=guess)
        costs_agree(table, crane.REFERENCE)


def test_crane_with_three_of_four_velocities():
    """E8: what is left of the fourth."""
    _, table = rows("siebert/crane", steps=40, method="REM", full_velocity=False)
    assert agrees(table["REM", 40]["cost"], crane.REFERENCE_THREE["REM"][40])
    assert agrees(table["REM", 40]["load_velocity_end"][1], "0.30")
    assert table["REM", 40]["T_end"] == pytest.approx(100 * 0.3006**2 / 2, rel=1e-3)


def test_limit_of_the_crane():
    """E8."""
    _, table = rows("siebert/crane", steps=[40, 80, 160], method="BEM")
    costs_agree(table, crane.REFERENCE)
    limit_agrees(table, "BEM", [40, 80, 160], crane.REFERENCE, 3e-6)
