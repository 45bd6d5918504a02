"""Orders of convergence, as the methods declare them, per variable: against the exact motion of the heavy top."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from support import ALL_METHODS, HeavyTop, Masses, fitted_order, formulations, masses

import kreisel as kr
from kreisel.simulation.packs import Layout
from kreisel.simulation.prepare import prepare
from kreisel.simulation.program import Program
from kreisel.simulation.start import start


@cache
def top(formulation, spin):
    return masses() if formulation == "R(2)" else kr.models.heavy_top(formulation, spin)


@cache
def exact(spin, n):
    return HeavyTop(spin, np.arange(n + 1) / n)


@cache
def exact_masses(n):
    return Masses(np.arange(n + 1) / n)


def first_run(method):
    """Spin and number of steps of the coarsest of five runs, each with twice as many.

    Beyond the range in which higher orders dominate, and above the rounding floor.
    """
    if isinstance(method, kr.Composition):
        return "fast", {4: 96, 6: 28}[method.order]
    if isinstance(method, kr.Baumgarte | kr.Projection):
        return "slow", 64
    if isinstance(method, kr.BLieDF):
        # On the fast top BLieDF(1) damps the nutation away at every step that is affordable.
        return ("slow", 256) if method.k == 1 else ("fast", 2048)
    if isinstance(method, kr.SHAKELie) and method.start == "simple":
        return "slow", 256
    if isinstance(method, kr.A1 | kr.A2 | kr.A3) and method.order == 1:
        return "slow", 256
    if isinstance(method, kr.A4) and method.gamma == 1:
        # On the fast top terms of order 3, which excite it, prevail.
        return "slow", 256
    return "fast", 1024 if getattr(method, "rho_inf", 1) < 0.9 else 512


def runs(method, formulation, spin, n):
    """Steps, and per run the errors in q and v, and of the multipliers as the method has them: maximum and at the end."""
    system, ns = top(formulation, spin), n * 2 ** np.arange(5)
    reference = exact_masses(int(ns[-1])) if formulation == "R(2)" else exact(spin, int(ns[-1]))
    found = []
    for n in ns:
        sol = kr.simulate(system, until=1, step=1 / n, method=method)
        assert sol.success, sol.message
        q, v = reference.errors(sol)
        lam = reference.multiplier_errors(sol.lam) if system.constrained else np.ones(1)
        found.append((q.max(), v.max(), lam.max(), lam[-1]))
    return 1 / ns, np.array(found)


def cases():
    """All pairs that fit; those whose trajectories another pair has already, by test_structure, when there is time."""
    for method in ALL_METHODS:
        for formulation in formulations(method):
            fast = formulation in ("S3", "SO3xR3", "S3R3", "R(2)") or method in (kr.RATTLie(), kr.GeneralizedAlpha())
            yield pytest.param(method, formulation, marks=() if fast else pytest.mark.slow, id=f"{method!r}-{formulation}")


@pytest.mark.parametrize(("method", "formulation"), list(cases()))
def test_order_per_variable(method, formulation):
    spin, n = first_run(method)
    steps, errors = runs(method, formulation, spin, n)
    orders = [fitted_order(steps, e) for e in errors.T]
    # Four halvings: a contribution of higher orders of 10 % at the coarsest step turns the line by 0.03. Order 6 spans seven decades, from
    # such a contribution to the rounding of v = 150.
    assert orders[:2] == pytest.approx([method.order] * 2, abs=0.12 if method.order == 6 else 0.05)
    if not top(formulation, spin).constrained:
        return
    largest, last = orders[2:]
    direct = formulation in ("SO3xR3", "S3xR3")
    assert last == pytest.approx(method.order_multipliers, abs=0.07)
    if isinstance(method, kr.GeneralizedAlpha) and direct:
        # Where translation and rotation are integrated apart, v_0 and a_0 of the exact motion lie off the scheme's own path by O(h^2) and
        # O(h): a transient in lam that decays as rho^n.
        if method.index == 3:
            assert largest == pytest.approx(1, abs=0.05)
    elif isinstance(method, kr.BLieDF) and method.k == 2 and direct:
        # The opening step has order 1, and its lam shows it.
        assert largest == pytest.approx(1, abs=0.05)
    else:
        assert largest == pytest.approx(method.order_multipliers, abs=0.05)


@pytest.mark.parametrize(
    ("index", "corrected", "order"), [(3, False, 1), (3, True, 1), ("stabilised-2", False, 1), ("stabilised-2", True, 2)]
)
def test_first_multipliers_of_generalized_alpha(index, corrected, order):
    """On a direct product, in the first 16 steps: the corrected start helps where B v = 0 is enforced, too."""
    method, steps, errors = kr.GeneralizedAlpha(index=index, corrected_start=corrected), 2.0 ** -np.arange(14, 19), []
    for h in steps:
        sol = kr.simulate(top("SO3xR3", "fast"), until=16 * h, step=h, method=method)
        errors.append(HeavyTop("fast", sol.t).multiplier_errors(sol.lam).max())
    assert fitted_order(steps, errors) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("formulation", ["SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"])
def test_better_multipliers_of_rattlie(formulation):
    """Interpolated and separate: 2, where the raw ones have 1 (tested above)."""
    errors = []
    for n in 512 * 2 ** np.arange(5):
        sol = kr.simulate(top(formulation, "fast"), until=1, step=1 / n)
        errors.append([exact("fast", 8192).multiplier_errors(sol.multipliers(kind)).max() for kind in ("interpolated", "separate")])
    assert [fitted_order(2.0 ** -np.arange(5), e) for e in np.transpose(errors)] == pytest.approx([2, 2], abs=0.05)


@pytest.mark.parametrize("formulation", ["S3", "SO3xR3", "S3R3"])
def test_acceleration_of_rattlie(formulation):
    """sol.a belongs to q and v, so it has their order."""
    errors = []
    for n in 512 * 2 ** np.arange(5):
        sol = kr.simulate(top(formulation, "fast"), until=1, step=1 / n, every=int(n) // 64)
        errors.append(np.abs(sol.a[:, :3] - exact("fast", 64).acceleration).max())
    assert fitted_order(2.0 ** -np.arange(5), errors) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("formulation", ["S3", "SO3xR3", "S3R3", "UDQ"])
def test_local_error_of_rattlie(formulation):
    """One step from exact data: 3 (Hante, 3.27, 3.43). Not from the start, where the axis is horizontal and some terms vanish."""
    system, t = top(formulation, "fast"), 0.3
    steps, errors = 2.0 ** -np.arange(10, 15), []
    for h in steps:
        reference = HeavyTop("fast", np.array([0, t, t + h]))
        R, W, group = reference.R[1], reference.omega[1], system.nodes[0].group
        if formulation == "S3":
            q, v = kr.convert(R.ravel(), kr.SO3, group), W
        else:
            q = np.r_[R.ravel(), R @ reference.X]
            v = kr.convert_velocity(q, np.r_[W, R @ np.cross(W, reference.X)], kr.SO3 * kr.R(3), group)
            q = kr.convert(q, kr.SE3, group)
        sol = kr.simulate(system, until=h, step=h, initial={"top": (q, v)})
        errors.append(
            [np.linalg.norm(sol.rotation("top")[-1] - reference.R[2]), np.linalg.norm(sol.velocity("top")[-1, :3] - reference.omega[2])]
        )
    assert [fitted_order(steps, e) for e in np.transpose(errors)] == pytest.approx([3, 3], abs=0.05)


@pytest.mark.parametrize("formulation", ["SO3xR3", "S3R3"])
def test_variable_steps(formulation):
    """Random steps in [hmax/4, hmax] keep order 2 in q, v and the separate multipliers (Hante, Remark 5.11)."""
    rng, errors, hmax = np.random.default_rng(26031990), [], []
    for n in 512 * 2 ** np.arange(5):
        steps = rng.uniform(0.25, 1, n)
        steps /= steps.sum()
        hmax.append(steps.max())
        sol = kr.simulate(top(formulation, "fast"), until=1, step=steps)
        assert sol.success
        reference = HeavyTop("fast", sol.t)
        errors.append([*(e.max() for e in reference.errors(sol)), reference.multiplier_errors(sol.multipliers("separate"))[1:-1].max()])
    q, v, lam = (fitted_order(hmax, e) for e in np.transpose(errors))
    # The mean of h^3 over 512 random steps scatters by 3 %.
    assert (q, v) == pytest.approx((2, 2), abs=0.07)
    # The largest error of a multiplier is at the worst of all triples of steps, of which there are more in longer runs.
    assert lam == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize("method", [kr.GeneralizedAlpha(0.5), kr.GeneralizedAlpha(0.9)], ids=repr)
def test_variable_steps_of_generalized_alpha(method):
    """a_n stands for another time when the step changes; scaled with the step it keeps order 2 (unscaled, rho = 0.5 drops to 1.2)."""
    rng, errors, hmax = np.random.default_rng(26031990), [], []
    for n in 128 * 2 ** np.arange(5):
        steps = rng.uniform(0.25, 1, n)
        steps /= steps.sum()
        hmax.append(steps.max())
        sol = kr.simulate(top("S3", "slow"), until=1, step=steps, method=method)
        errors.append([e.max() for e in HeavyTop("slow", sol.t).errors(sol)])
    assert [fitted_order(hmax, e) for e in np.transpose(errors)] == pytest.approx([2, 2], abs=0.1)


def test_rolling_disk():
    """Nonholonomic RATTLie: 2 in q, v, lam, mu (Hante, Remark 5.8), from the differences of successive refinements."""
    disk = kr.models.rolling_disk()
    found = [kr.simulate(disk, until=1, step=2.0**-k) for k in range(8, 14)]
    for what in (lambda s: s.q, lambda s: s.v, lambda s: s.multipliers("separate"), lambda s: s.mu):
        at = [what(sol)[2**k :: 2**k] for k, sol in enumerate(found)]
        gaps = [np.abs(a - b).max() for a, b in pairwise(at)]
        assert fitted_order(2.0 ** -np.arange(5), gaps) == pytest.approx(2, abs=0.05)


# Symmetry


def raw_run(system, method, S, hs):
    """Steps hs of the method's stages on the states S, forwards or backwards."""
    layout = Layout(system, method)
    program, newton = Program(layout, method.stages), kr.Newton()
    S = np.concatenate([S[: layout.size], np.zeros(program.size - layout.size)])
    ts = S[1] + np.concatenate([[0.0], np.cumsum(hs)])
    code = program.run(S, np.array(hs), ts, 0, len(hs), program.tolerances(newton.atol, newton.rtol), newton.options(), program.memory())
    assert code == 0
    return S


