"""What a solution shows: steps, records, events, dense output, frames, energies; and Newton's options."""

import os
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
from support import ALL_METHODS, FORMULATIONS, HeavyTop, home

import kreisel as kr

RIGID = ["SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"]


def ball(height=1.0):
    m = kr.Mechanism(gravity=(0, 0, -10))
    m.point("ball", 1.0, position=(0, 0, height), velocity=(1, 0, 0))
    return m.system()


# Newton's options


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha(), kr.GeneralizedAlpha(index="stabilised-2"), kr.BLieDF(2)], ids=repr)
@pytest.mark.parametrize(
    "newton",
    [
        kr.Newton(matrix="simplified"), kr.Newton(matrix="frozen"), kr.Newton(norm="rms"), kr.Newton(start="zero"),
        kr.Newton(start=lambda n, h: n.v), kr.Newton(atol=1e-14, rtol=1e-14), kr.Newton(atol=1e-12, rtol=0),
    ],
    ids=lambda n: f"{n.matrix}, {n.norm}, {'function' if callable(n.start) else n.start}, {n.atol}, {n.rtol}",
)  # fmt: skip
def test_all_ways_to_solve_give_the_same_trajectory(newton, method):
    """Each step is solved to about 1e-12; over 200 steps of the slow top that stays below 1e-9."""
    top = kr.models.heavy_top("SO3xR3", "slow")
    a, b = (kr.simulate(top, until=0.5, step=2**-9, method=method, newton=n) for n in (kr.Newton(), newton))
    assert a.success
    assert b.success, b.message
    np.testing.assert_allclose(b.q, a.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(b.v, a.v, rtol=0, atol=1e-8)
    assert b.constraint_violation.max() < 1e-12


def test_what_the_matrices_cost():
    """A simplified matrix is made once per step and takes more iterations; a frozen one, of a slow motion, is made seldom."""

    def stats(spin, matrix):
        top = kr.models.heavy_top("SO3xR3", spin)
        return kr.simulate(top, until=0.5, step=2**-9, method=kr.GeneralizedAlpha(), newton=kr.Newton(matrix=matrix)).stats

    exact, simplified = stats("fast", "exact"), stats("fast", "simplified")
    assert exact.steps == simplified.steps == 256
    assert simplified.factorisations == 256
    assert exact.factorisations == exact.newton_iterations < simplified.newton_iterations
    assert exact.newton_iterations_mean == pytest.approx(exact.newton_iterations / 256)
    assert stats("slow", "frozen").factorisations < 128


def test_looser_tolerances_cost_less_and_show_it():
    """Those of the sources: atol 1e-8, rtol 1e-6; with a simplified matrix such an increment leaves an error of nearly its size."""
    top = kr.models.heavy_top("SO3xR3", "fast")
    options = {"matrix": "simplified", "norm": "rms", "max_iterations": 100}
    tight, loose = (
        kr.simulate(top, until=0.5, step=2**-9, newton=n) for n in (kr.Newton(**options), kr.Newton(atol=1e-8, rtol=1e-6, **options))
    )
    assert tight.success
    assert loose.success
    assert loose.stats.newton_iterations < tight.stats.newton_iterations
    assert tight.constraint_violation.max() < 1e-12 < loose.constraint_violation.max() < 1e-6


def test_tolerances_per_component():
    """A tolerance that is loose for everything is not for the one component that is kept tight: nodes first, then multipliers."""
    top = kr.models.heavy_top("S3R3", "fast")
    loose = np.full(9, 1e4)
    tight = np.full(9, 1e-13)
    mixed = loose.copy()
    mixed[:6] = 1e-13
    all_loose, all_tight, some = (
        kr.simulate(top, until=0.25, step=2**-9, newton=kr.Newton(atol=a, rtol=0.0), method=kr.GeneralizedAlpha())
        for a in (loose, tight, mixed)
    )
    assert all_loose.stats.newton_iterations < some.stats.newton_iterations <= all_tight.stats.newton_iterations
    np.testing.assert_allclose(some.q, all_tight.q, atol=1e-10)
    assert np.abs(all_loose.q - all_tight.q).max() > 1e-9


# Steps and records


def test_a_step_that_does_not_fit_is_shortened():
    sol = kr.simulate(ball(), until=1, step=0.3)
    np.testing.assert_allclose(sol.t, [0, 0.25, 0.5, 0.75, 1], rtol=1e-15)
    assert kr.simulate(ball(), until=0.3, step=0.1).t == pytest.approx([0, 0.1, 0.2, 0.3], abs=1e-15)
    assert len(kr.simulate(ball(), until=0.1, step=5).t) == 2


def test_a_sequence_of_steps():
    """Of equal ones: the same run. Of others: those times."""
    top = kr.models.heavy_top("S3R3", "slow")
    a, b = (kr.simulate(top, until=0.5, step=h) for h in (2**-8, np.full(128, 2.0**-8)))
    np.testing.assert_array_equal(a.q, b.q)
    steps = np.array([0.1, 0.05, 0.2, 0.15])
    np.testing.assert_allclose(kr.simulate(top, until=0.5, step=steps).t, [0, 0.1, 0.15, 0.35, 0.5], rtol=1e-14)


@pytest.mark.parametrize("method", [m for m in ALL_METHODS if not isinstance(m, kr.SHAKELie)], ids=repr)
def test_every_kth_step(method):
    """The same run, fewer records."""
    top = home(method)
    a, b = (kr.simulate(top, until=60 * 2**-10, step=2**-10, method=method, every=k) for k in (1, 4))
    for name in ("t", "q", "v", "lam", "a", "energy"):
        x, y = getattr(a, name)[::4], getattr(b, name)
        if name == "a" and "a" not in method.states:  # solved from q and v once more
            np.testing.assert_allclose(y, x, rtol=1e-10, atol=1e-9)
        else:
            np.testing.assert_array_equal(y, x)
    assert b.stats.steps == a.stats.steps


def test_every_kth_step_of_shakelie():
    """Its velocities are means over neighbouring steps: without them it has none to show."""
    top = kr.models.heavy_top("SO3xR3", "fast")
    a, b = (kr.simulate(top, until=60 * 2**-10, step=2**-10, method=kr.SHAKELie(), every=k) for k in (1, 4))
    np.testing.assert_array_equal(a.q[::4], b.q)
    with pytest.raises(ValueError, match="every=1"):
        _ = b.v


def test_runs_are_reproducible_to_the_last_bit():
    for method in ALL_METHODS:
        top = home(method)
        a, b = (kr.simulate(top, until=2**-4, step=2**-9, method=method) for _ in range(2))
        np.testing.assert_array_equal(a._records, b._records)


def test_another_start():
    """A run from the middle of another one continues it: q and v of RATTLie are all there is."""
    top = kr.models.heavy_top("S3R3", "fast")
    whole = kr.simulate(top, until=0.5, step=2**-10)
    half = whole(0.25)
    for initial in (half, {"top": (half.q, half.v)}):
        rest = kr.simulate(top, until=0.25, step=2**-10, initial=initial)
        np.testing.assert_allclose(rest.q, whole.q[256:], atol=1e-10)


def test_initial_accelerations():
    """Given ones are taken over; those of the equations of motion change nothing."""
    top, method = kr.models.heavy_top("S3", "fast"), kr.GeneralizedAlpha()
    own = kr.simulate(top, until=0.1, step=2**-9, method=method)
    given = kr.simulate(top, until=0.1, step=2**-9, method=method, acceleration={"top": own.a[0]})
    other = kr.simulate(top, until=0.1, step=2**-9, method=method, acceleration={"top": own.a[0] + 1})
    np.testing.assert_array_equal(own.q, given.q)
    np.testing.assert_array_equal(other.a[0], own.a[0] + 1)
    assert np.abs(other.q - own.q).max() > 1e-6


# Events


def test_events_are_recorded():
    """A point on a parabola: RATTLie is exact for it, interpolation linear in a step, off by g h^2/8 at most."""
    h = 0.01
    sol = kr.simulate(
        ball(), until=1, step=h, events=[kr.When("floor", "ball", lambda t, b: b.x[2]), kr.When("post", "ball", lambda t, b: b.x[0] - 0.75)]
    )
    assert sol.status is kr.Status.REACHED_END
    assert [e.name for e in sol.events] == ["floor", "post"]
    floor, post = sol.events
    speed = np.sqrt(20)
    assert floor.t == pytest.approx(np.sqrt(0.2), abs=10 * h**2 / 8 / speed)
    assert floor.t != pytest.approx(np.sqrt(0.2), abs=1e-12)
    assert post.t == pytest.approx(0.75, abs=1e-13)
    assert floor.state.q[2] == pytest.approx(0, abs=1e-14)
    assert floor.state.t == floor.t
    assert floor.state.v[2] == pytest.approx(-10 * floor.t, abs=1e-12)
    np.testing.assert_array_equal(sol.q, kr.simulate(ball(), until=1, step=h).q)


def test_an_event_stops_the_run():
    sol = kr.simulate(ball(), until=1, step=0.01, events=[kr.When("floor", "ball", lambda t, b: b.x[2], stop=True)])
    assert sol.status is kr.Status.EVENT
    assert sol.success
    assert sol.message.startswith("event 'floor' stopped the run at t = 0.447")
    assert sol.t[-1] == sol.events[-1].t == pytest.approx(0.4471910112, abs=1e-9)  # the records end where the event is
    assert sol.t[-2] == pytest.approx(0.44, abs=1e-14)
    assert abs(sol.position("ball")[-1, 2]) < 1e-12
    assert repr(kr.When("floor", "ball", lambda t, b: b.x[2], stop=True)) == "When(name='floor', stop=True)"


def test_two_events_in_one_step():
    """Both are found, in the order of time, and the one that stops does so."""

    def crossings(*stop):
        at = {"first": 0.231, "second": 0.237}
        return [kr.When(name, "ball", lambda t, b, x=at[name]: b.x[0] - x, stop=name in stop) for name in ("second", "first")]

    sol = kr.simulate(ball(), until=1, step=0.01, events=crossings())
    assert [e.name for e in sol.events] == ["first", "second"]
    assert [e.t for e in sol.events] == pytest.approx([0.231, 0.237], abs=1e-12)
    sol = kr.simulate(ball(), until=1, step=0.01, events=crossings("first"))
    assert (sol.status, [e.name for e in sol.events]) == (kr.Status.EVENT, ["first"])
    sol = kr.simulate(ball(), until=1, step=0.01, events=crossings("second"))
    assert (sol.status, [e.name for e in sol.events]) == (kr.Status.EVENT, ["first", "second"])


def test_events_of_a_top():
    """Every revolution of the spin, by the angle of the body about its axis: as many as there are."""
    top = kr.models.heavy_top("S3R3", "fast")
    sol = kr.simulate(top, until=0.25, step=2**-11, events=[kr.When("turn", "top", lambda t, b: b.R[2, 0])])
    exact = HeavyTop("fast", np.linspace(0, 0.25, 20001))
    crossings = 1 + np.flatnonzero(np.diff(np.sign(exact.R[1:, 2, 0])))  # it starts at zero
    assert len(sol.events) == len(crossings) == pytest.approx(0.25 * 150 / np.pi, abs=1)
    # error of the method, below 1e-3 of a radian at 150 per second
    np.testing.assert_allclose([e.t for e in sol.events], exact.t[crossings], atol=2e-3 / 150 + 2 * 0.25 / 20000)


def test_events_see_velocities_and_time():
    for method in (kr.RATTLie(), kr.GeneralizedAlpha(), kr.SHAKELie()):
        events = [kr.When("top of the way", "ball", lambda t, b: b.velocity[2]), kr.When("noon", lambda t: t - 0.305)]
        m = kr.Mechanism(gravity=(0, 0, -10))
        m.point("ball", 1.0, velocity=(0, 0, 5))
        sol = kr.simulate(m.system(), until=1, step=0.01, method=method, events=events)
        assert [e.name for e in sol.events] == ["noon", "top of the way"]
        assert [e.t for e in sol.events] == pytest.approx([0.305, 0.5], abs=1e-9)


# In between


@pytest.mark.parametrize("coordinates", RIGID)
def test_dense_output(coordinates):
    """Stays on the group, passes through the records, and is of second order."""
    errors = []
    for n in (256, 512, 1024):
        sol = kr.simulate(kr.models.heavy_top(coordinates, "slow"), until=1, step=1 / n, method=kr.Composition(order=4))
        group = sol.system.nodes[0].group
        np.testing.assert_allclose(sol(sol.t[17]).q, sol.q[17], atol=1e-15)
        t = (np.arange(n) + 0.5) / n
        state = sol(t)
        group.inverse(state.q)  # refuses what is no element
        assert (state.q.shape, state.v.shape) == ((n, group.n_params), (n, 6))
        exact = HeavyTop("slow", np.r_[0, t])
        R = kr.convert(state.q, group, kr.SO3 * kr.R(3))[:, :9].reshape(-1, 3, 3)
        errors.append([np.abs(R - exact.R[1:]).max(), np.abs(state.v[:, :3] - exact.omega[1:]).max()])
    np.testing.assert_allclose(np.log2(np.array(errors)[:-1] / np.array(errors)[1:]), 2, atol=0.1)
    assert isinstance(sol(0.3).t, float)
    assert sol([[0.1, 0.2]]).q.shape == (1, 2, group.n_params)


# Frames


@pytest.mark.parametrize("coordinates", FORMULATIONS)
def test_velocities_in_all_frames(coordinates):
    sol = kr.simulate(kr.models.heavy_top(coordinates, "fast"), until=0.125, step=2**-10)
    R, x, X = sol.rotation("top"), sol.position("top"), np.array([0, 1.0, 0])
    body, space, own = (sol.velocity("top", f) for f in ("body", "space", "own"))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, body[:, :3]), space[:, :3], atol=1e-11)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, body[:, 3:]), space[:, 3:], atol=1e-11)
    np.testing.assert_allclose(space[:, 3:], np.cross(space[:, :3], x), atol=1e-10)
    np.testing.assert_allclose(body[:, 3:], np.cross(body[:, :3], X), atol=1e-10)
    np.testing.assert_allclose(own[:, :3], body[:, :3], atol=1e-12)
    if coordinates not in ("SO3", "S3"):
        np.testing.assert_allclose(own[:, 3:], (space if "x" in coordinates else body)[:, 3:], atol=1e-11)
    np.testing.assert_allclose(sol.velocity("top"), own)
    np.testing.assert_allclose(x, R @ X, atol=1e-12)


