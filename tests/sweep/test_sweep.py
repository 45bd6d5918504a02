"""Designs, datasets, failures as data, and bad input."""

from functools import partial

import numpy as np
import pytest

import kreisel as kr
from kreisel.sweeps.job import Job, evaluate

TOP = partial(kr.models.extended_top, "SO3")


def ends(sol):
    return {"angle": sol.velocity("top")[-1], "longest": float(sol.t[-1])}


def test_a_grid_is_labelled_and_right():
    data = kr.sweep(
        TOP, {"damping": [0.0, 2.0], "rho_inf": [0.5, 0.9], "step": [0.01, 0.02]}, until=0.5, method=kr.GeneralizedAlpha(), workers=2
    )
    assert data.energy_end.dims == ("damping", "rho_inf", "step")
    sol = kr.simulate(TOP(damping=2.0), 0.5, 0.02, kr.GeneralizedAlpha(0.5))
    assert float(data.energy_end.sel(damping=2.0, rho_inf=0.5, step=0.02)) == sol.energy[-1]
    assert float(data.energy_max.sel(damping=2.0, rho_inf=0.5, step=0.02)) == sol.energy.max()
    assert data.newton_iterations.sel(damping=2.0, rho_inf=0.5, step=0.02) == sol.stats.newton_iterations
    assert data.status.values.ravel().tolist() == ["REACHED_END"] * 8
    assert data.attrs["points_computed"] == 8


def test_a_measure_of_ones_own():
    data = kr.sweep(TOP, {"damping": [0.0, 2.0]}, until=0.1, step=0.01, method=kr.GeneralizedAlpha, measure=ends)
    assert data.angle.dims == ("damping", "angle_0")
    assert np.array_equal(data.angle[1], kr.simulate(TOP(damping=2.0), 0.1, 0.01, kr.GeneralizedAlpha()).velocity("top")[-1])
    assert data.longest.values == pytest.approx([0.1, 0.1])


def test_methods_words_and_systems():
    """Methods as values; formulations as words; a fixed system over steps."""
    data = kr.sweep(kr.models.extended_top, {"formulation": ["SO3", "SE3"], "method": [kr.RATTLie(), kr.BLieDF(2)]}, until=0.1, step=0.01)
    assert data.formulation.values.tolist() == ["SO3", "SE3"]
    assert data.sizes["method"] == 2
    assert float(abs(data.energy_end[0, 0] - data.energy_end[1, 0])) < 1e-6
    top = kr.models.heavy_top("SO3")
    steps = kr.sweep(top, {"step": [0.001, 0.002]}, until=0.1, method=kr.GeneralizedAlpha())
    assert float(steps.energy_end[1]) == kr.simulate(top, 0.1, 0.002, kr.GeneralizedAlpha()).energy[-1]


def test_random_designs_are_reproducible():
    a, b, c = (kr.Design.random(n, seed=s, damping=(0, 5), stiffness=(10, 1e3)) for n, s in ((20, 1), (30, 1), (20, 2)))
    assert [a[i] for i in range(20)] == [b[i] for i in range(20)]
    assert a[0] != c[0]
    assert all(0 <= a[i]["damping"] <= 5 and 10 <= a[i]["stiffness"] <= 1e3 for i in range(20))
    data = kr.sweep(TOP, a, until=0.1, step=0.01)
    assert data.energy_end.dims == ("point",)
    assert data.damping.dims == ("point",)
    assert float(data.energy_end[3]) == kr.simulate(TOP(**a[3]), 0.1, 0.01).energy[-1]