def begin(system, method, h):
    layout = Layout(system, method)
    return start(prepare(system, method), [layout], [h])[0][0, : layout.size]


def part(system, method, S, name):
    places = Layout(system, method).nodes[0][name]
    group = system.nodes[0].group
    return S[places : places + (group.n_params if name == "q" else group.dim)]


def symmetric_cases():
    for method in ALL_METHODS:
        if method.symmetric and not isinstance(method, kr.SHAKELie):
            yield from (pytest.param(method, f, id=f"{method!r}-{f}") for f in formulations(method))


@pytest.mark.parametrize(("method", "formulation"), list(symmetric_cases()))
def test_a_step_back_undoes_a_step(method, formulation):
    h, system = 2**-3 if formulation == "R(2)" else 2**-7, top(formulation, "fast")
    S = begin(system, method, h)
    forth = h * np.array(method.substeps())
    there = raw_run(system, method, S, forth)
    back = raw_run(system, method, there, -forth[::-1])
    assert np.abs(part(system, method, there, "q") - part(system, method, S, "q")).max() > 0.1
    for name, size in (("q", 1), ("v", 150)):
        # Newton stops at relative 1e-12 per stage; a step, one radian long, amplifies that a few times.
        np.testing.assert_allclose(part(system, method, back, name), part(system, method, S, name), rtol=0, atol=1e-11 * size * len(forth))