@pytest.mark.parametrize("coordinates", FORMULATIONS)
def test_rotation_vectors(coordinates):
    sol = kr.simulate(kr.models.heavy_top(coordinates, "fast"), until=0.125, step=2**-10)
    r = sol.rotation_vector("top")
    assert r.shape == (129, 3)
    assert np.linalg.norm(r, axis=1).max() <= np.pi + 1e-12
    np.testing.assert_allclose(kr.SO3.exp(r), sol.rotation("top").reshape(-1, 9), atol=1e-11)


# Energies


def test_balance_of_energy():
    """E + dissipated - work is constant up to second order, while each part changes by much more."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bob", 1.0, (0.1, 0.2, 0.3), position=(1, 0, 0), omega=(0, 1, 0), velocity=(0, 0, -1))
    m.joint(kr.Spherical("ground", "bob", at_b=(-1, 0, 0)))
    m.force(kr.Friction("bob", rotational=0.3))
    m.force(kr.Load("bob", force=(0, 5, 0), history=lambda t: ca.sin(4 * t)))
    for method in (kr.RATTLie(), kr.GeneralizedAlpha(), kr.BLieDF(2)):
        gaps = []
        for n in (200, 400, 800):
            sol = kr.simulate(m.system("SE3"), until=2, step=2 / n, method=method)
            gaps.append(np.ptp(sol.balance))
            assert np.all(np.diff(sol.dissipated) >= 0)
            assert min(np.ptp(sol.energy), sol.dissipated[-1], np.ptp(sol.work)) > 0.3
            np.testing.assert_allclose(sol.balance, sol.energy + sol.dissipated - sol.work, atol=1e-14)
        assert gaps[-1] < 0.02
        assert np.log2(gaps[1] / gaps[2]) == pytest.approx(2, abs=0.2)


def test_energy_of_the_heavy_top():
    """Hante, E8: 5435.69679."""
    for coordinates in FORMULATIONS:
        sol = kr.simulate(kr.models.heavy_top(coordinates, "fast"), until=2**-9, step=2**-10)
        assert sol.energy[0] == pytest.approx(5435.69679, abs=1e-5)


def test_numbers_of_the_extended_top():
    """Klemps, E2 (d = 1), with his options: angles and energies, in the three forms; accelerations and multipliers of the start."""
    newton = kr.Newton(atol=1e-8, rtol=1e-6, norm="rms", max_iterations=20)
    for form in ("SO3", "SE3", "SO3xR3"):
        sol = kr.simulate(kr.models.extended_top(form, damping=1.0), until=2, step=0.01, method=kr.GeneralizedAlpha(), newton=newton)
        R = sol.rotation("top")
        assert np.arctan2(R[:, 2, 1], R[:, 2, 2])[[100, 200]] == pytest.approx([-0.088615, -0.069963], abs=2e-6)
        assert sol.energy[[0, 100, 200]] == pytest.approx([-115.8539, -143.1926, -146.2750], abs=3e-4)
        assert np.all(np.diff(sol.energy) < 0)
        assert sol.a[0, :3] == pytest.approx([-167.551608, -0.535876, -0.535876], abs=1e-6)
        if form != "SO3":
            assert sol.lam[0] == pytest.approx([146.696386, -0.125596, 0.125596], abs=1e-6)


# Memory


def test_an_unwrapped_angle():
    """Klemps, E9: with the printed start guess and wrapped angle the run is lost; remembered turns, or a guess of zero, repair it."""
    run = {"until": 5, "step": 0.02, "method": kr.GeneralizedAlpha()}
    top = {"alpha": np.pi / 20, "stiffness": 1e5, "damping": 10.0}
    wrapped = kr.simulate(kr.models.extended_top("SO3", **top), **run)
    assert wrapped.success
    assert wrapped.energy[-1] > 1e8
    zero = kr.simulate(kr.models.extended_top("SO3", **top), newton=kr.Newton(start="zero"), **run)
    unwrapped = kr.simulate(kr.models.extended_top("SO3", angle="unwrapped", **top), **run)
    for sol in (zero, unwrapped):
        assert sol.energy[-1] == pytest.approx(-147.1256, abs=1e-4)


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha(), kr.SHAKELie()], ids=str)
def test_the_spring_remembers_full_turns(method):
    """A top that spins freely winds the spring up over several turns: the energy in it is k/2 of the whole angle, as for the oscillator."""
    system = kr.models.extended_top("SO3", stiffness=0.5, angle="unwrapped", alpha=0.1, gamma=-np.pi / 2)
    start = kr.simulate(system, until=0.01, step=0.01)
    sol = kr.simulate(system, until=4, step=2**-8, method=method, initial={"top": (start.q[0], np.array([15.0, 0, 0]))})
    w = np.sqrt(0.5 / 0.46875)
    alpha = 0.1 * np.cos(w * sol.t) + 15 / w * np.sin(w * sol.t)
    assert np.ptp(alpha) > 4 * np.pi
    spring = sol.potential_energy - sol.potential_energy[0] + 0.5 / 2 * 0.1**2
    # hanging straight down, it is an oscillator: phase error w^3 h^2 t / 24 and the like
    np.testing.assert_allclose(spring, 0.5 / 2 * alpha**2, atol=1e-2)


# Other back ends, other orders of import


def test_the_virtual_machine_gives_the_same_trajectory():
    code = (
        "import kreisel as kr\n"
        "for method in (kr.RATTLie(), kr.GeneralizedAlpha(index='stabilised-2')):\n"
        "    sol = kr.simulate(kr.models.heavy_top('SE3', 'fast'), until=2**-6, step=2**-9, method=method)\n"
        "    print(sol.status.name, *(float(x).hex() for x in [*sol.q[-1], *sol.v[-1]]))\n"
    )
    runs = []
    for backend in ("vm", "llvm"):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "KREISEL_BACKEND": backend}
        )
        runs.append([line.split() for line in out.stdout.splitlines()])
    for a, b in zip(*runs, strict=True):
        assert a[0] == b[0] == "REACHED_END"
        np.testing.assert_allclose([float.fromhex(x) for x in a[1:]], [float.fromhex(x) for x in b[1:]], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("first", ["from kreisel.simulation import Newton", "import kreisel.simulation.program", "pass"])
def test_simulate_is_a_function_however_it_is_imported(first):
    code = f"{first}\nimport kreisel as kr\nprint(kr.simulate(kr.models.oscillator(), until=1, step=0.1).success)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


def test_the_end_is_on_record_whatever_every():
    sol = kr.simulate(kr.models.oscillator(), until=1, step=0.1, every=3)
    assert sol.t.tolist() == pytest.approx([0, 0.3, 0.6, 0.9, 1.0])
    whole = kr.simulate(kr.models.oscillator(), until=1, step=0.1)
    assert sol.q[-1] == whole.q[-1]


def test_events_are_found_in_halved_steps():
    top = kr.models.heavy_top("SO3xR3", "fast")
    newton = kr.Newton(halvings=4, max_iterations=8)
    sol = kr.simulate(top, 0.5, 2**-5, newton=newton, events=[kr.When("noon", lambda t: t - 0.2)])
    assert sol.success
    assert sol.stats.halvings > 0
    assert [e.t for e in sol.events] == pytest.approx([0.2], abs=1e-12)


def test_newton_iterations_are_counted_per_step():
    sol = kr.simulate(kr.models.heavy_top("S3R3"), until=0.1, step=2**-10)
    assert sol.newton_iterations[0] == 0
    assert sol.newton_iterations[1:].sum() == sol.stats.newton_iterations
