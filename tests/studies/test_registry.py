"""Every study runs at a small size, gives plain numbers, and draws."""

import json

import numpy as np
import pytest

from kreisel.studies import STUDIES, Result, find, reproduce, study
from kreisel.studies.base import fitted_order, plain
from kreisel.studies.words import method_of, value_of

SMALL = {
    "hante/heavy-top-order": {"coarsest": 8, "finest": 9, "t_end": 0.25},
    "hante/heavy-top-energy": {"finest": 10, "t_end": 0.25},
    "hante/heavy-top-groups": {"t_end": 0.1, "repetitions": 2},
    "hante/multipliers-top": {"finest": 9, "t_end": 0.25},
    "hante/flying-spaghetti-time": {"coarsest": 8, "finest": 9, "refinement": 1, "t_end": 0.25, "segments": 4},
    "hante/flying-spaghetti-methods": {"coarsest": 8, "finest": 9, "refinement": 1, "t_end": 0.25, "segments": 4},
    "hante/flying-spaghetti-multipliers": {"coarsest": 8, "finest": 9, "refinement": 1, "t_end": 0.25, "segments": 4},
    "hante/flying-spaghetti-variable-steps": {"coarsest": 8, "finest": 9, "refinement": 1, "t_end": 0.25, "segments": 4, "seeds": 1},
    "hante/flying-spaghetti-space": {"meshes": [2, 4], "refinement": 1, "step": 2**-8, "t_end": 0.25},
    "hante/roll-up": {"meshes": [2], "t_end": 0.5},
    "hante/shell": {"steps": [2**-10, 2**-11], "refinement": 2, "t_end": 0.0625, "meshes": [2], "cells": [1, 1]},
    "beam/45-degree-bend": {"meshes": [2, 4]},
    "beam/frequencies": {"meshes": [4, 8], "count": 1},
    "hante/rolling-disk": {"steps": 512, "halvings": 1, "refinement": 2},
    "klemps/soft-spring": {"t_end": 0.5},
    "klemps/stiff-spring": {"damping": 100, "t_end": 0.2},
    "klemps/angle-wrap": {"t_end": 0.2},
    "sadlowski/oscillators": {"halvings": 1, "t_end": 2.0, "forced_steps": [0.1, 0.05], "forced_end": 10.0},
    "sadlowski/intermediate-axis": {"step": 0.1, "t_end": 3.0},
    "sadlowski/heavy-top": {"steps": [0.02, 0.04], "t_end": 1.0},
    "sadlowski/printed-tangents": {"steps": [0.1], "top_steps": [0.04], "t_end": 2.5},
    "sadlowski/rotation-generation": {"steps": [0.1, 0.5], "sweeps": [0, 90], "schemes": "midpoint"},
    "sadlowski/step-operators": {"steps": [0.1, 0.5], "alphas": 0.5},
    "siebert/satellite-forward": {"steps": [5, 10]},
    "siebert/satellite-friction": {"steps": [5]},
    "siebert/gyro-top": {"steps": [0.01], "t_end": 0.1},
    "siebert/three-link": {"steps": [5, 10], "method": ["REM", "GC"]},
    "siebert/satellite-ocp": {"steps": [10], "method": "REM", "turn": [0.1, 0.2, 0.3]},
    "siebert/crane": {"steps": [20], "method": ["BEM", "REM"]},
    "siebert/pendulum": {"steps": [10, 20]},
    "siebert/particle": {"steps": [10, 20], "reference": 40},
    "siebert/three-link-indirect": {"steps": [20]},
    "control/cart-pole": {"methods": ["GC", "REM"], "steps": [20, 40]},
    "control/reorientation": {"formulations": "S3", "steps": [5, 10, 20]},
    "control/beam-tip": {"steps": 20, "segments": 2},
    "benchmark/iftomm-pendulum": {"t_end": 0.5},
    "benchmark/iftomm-n-four-bar": {"t_end": 0.2, "step": 0.01},
    "benchmark/iftomm-squeezer": {"steps": 50, "t_end": 0.003},
    "benchmark/iftomm-bricard": {"t_end": 0.1},
    "benchmark/iftomm-governor": {"t_end": 0.05},
    "klemps/amplification": {"rho_inf": [0.9]},
    "klemps/equilibria": {"formulation": "SO3", "tries": 4},
    "klemps/lyapunov": {"formulation": "SO3", "count": 20},
    "klemps/linearisation": {"formulation": "SO3", "count": 4},
    "klemps/corollary-counterexample": {"t_end": 10.0},
    "klemps/stability-region": {"points": 2, "t_end": 0.5},
    "klemps/oscillator-comparison": {"stiffness": [100.0, 1e6], "t_end": 0.2},
    "mueller/four-bar-baumgarte": {"t_end": 3.0},
    "mueller/brick-pendulum": {"halvings": 1, "t_end": 2.0},
    "mueller/free-body": {"t_end": 1.0},
    "kreisel/group-accuracy": {"groups": "SO3", "samples": 1},
}
#: Of equilibria, spectra, rotations and many runs: there is no one motion whose end could be told.
WITHOUT_RUN = {
    "klemps/amplification", "klemps/equilibria", "klemps/lyapunov", "klemps/linearisation", "klemps/corollary-counterexample",
    "klemps/stability-region", "klemps/oscillator-comparison", "kreisel/group-accuracy", "sadlowski/rotation-generation",
    "sadlowski/step-operators",
}  # fmt: skip
#: Of systems that are no bodies.
COORDINATES_ALONE = {
    "sadlowski/oscillators", "mueller/four-bar-baumgarte", "mueller/brick-pendulum", "mueller/free-body", "siebert/pendulum",
    "siebert/particle", "siebert/three-link-indirect", "siebert/crane",
}  # fmt: skip
OF_A_RUN = {"t_end", "position", "rotation", "velocity", "energy_start", "energy_end", "max_constraint", "newton_iterations_mean"}


