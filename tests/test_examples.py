"""The scripts in examples/ run, and leave the numbers they print."""

import numpy as np
from support import example


def test_top():
    runs = example("top").runs
    rattle = runs[0]
    assert np.abs(rattle.energy / rattle.energy[0] - 1).max() < 1e-4
    assert rattle.constraint_violation.max() < 1e-13


def test_beams():
    spaghetti = example("beams")
    for sol in spaghetti.runs.values():
        np.testing.assert_allclose(sol.momentum[-1], [50, 0, 0], atol=1e-10)
    assert spaghetti.table().count("\n") == 3


def test_control():
    results = example("control").results
    bem, rem, gc = (results[name] for name in ("BEM", "REM", "GC"))
    np.testing.assert_allclose([bem.cost, rem.cost, gc.cost], [3987882.0165, 3987882.0165, 3987959.42], rtol=1e-8)
    assert np.ptp(bem.solution.balance) < 1e-10 < np.ptp(gc.solution.balance)
