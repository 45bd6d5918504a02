"""First guesses: what they tell of carried coordinates, of angles of attitude, and of controls."""

import numpy as np
import pytest

import kreisel as kr
from kreisel.control import OptimalControl, Target
from kreisel.control.guess import Course, given
from kreisel.rotations import EulerAngles


def crane(method, steps, guess):
    """From a rope of 4 m to one of 3 m, 1 m further."""
    end = Target(q=[1, 3, 0], rates="rest") if isinstance(method, kr.GC) else Target(q=[1, 30, 1, 3], v=np.zeros(4))
    system = kr.models.overhead_crane("directors" if isinstance(method, kr.BEM) else "minimal")
    return OptimalControl(system, 3.0, steps, end, guess=guess)


STRAIGHT = {"crane": lambda s: [s, 4 - s, 0.0], "winch": lambda s: -98.1}


def test_coordinates_that_carry_others():
    """(s, l, alpha) tell of trolley, winch and load; REM has the velocities of these."""
    d = crane(kr.REM(), 4, STRAIGHT).discrete(kr.REM())
    times = np.linspace(0, 3, 5)
    course = given(d, times, STRAIGHT)
    s = times / 3
    assert np.allclose(course.nodes["winch"][0][:, 0], 10 * (4 - s))
    assert np.allclose(course.nodes["load"][0], np.stack([s, 4 - s], axis=1))
    z = course.states(d)
    assert np.allclose(z[2], [*(0.5, 3.5, 0), *(1 / 3, -10 / 3, 1 / 3, -1 / 3)])
    assert np.allclose(course.controls["winch"], -98.1)


def test_unknown_coordinate():
    with pytest.raises(ValueError, match=r"no joint, body, coordinate or control 'crain'; there are .*'crane'"):
        crane(kr.GC(), 4, {"crain": lambda s: [s, 4 - s, 0.0]}).solve(kr.GC())


def test_results_of_other_methods_and_steps():
    """A result in minimal coordinates is a guess for BEM and REM, one of REM for more steps of REM."""
    gc = crane(kr.GC(), 10, STRAIGHT).solve(kr.GC())
    rem = crane(kr.REM(), 10, gc).solve(kr.REM())
    bem = crane(kr.BEM(), 10, gc).solve(kr.BEM())
    assert rem.success
    assert rem.cost == pytest.approx(bem.cost, rel=1e-10)
    finer = crane(kr.REM(), 10, gc).solve(kr.REM(), refine=1)
    assert finer.success
    assert finer.discrete.steps == 20
    assert finer.cost == pytest.approx(gc.cost, rel=0.02)


def test_means_of_controls():
    """Of a course with fewer steps, controls are the means over these."""
    fine = crane(kr.GC(), 10, STRAIGHT).solve(kr.GC())
    course = Course.of_solution(fine.solution, np.linspace(0, 3, 6))
    assert np.allclose(course.controls["force"], fine.controls["force"].reshape(5, 2).mean(axis=1))


def test_euler_angles_go_on_over_half_a_turn():
    angles = EulerAngles("zxz")
    m = kr.Mechanism()
    main = m.body("main", 2.0, (1.0, 1.0, 1.0), rotation=angles.matrix([2, 2, 2]))
    wheel = m.body("wheel", 1.0, (0.1, 0.1, 0.1), rotation=angles.matrix([2, 2, 2]))
    m.joint(kr.Revolute(main, wheel, at=(0, 0, 0), axis=(0, 0, 1), name="axle"))
    m.force(kr.Torque("axle", control="u"))
    d = OptimalControl(m.system("minimal", angles), 5.0, 4, Target({"axle": 3.0})).discrete(kr.GC())
    course = given(d, np.linspace(0, 5, 5), {"main": (None, lambda s: angles.matrix([2 + 2 * s, 2, 2 - s])), "axle": lambda s: 3 * s})
    z = course.states(d)
    assert np.allclose(z[:, 3], [2, 2.5, 3, 3.5, 4])
    assert np.allclose(z[-1, 3:7], [4, 2, 1, 3])
