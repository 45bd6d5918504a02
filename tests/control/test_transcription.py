"""Steps of methods as stages: exact derivatives, and the motions that simulations give."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.control import guess as guesses
from kreisel.control.guess import Course
from kreisel.control.outcome import Ending, Multipliers, Outcome, Row
from kreisel.control.result import Result


def door(coordinates):
    """A plate on a hinge that is not vertical, with a torque."""
    m = kr.Mechanism(gravity=(0, 2, -9))
    m.body("plate", 2.0, (0.2, 0.3, 0.5), position=(0.5, 0.1, 0.2))
    m.joint(kr.Revolute("ground", "plate", at=(0, 0, 0), axis=(0, 0.6, 0.8), friction=0.3, name="hinge"))
    m.force(kr.Torque("hinge", control="u"))
    return m.system(coordinates)


def pushed(group):
    """A body on a group, in a potential, with an input for every velocity."""
    n = group.dim
    return kr.System(
        group,
        mass=np.diag(1.0 + np.arange(n)),
        potential=lambda q: ca.sumsqr(q) / 3 + q[0] * q[1],
        force=lambda t, q, v: -0.1 * v * (1 + t),
        q=group.identity(),
        v=0.3 * np.ones(n),
        controls=[f"u{i}" for i in range(n)],
    )


def whip(variant):
    """A beam on a hinge with a torque, and a force at its end."""
    m = kr.Mechanism()
    m.body("hub", 1.0, (0.1, 0.2, 0.3))
    section = kr.Section(1.0, 2.0, 1.5, 40.0, 50.0, 60.0, 0.5, (0.1, 0.1, 0.2))
    m.beam("arm", 1.0, 3, section, curve=kr.straight(direction=(1, 0, 0)), variant=variant, start="hub")
    m.joint(kr.Revolute("ground", "hub", at=(0, 0, 0), axis=(0, 0, 1), name="hinge"))
    m.force(kr.Torque("hinge", control="u"))
    m.force(kr.Load("arm[3]", force=(0, 1, 2), control="push"))
    return m.system("S3R3")


#: Method and system. Appending a pair is how it gets its tests.
CASES = {
    "BEM, three links": (kr.BEM(), lambda: kr.models.three_link()),
    "REM, three links": (kr.REM(), lambda: kr.models.three_link()),
    "GC, three links": (kr.GC(), lambda: kr.models.three_link("minimal")),
    "GC, crane": (kr.GC(), lambda: kr.models.overhead_crane("minimal")),
    "BEM, crane": (kr.BEM(), lambda: kr.models.overhead_crane()),
    "BEM, door": (kr.BEM(), lambda: door("directors")),
    "REM, door": (kr.REM(), lambda: door("directors")),
    "RATTLie, door on SE3": (kr.RATTLie(), lambda: door("SE3")),
    "RATTLie, door on S3R3": (kr.RATTLie(), lambda: door("S3R3")),
    "RATTLie, SO3": (kr.RATTLie(), lambda: pushed(kr.SO3)),
    "RATTLie, S3": (kr.RATTLie(), lambda: pushed(kr.S3)),
    "RATTLie, R": (kr.RATTLie(), lambda: pushed(kr.R(2))),
    "Composition, S3": (kr.Composition(kr.RATTLie(), 4), lambda: pushed(kr.S3)),
    "generalized-alpha, S3": (kr.GeneralizedAlpha(0.8), lambda: pushed(kr.S3)),
    "generalized-alpha, door on S3R3": (kr.GeneralizedAlpha(0.8), lambda: door("S3R3")),
    "generalized-alpha, beam": (kr.GeneralizedAlpha(0.8), lambda: whip("cosserat")),
    "RATTLie, beam": (kr.RATTLie(), lambda: whip("kirchhoff")),
    "generalized-alpha, cart": (kr.GeneralizedAlpha(0.8), lambda: kr.models.cart_pole()),
}
EXTRAS = {
    "path": [kr.Condition("power", lambda s: ca.sumsqr(s.v) * sum(s.u.values()) + s.t * s.q[0], upper=1e9)],
    "cost": kr.effort() + kr.running(lambda s: s.t * ca.sumsqr(s.v) + s.q[0] ** 3) + kr.final(lambda s: ca.sumsqr(s.q) * s.v[0]),
}


#: Those whose second derivatives take long to compile.
LONG = {"RATTLie, beam"}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in CASES])
def case(request):
    """A discrete problem of a few steps, a simulation with random controls, and all variables near it."""
    method, make = CASES[request.param]
    system, steps, until = make(), 5, 0.25
    random = np.random.default_rng(1)
    controls = {name: random.normal(size=steps) for name in system.controls}
    end = kr.Target(conditions=[kr.Condition("end", lambda s: ca.vertcat(s.q[0] ** 2 * s.v[0], ca.sumsqr(s.v)), upper=1e9)])
    d = kr.OptimalControl(system, until, steps, end=end, **EXTRAS).discrete(method)
    sol = kr.simulate(system, until, until / steps, method, controls=controls)
    assert sol.success
    y, last = guesses.variables(d, Course.of_solution(sol, np.linspace(0, until, steps + 1)))
    # The guess takes means of controls over each step, which are rounded.
    y[:, d.stages.sizes.z + d.stages.sizes.x :] = np.stack([controls[name] for name in d.transcription.controls], axis=1)
    return d, sol, controls, y, last


def difference(f, y, step=1e-3):
    """Central differences of fourth order by y; f of all steps at once, since each depends on its own y alone."""
    rows = []
    for j in range(y.shape[-1]):
        d = np.zeros(y.shape)
        d[..., j] = step
        rows.append((8 * (f(y + d) - f(y - d)) - (f(y + 2 * d) - f(y - 2 * d))) / (12 * step))
    return np.stack(rows, axis=-1)


def dense(values, pattern, shape):
    out = np.zeros((len(values), *shape))
    out[:, pattern[0], pattern[1]] = values
    return out


def agrees(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def test_derivatives(case):
    d, _, _, y, last = case
    stages, s = d.stages, d.stages.sizes
    random = np.random.default_rng(2)
    y, last = y + 0.05 * random.normal(size=y.shape), last + 0.05 * random.normal(size=last.shape)
    r, e = random.normal(size=(stages.steps, s.rows)), random.normal(size=s.e)

    def rows(y):
        return stages.values(y, last)[1].copy()

    def gradient(y):
        """Of the Lagrangian, by y."""
        g, J, _, _ = stages.derivatives(y, last)
        return 0.7 * g + np.einsum("nij,ni->nj", dense(J, stages.jacobian_pattern, (s.rows, s.y)), r)

    g, J, g_end, J_end = (a.copy() for a in stages.derivatives(y, last))
    agrees(dense(J, stages.jacobian_pattern, (s.rows, s.y)), difference(rows, y), 1e-9)
    agrees(g_end, difference(lambda z: np.array(stages.values(y, z)[0]), last), 1e-9)
    agrees(J_end, difference(lambda z: stages.values(y, z)[2], last), 1e-9)
    whole = np.array([difference(lambda a, k=k: np.array(stages.values(_with(y, k, a), last)[0]), y[k]) for k in range(2)])
    agrees(g[:2], whole, 1e-8)
    H, H_end = stages.hessian(y, last, r, e, 0.7)
    lower = np.tril(np.ones((s.y, s.y), dtype=bool))
    expected = difference(gradient, y)
    agrees(dense(H, stages.hessian_pattern, (s.y, s.y))[:, lower], expected[:, lower], 1e-8)
    agrees(expected, np.swapaxes(expected, 1, 2), 1e-8)

    def gradient_end(z):
        _, _, g, J = stages.derivatives(y, z)
        return 0.7 * g + J.T @ e

    agrees(H_end, difference(gradient_end, last), 1e-8)


def _with(y, k, row):
    out = y.copy()
    out[k] = row
    return out


def marched(d, y):
    """Steps one after the other: R = 0 by Newton's method, then z = U; controls as in y."""
    stages, s = d.stages, d.stages.sizes
    y = y.copy()
    z = stages.start + stages.gain @ y[0, s.z + s.x :]
    x = slice(s.z, s.z + s.x)
    for k in range(stages.steps):
        y[k, : s.z] = z
        for _ in range(20):
            _, rows, _ = stages.values(y, z)
            J = dense(stages.derivatives(y, z)[1], stages.jacobian_pattern, (s.rows, s.y))[k]
            step = np.linalg.solve(J[: s.x, x], rows[k, : s.x])
            y[k, x] -= step
            if np.abs(step).max() < 1e-13 * (1 + np.abs(y[k, x]).max()):
                break
        z = stages.values(y, z)[1][k, s.x : s.x + s.z].copy()
    return y, z


def test_the_motion_of_a_simulation(case):
    d, sol, controls, y, _ = case
    s = d.stages.sizes
    y, end = marched(d, y)
    nothing = Multipliers(np.zeros((d.steps, s.rows)), np.zeros(s.e), np.zeros((d.steps, s.u)))
    outcome = Outcome(y, end, nothing, 0.0, Ending.SOLVED, "", 0, 0.0, 0.0, Row("R", 0, 0, 0.0), 0.0, 0.0, [])
    found = Result.of(d, outcome, 0.0)
    for name, u in controls.items():  # a guess takes their means over its steps
        np.testing.assert_allclose(found.controls[name], u, rtol=1e-14)
    for name in ("t", "q", "v", "energy"):
        a, b = getattr(found.solution, name), getattr(sol, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * (1 + np.abs(b).max()), err_msg=name)
    np.testing.assert_allclose(found.solution.controls[next(iter(controls))], sol.controls[next(iter(controls))], rtol=1e-14)