def test_failures_are_data():
    """A mass below zero, a step that does not converge, a measure that fails: told at their points, the others are there."""
    data = kr.sweep(kr.models.heavy_top, kr.Design.table(mass=[15.0, -1.0, 15.0], step=[0.01, 0.01, 50.0]), until=50.0)
    assert data.status.values[:2].tolist() == ["REACHED_END", "REFUSED"]
    assert data.status.values[2] in ("NOT_CONVERGED", "SINGULAR", "NOT_FINITE")
    assert "the mass must be positive" in str(data.message.values[1])
    assert np.isnan(data.energy_end.values[1])
    assert np.isfinite(data.energy_end.values[0])

    def touchy(sol):
        return {"x": 1 / (sol.q[0, 0] - 1)} if sol.q[0, 0] > 1.5 else {"x": [][1]}

    found = kr.sweep(kr.models.oscillator, {"position": [1.0, 2.0]}, until=0.1, step=0.01, measure=touchy)
    assert found.status.values.tolist() == ["UNMEASURED", "REACHED_END"]
    assert "the measure failed: IndexError" in str(found.message.values[0])
    assert np.isnan(found.x.values[0])
    assert found.x.values[1] == 1.0


def test_values_are_told_apart_by_their_bits():
    """0.0 and -0.0 are equal, and so are the words of two long arrays; yet each point has its own model."""
    made = []

    def model(position, shape):
        made.append((str(position), shape[600]))
        return kr.models.oscillator(position=1.0 + abs(position) + shape[600])

    shapes = [np.zeros(2000), np.zeros(2000)]
    shapes[1][600] = 1.0
    design = kr.Design.grid(position=[0.0, -0.0], shape=shapes, step=[0.01, 0.02])
    answers = evaluate(Job(model, kr.RATTLie(), kr.Newton(), 0.1, None), design.some(range(8)))
    assert made == [("0.0", 0.0), ("0.0", 1.0), ("-0.0", 0.0), ("-0.0", 1.0)]  # once each
    small, large = (kr.simulate(kr.models.oscillator(position=p), 0.1, 0.01).energy[0] for p in (1.0, 2.0))
    assert answers["energy_start"] == [small, small, large, large] * 2


def test_what_is_no_number_is_refused_at_its_points():
    data = kr.sweep(
        TOP,
        kr.Design.table(step=[0.01, True, "short", 0.02, -1.0], rho_inf=[0.5, 0.5, 0.5, 7.0, 0.5]),
        until=0.1,
        method=kr.GeneralizedAlpha(),
    )
    assert data.status.values.tolist() == ["REACHED_END", "REFUSED", "REFUSED", "REFUSED", "REFUSED"]
    told = data.message.values.tolist()
    assert told[1:3] == ["step must be a number, got True", "step must be a number, got 'short'"]
    assert "rho_inf" in told[3]
    assert told[4] == "step must be positive, got -1.0"


@pytest.mark.parametrize(
    ("design", "options", "message"),
    [
        ({"dampling": [1]}, {}, "has a parameter 'dampling' .did you mean 'damping'"),
        ({"damping": []}, {}, "damping: the sequence of values is empty, so the design has no points"),
        ({}, {}, "at least one parameter"),
        ({"damping": 3.0}, {}, "the values of a design are a sequence"),
        ({"damping": [1]}, {"step": None}, "say step=..., or make 'step' a parameter of the design"),
        ({"damping": [1]}, {"workers": 0}, "workers must be at least 1"),
    ],
)
def test_bad_designs(design, options, message):
    with pytest.raises(ValueError, match=message):
        kr.sweep(TOP, design, **({"until": 0.1, "step": 0.01} | options))


def test_more_bad_input():
    with pytest.raises(ValueError, match="columns of a table have one length"):
        kr.Design.table(a=[1, 2], b=[1])
    with pytest.raises(ValueError, match="a range is"):
        kr.Design.random(3, a=(1, 2, 3))
    with pytest.raises(TypeError, match="a design is"):
        kr.sweep(TOP, [1, 2], until=1, step=0.1)
    with pytest.raises(TypeError, match="method must be"):
        kr.sweep(TOP, {"damping": [1]}, until=1, step=0.1, method="RATTLie")
    with pytest.raises(ValueError, match="is a parameter of the model, but also of the method"):
        kr.sweep(lambda rho_inf: TOP(damping=rho_inf), {"rho_inf": [0.5]}, until=1, step=0.1, method=kr.GeneralizedAlpha())
    with pytest.raises(ValueError, match="has not the same shape at all points"):
        kr.sweep(TOP, {"step": [0.01, 0.02]}, until=0.1, measure=lambda sol: {"path": sol.t})
