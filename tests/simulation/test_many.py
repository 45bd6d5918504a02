"""Programs are shared by systems that differ only in numbers, and by nothing else; many runs at once are the same runs."""

import casadi as ca
import numpy as np
import pytest
from support import ALL_METHODS

import kreisel as kr
from kreisel.mechanics.fingerprint import fingerprint
from kreisel.simulation import many
from kreisel.simulation.many import figures, simulate_each
from kreisel.simulation.prepare import prepare
from kreisel.simulation.run import steps_of, steps_of_each, substeps_of


def tops(count, formulation="SE3"):
    return [kr.models.extended_top(formulation, stiffness=50.0 * (1 + k), damping=1.0 + k, alpha=0.1 * k) for k in range(count)]


def each(*given):
    """The figures of each run, or its error."""
    columns, errors = simulate_each(*given)
    return [errors[i] if i in errors else dict(zip(columns, row, strict=True)) for i, row in enumerate(zip(*columns.values(), strict=True))]


@pytest.mark.parametrize("method", ALL_METHODS, ids=repr)
def test_runs_together_are_the_runs_alone(method):
    """Bit for bit, with different steps, ends and numbers; also those that fail."""
    fitting = [f for f in ("SE3", "SO3") if not method.refuse(tops(1, f)[0])]
    oscillators = [kr.models.oscillator(stiffness=10.0 * (1 + k), damping=0.1 * (1 + k)) for k in range(5)]
    systems, until = tops(5, fitting[0]) if fitting else oscillators, [0.3, 0.2, 0.31, 0.3, 1.0]
    steps = [0.01, 0.013, 0.02, 0.3, 0.5]
    together = each(systems, until, steps, method)
    alone = [figures(kr.simulate(s, t, h, method)) for s, t, h in zip(systems, until, steps, strict=True)]
    assert [repr(f) for f in together] == [repr(f) for f in alone]


def test_failures_stay_with_their_run():
    """A start off the constraints, a step that does not converge: the others do not notice."""
    bad = kr.models.extended_top("SE3", stiffness=50.0, damping=1.0)
    bad.nodes[0].q = bad.nodes[0].q + np.array([0] * 9 + [0.1, 0, 0])
    good, other = tops(2)
    stiff = kr.models.extended_top("SE3", stiffness=4e4, damping=5.0, alpha=np.pi / 20)
    systems, until, steps = [good, bad, other, stiff], [0.1, 0.1, 0.1, 2.0], [0.01, 0.01, 0.01, 0.02]
    found = each(systems, until, steps, kr.RATTLie())
    assert isinstance(found[1], kr.InconsistentStart)
    assert [found[k]["status"] for k in (0, 2, 3)] == ["REACHED_END", "REACHED_END", "NOT_CONVERGED"]
    for k in (0, 2, 3):
        assert repr(found[k]) == repr(figures(kr.simulate(systems[k], until[k], steps[k], kr.RATTLie())))


def test_what_differs_in_numbers_shares_its_programs():
    a, b = tops(2)
    assert prepare(a, kr.RATTLie()) is prepare(b, kr.RATTLie())
    assert prepare(a, kr.RATTLie()) is not prepare(a, kr.SHAKELie())
    assert prepare(a, kr.GeneralizedAlpha(0.9)) is not prepare(a, kr.GeneralizedAlpha(0.8))
    assert prepare(a, kr.RATTLie(), "zero") is not prepare(a, kr.RATTLie())


def spring(k):
    return kr.System(kr.R(1), mass=[[1.0]], potential=lambda q: k / 2 * q[0] ** 2, q=[1.0])


def with_potential(formula):
    m = kr.Mechanism()
    m.point("p", 1.0, position=(1, 0, 0))
    m.force(kr.Potential("field", "p", formula))
    return m.system()


class Stubborn(kr.Element):
    """An element whose number is no parameter, and whose author forgot the signature."""

    def __init__(self, k):
        super().__init__("stubborn", "p")
        self.k = k

    def potential(self, p, t, a):
        return self.k / 2 * ca.sumsqr(a.x)


def stubborn(k):
    m = kr.Mechanism()
    m.point("p", 1.0, position=(1, 0, 0))
    m.force(Stubborn(k))
    return m.system()


FACTOR = 1.0


def by_a_global():
    return with_potential(lambda a: FACTOR / 2 * ca.sumsqr(a.x))


def test_numbers_within_formulas_are_seen(monkeypatch):
    """Enclosed by a function, kept by an element, or global to a module: another number is another formula; the same one is not."""
    for make in (spring, stubborn, lambda k: with_potential(lambda a: k / 2 * ca.sumsqr(a.x))):
        assert fingerprint(make(1.0)) == fingerprint(make(1.0))
        assert fingerprint(make(1.0)) != fingerprint(make(4.0))
        q = [kr.simulate(make(k), until=1.0, step=1e-3).q[-1, 0] for k in (1.0, 4.0)]
        assert q == pytest.approx(np.cos([1.0, 2.0]), abs=1e-6)
    before = fingerprint(by_a_global())
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert fingerprint(by_a_global()) != before