def test_the_disk_rolls_back():
    """Symmetric with nonholonomic constraints as well: q, v and mu return."""
    system, method = kr.models.rolling_disk(), kr.RATTLie()
    S = raw_run(system, method, begin(system, method, 2**-7), [2**-7] * 3)
    back = raw_run(system, method, raw_run(system, method, S, [2**-7]), [-(2**-7)])
    for name in ("q", "v"):
        np.testing.assert_allclose(part(system, method, back, name), part(system, method, S, name), atol=1e-11)
    mu = Layout(system, method).mu[[e.name for e in system.elements].index("rolling")]["mu"]
    np.testing.assert_allclose(back[mu : mu + 2], S[mu : mu + 2], atol=1e-8)


@pytest.mark.parametrize("formulation", ["S3", "SO3xR3", "S3R3"])
def test_shakelie_runs_backwards(formulation):
    """From q_n and w_{n+1/2}, a step -h leads to q_{n-1} and w_{n-1/2}."""
    h, system, method = 2**-8, top(formulation, "fast"), kr.SHAKELie("simple")
    states = [begin(system, method, h)]
    for _ in range(3):
        states.append(raw_run(system, method, states[-1], [h]))
    turned = states[2].copy()
    part(system, method, turned, "w")[:] = part(system, method, states[3], "w")
    turned[1] = 2 * h
    back = raw_run(system, method, turned, [-h])
    np.testing.assert_allclose(part(system, method, back, "w"), part(system, method, states[2], "w"), atol=1e-9)
    np.testing.assert_allclose(part(system, method, back, "q"), part(system, method, states[1], "q"), atol=1e-11)


def test_methods_that_are_not_symmetric_do_not_return():
    """The claim is no empty one: the others, that do not make it, miss by the error of the method."""
    h, system = 2**-7, top("S3", "fast")
    for method in (kr.GeneralizedAlpha(), kr.BLieDF(1)):
        S = begin(system, method, h)
        back = raw_run(system, method, raw_run(system, method, S, [h]), [-h])
        assert np.abs(part(system, method, back, "v") - part(system, method, S, "v")).max() > 1e-3
