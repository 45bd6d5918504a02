"""Plots: labelled axes, the right numbers, nothing global."""

import subprocess
import sys

import numpy as np
import pytest

import kreisel as kr
from kreisel import view


@pytest.fixture(scope="module")
def top():
    return kr.simulate(kr.models.heavy_top(), until=0.1, step=2**-9)


def columns(ax):
    return np.stack([line.get_ydata() for line in ax.lines], axis=1)


@pytest.mark.parametrize(
    ("draw", "data"),
    [
        (lambda sol: view.plot_position(sol, "top"), lambda sol: sol.position("top")),
        (lambda sol: view.plot_velocity(sol, "top"), lambda sol: sol.velocity("top", "body")[:, :3]),
        (view.plot_energy, lambda sol: np.stack([sol.kinetic_energy, sol.potential_energy, sol.energy], axis=1)),
        (lambda sol: view.plot_energy(sol, change=True), lambda sol: (sol.energy - sol.energy[0])[:, None]),
        (view.plot_multipliers, lambda sol: sol.lam),
    ],
    ids=["position", "velocity", "energy", "change of energy", "multipliers"],
)
def test_over_time(top, draw, data):
    ax = draw(top)
    assert ax.get_xlabel() == "time [s]"
    assert ax.get_ylabel().endswith("]")
    np.testing.assert_array_equal(columns(ax), data(top))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), top.t)
    assert all(text.get_text() for text in ax.get_legend().get_texts())


def test_the_second_scale_of_velocities(top):
    ax = view.plot_velocity(top, "top")
    (second,) = (other for other in ax.figure.axes if other is not ax)
    assert second.get_ylabel() == "velocity of top [m/s]"
    np.testing.assert_array_equal(columns(second), top.velocity("top", "space")[:, 3:])


def test_violation_is_logarithmic(top):
    ax = view.plot_violation(top)
    assert ax.get_yscale() == "log"
    assert columns(ax).min() > 0


def test_path(top):
    ax = view.plot_path(top, "top")
    assert [ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()] == ["x [m]", "y [m]", "z [m]"]
    np.testing.assert_array_equal(np.stack(ax.lines[0].get_data_3d(), axis=1), top.position("top"))


def test_a_given_axis_is_used(top):
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert view.plot_energy(top, ax) is ax
    assert view.plot(top, ["energy"], axes=[ax]) == [ax]


def test_several(top):
    axes = view.plot(top, ("position", "velocity", "energy", "multipliers", "violation", "path"))
    assert len(axes) == 6
    axes[0].figure.draw_without_rendering()


@pytest.mark.parametrize(("what", "error", "message"), [("colour", ValueError, "no plot 'colour'"), ("path", KeyError, "no body 'pot'")])
def test_what_does_not_exist(top, what, error, message):
    with pytest.raises(error, match=message):
        view.plot(top, [what], body="pot")


def test_too_few_axes(top):
    with pytest.raises(ValueError, match="2 plots need as many axes, got 0"):
        view.plot(top, axes=[])


def test_what_has_no_place_shows_its_coordinates():
    sol = kr.simulate(kr.models.oscillator(), until=0.1, step=1e-3)
    position, velocity = view.plot(sol, ("position", "velocity"))
    np.testing.assert_array_equal(columns(position), sol.q)
    np.testing.assert_array_equal(columns(velocity), sol.v)
    assert position.get_ylabel() == "coordinates of q"


def test_importing_and_plotting_leave_pyplot_alone():
    code = "import sys, kreisel.view; print([m for m in ('matplotlib', 'numba') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_snapshots_show_beams_shells_and_bodies():
    m = kr.Mechanism()
    m.beam("rod", 1.0, 4, kr.Section.circle(0.01, E=5e7, nu=0.3, rho=1000), velocity=(0, 2, 0))
    m.shell("plate", (0.4, 0.2), (2, 1), kr.Layer.isotropic(0.01, E=5e7, nu=0.3, rho=1000))
    m.body("ball", 1.0, (0.1, 0.1, 0.1), velocity=(0, 0, 5))
    sol = kr.simulate(m.system(), until=0.1, step=5e-4, every=200)
    ax = view.plot_snapshots(sol, 3)
    _, y, z = ax.lines[2].get_data_3d()
    np.testing.assert_allclose(y, 0.2, rtol=0, atol=1e-9)
    np.testing.assert_allclose([z[0], z[-1]], [0, 1], atol=1e-9)
    assert len(ax.lines) == 3 * (1 + 3 + 2)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["rod, t = 0 s", "rod, t = 0.1 s", "plate, t = 0 s", "plate, t = 0.1 s", "ball"]


@pytest.fixture(scope="module")
def swing_up():
    problem = kr.OptimalControl(kr.models.cart_pole(), 2.0, 20, end=kr.Target({"rail": 1.0, "hinge": np.pi}, rates="rest"))
    return problem.solve(method=kr.GC())


def test_optimal_control(swing_up):
    controls, joints, energy, hamiltonian = view.plot(swing_up)
    sol = swing_up.solution
    for ax, values in ((controls, swing_up.controls["force"]), (hamiltonian, swing_up.hamiltonian)):
        (steps,) = ax.patches
        np.testing.assert_array_equal(steps.get_data().values, values)
        np.testing.assert_array_equal(steps.get_data().edges, swing_up.t)
    np.testing.assert_array_equal(columns(joints)[:, 0], sol.joint("hinge").angle)
    (second,) = (ax for ax in joints.figure.axes if ax.get_ylabel() == "strokes [m]")
    np.testing.assert_array_equal(columns(second)[:, 0], sol.joint("rail").stroke)
    assert [text.get_text() for text in joints.get_legend().get_texts()] == ["hinge", "rail"]
    np.testing.assert_array_equal(columns(energy)[:, 2], sol.energy)
    assert view.plot(sol, ("controls", "joints"))[0].patches


def test_what_only_optimal_control_has(top, swing_up):
    with pytest.raises(ValueError, match="only of optimal control"):
        view.plot(swing_up.solution, ["hamiltonian"])
    with pytest.raises(ValueError, match="no controls to plot"):
        view.plot_controls(top)
    with pytest.raises(ValueError, match="no joint coordinates"):
        view.plot_joints(kr.simulate(kr.models.oscillator(), until=0.1, step=1e-2))


def test_a_scene_of_optimal_control(swing_up, tmp_path):
    text = view.scene(swing_up.solution, tmp_path / "swing-up.html").read_text()
    assert '"name":"pole"' in text