def test_parameters_of_a_system_of_functions():
    def make(k, c):
        return kr.System(
            kr.R(1),
            mass=lambda q, p: p.m * ca.SX.eye(1),
            potential=lambda q, p: p.k / 2 * q[0] ** 2,
            force=lambda t, q, v, p: -p.c * v,
            q=[1.0],
            parameters={"m": 1.0, "k": k, "c": c},
        )

    assert prepare(make(1.0, 0.1), kr.GeneralizedAlpha()) is prepare(make(4.0, 0.2), kr.GeneralizedAlpha())
    w = np.sqrt(4.0 - 0.01)
    exact = np.exp(-0.1) * (np.cos(w) + 0.1 / w * np.sin(w))
    assert kr.simulate(make(4.0, 0.2), 1.0, 1e-3, kr.GeneralizedAlpha()).q[-1, 0] == pytest.approx(exact, abs=1e-5)


def test_a_plain_function_belongs_to_its_system():
    m = kr.Mechanism()
    m.body("box", 1.0, (1, 1, 1))
    m.force(kr.BlackBox("push", "box", lambda t, q, v: np.array([0, 0, 0, 1.0, 0, 0])))
    system = m.system()
    assert fingerprint(system) is None
    assert each([system], [1.0], [0.1], kr.GeneralizedAlpha())[0]["energy_end"] == pytest.approx(0.5)


def test_more_room_for_factorisations_is_found_in_many_runs():
    """The first plan of space is made too small by hand: runs are taken up again where they stopped."""
    m = kr.Mechanism()
    for k in range(4):  # a ring, whose matrix is sparse and no band
        m.beam(f"rod {k}", 1.0, 8, kr.Section.circle(0.05, E=1e7, nu=0.3, rho=1000), start="clamped" if k == 0 else f"rod {k - 1}[8]")
    system = m.system()
    method = kr.GeneralizedAlpha(0.8)
    prepared = prepare(system, method)
    reference = each([system, system], [0.02, 0.02], [0.01, 0.005], method)
    assert [repr(f) for f in reference] == [repr(figures(kr.simulate(system, 0.02, h, method))) for h in (0.01, 0.005)]
    space = prepared.main.space
    prepared.main._enlarge(space)
    assert prepared.main.space.room == 2 * space.room
    prepared.main._enlarge(space)  # another thread has done it already
    assert prepared.main.space.room == 2 * space.room
    assert each([system, system], [0.02, 0.02], [0.01, 0.005], method) == reference


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.Composition(order=4)], ids=str)
def test_steps_of_many_runs_are_those_of_each(method):
    until, step = np.array([1.0, 0.3, 2.0, 0.05]), np.array([0.1, 0.07, 5.0, 0.05])
    starts, hs, ts = steps_of_each(until, step, method)
    for i, (t, h) in enumerate(zip(until, step, strict=True)):
        own_hs, own_ts = substeps_of(method, *steps_of(t, h))
        assert np.array_equal(hs[starts[i] : starts[i + 1]], own_hs)
        assert np.array_equal(ts[starts[i] + i : starts[i + 1] + i + 1], own_ts)


def test_groups_are_as_large_as_there_is_room(monkeypatch):
    """Runs that would have too many energies on record go together in smaller groups, with the same figures; bad steps are told."""
    systems, until, steps = tops(6), [0.3, 0.2, 1.0, 0.3, 1.0, 0.5], [0.01, 0.013, -1.0, 0.3, np.nan, 0.001]
    reference = each(systems, until, steps, kr.RATTLie())
    groups = []
    go = many._Runs._go
    monkeypatch.setattr(many._Runs, "_go", lambda self, *given: (groups.append(len(given[-1])), go(self, *given))[1])
    monkeypatch.setattr(many, "NUMBERS", 100)
    found = each(systems, until, steps, kr.RATTLie())
    assert len(groups) > 1
    assert sum(groups) == 4
    assert [repr(f) for f in found] == [repr(f) for f in reference]
    assert [str(found[k]) for k in (2, 4)] == ["step must be positive, got -1.0", "step must be positive, got nan"]


@pytest.mark.parametrize("method", [kr.SolveIvp(), kr.REM()], ids=str)
def test_solvers_of_others_and_reductions_have_figures_too(method):
    top = kr.models.gyro_top("directors")
    assert repr(each([top], [0.05], [0.005], method)[0]) == repr(figures(kr.simulate(top, 0.05, 0.005, method)))


def test_one_run_after_the_other_where_they_cannot_go_together():
    systems, steps = tops(3), [0.01, -1.0, 0.02]
    found = each(systems, [0.1] * 3, steps, kr.RATTLie(), kr.Newton(halvings=2))
    assert isinstance(found[1], ValueError)
    for k in (0, 2):
        assert repr(found[k]) == repr(figures(kr.simulate(systems[k], 0.1, steps[k], newton=kr.Newton(halvings=2))))