def test_the_list_is_complete():
    assert set(SMALL) == set(STUDIES)


@pytest.mark.parametrize("name", SMALL)
def test_study(name, tmp_path):
    result = reproduce(name, **SMALL[name])
    assert result.name == name
    assert result.source
    assert set(SMALL[name]) <= set(result.options)
    text = json.dumps(result.plain(), allow_nan=False)
    numbers = json.loads(text)["numbers"]
    if name not in WITHOUT_RUN:
        assert set(numbers) >= OF_A_RUN
        body, rotation = next(iter(numbers["rotation"].items()))
        if name in COORDINATES_ALONE:
            assert rotation is None
            assert numbers["position"][body] is None
        else:
            assert rotation is None or np.allclose(np.array(rotation) @ np.transpose(rotation), np.eye(3), atol=1e-12)
            assert len(numbers["position"][body]) == 3
    if "error_table" in numbers:
        assert {"q", "v", "lam"} <= set(numbers["orders"])
        assert len({len(column) for column in numbers["error_table"].values()}) == 1
    assert all(isinstance(a, np.ndarray) for a in result.arrays.values())
    result.save_figure(str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_parameters_of_model_and_method_are_options():
    light = reproduce("hante/heavy-top-order", method="GeneralizedAlpha", rho_inf=0.5, mass=10.0, coarsest=9, finest=11, t_end=0.25).numbers
    assert "rho_inf=0.5" in light["method"]
    assert light["orders"]["q"] == pytest.approx(2, abs=0.1)  # so the reference is that of the lighter top, too


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hante/rolling-disc", {}, "did you mean 'hante/rolling-disk'"),
        ("hante/rolling-disk", {"stepz": 1}, "has no option 'stepz' .*did you mean 'steps'"),
        ("hante/rolling-disk", {"steps": "many"}, "steps must be a number"),
        ("hante/rolling-disk", {"steps": 2.5}, "steps must be a whole number"),
        ("hante/rolling-disk", {"steps": 100}, "multiple of"),
        ("hante/heavy-top-order", {"method": "Rattle"}, "there is no method 'Rattle'.*RATTLie"),
        ("hante/heavy-top-order", {"rho_inf": 0.5}, "neither heavy_top nor the method"),
        ("hante/heavy-top-order", {"coarsest": 9, "finest": 9}, "finest must be greater"),
        ("hante/multipliers-top", {"formulation": "S3"}, "SO3xR3"),
        ("klemps/soft-spring", {"damping": []}, "must not be empty"),
        ("klemps/soft-spring", {"formulation": 3}, "must be a word"),
        ("klemps/angle-wrap", {"alpha": 0.0}, "must not be zero"),
        ("sadlowski/rotation-generation", {"forms": "seven"}, "there is no form 'seven'"),
        ("sadlowski/rotation-generation", {"steps": -0.1}, "must be positive"),
        ("sadlowski/rotation-generation", {"omega": [0, 0, 0]}, "not all zero"),
        ("sadlowski/step-operators", {"forms": "five"}, "there is no linear form 'five'"),
        ("siebert/three-link", {"upper": [0.0]}, "three numbers"),
        ("siebert/three-link", {"solver": "snopt"}, "there is no solver 'snopt'"),
        ("siebert/three-link", {"formulation": "SE3"}, "has no option 'formulation'"),
        ("siebert/crane", {"guess": "random"}, "guess must be 'optimum' or 'course'"),
        ("siebert/satellite-ocp", {"at_rest": "none"}, "at_rest must be"),
    ],
)
def test_mistakes(name, options, message):
    with pytest.raises(ValueError, match=message):
        reproduce(name, **options)


def test_a_study_of_ones_own():
    @study("test/own", source="nowhere")
    def own(*, size: int = 2) -> Result:
        """Shows nothing."""
        return Result({"double": 2 * size, "undefined": float("nan")})

    try:
        result = find("test/own")(size=3)
        assert result.plain() == {
            "name": "test/own",
            "source": "nowhere",
            "options": {"size": 3},
            "numbers": {"double": 6, "undefined": None},
        }
        assert find("test/own").summary == "Shows nothing."
    finally:
        del STUDIES["test/own"]


def test_fitted_order():
    h = np.array([0.1, 0.05, 0.025])
    assert fitted_order(h, 3 * h**2) == pytest.approx(2)
    assert np.isnan(fitted_order(h, 0 * h))


def test_plain_numbers():
    assert plain({"a": np.arange(2), "b": (np.float64(1.5), float("inf")), "c": None}) == {"a": [0, 1], "b": [1.5, None], "c": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2**11", 2048),
        ("2**-3", 0.125),
        ("-pi", -np.pi),
        ("1e5", 1e5),
        ("[1, 2]", [1, 2]),
        ("True", True),
        ("fast", "fast"),
        ("a+b", "a+b"),
    ],
)
def test_values(text, value):
    assert value_of(text) == value
    assert type(value_of(text)) is type(value)


@pytest.mark.parametrize(
    "words", ["RATTLie().stages", "__import__('os')", "BLieDF(", "BLieDF(1, 2)", "BLieDF(j=1)", "GeneralizedAlpha(rho_inf=high)"]
)
def test_words_that_are_no_method(words):
    with pytest.raises(ValueError, match=r"method|takes at most|no parameter|must be a number"):
        method_of(words)
