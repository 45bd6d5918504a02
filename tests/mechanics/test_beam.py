"""Beams: sections, curves, forces and constraints against hand-made formulas, ends, loads, results, mistakes."""

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kreisel as kr
from kreisel.groups import S3R3, SE3
from kreisel.mechanics.curve import poses
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.packs import Layout
from kreisel.simulation.statics import Balance, Static

STEEL = {"E": 210e9, "nu": 0.3, "rho": 7850.0}
SOFT = kr.Section(500.0, 400.0, 300.0, 1e4, 2e4, 3e4, 1.5, (1.0, 2.0, 3.0))


def cantilever(segments=4, group="S3R3", **options):
    m = kr.Mechanism()
    beam = m.beam("rod", 2.0, segments, SOFT, **options)
    return m, beam, m.system(group)


# Sections


def test_sections_have_the_moments_of_their_shapes():
    circle, square = kr.Section.circle(0.1, **STEEL), kr.Section.rectangle(0.2, 0.2, **STEEL)
    assert circle.EI1 == pytest.approx(210e9 * np.pi / 4 * 0.1**4)
    assert circle.GI3 == pytest.approx(210e9 / 2.6 * np.pi / 2 * 0.1**4)
    assert circle.mass == pytest.approx(7850 * np.pi * 0.01)
    assert circle.inertia[2] == pytest.approx(circle.inertia[0] + circle.inertia[1])
    # Saint-Venant's constant of the square: 0.140577 a^4 (Timoshenko and Goodier).
    assert square.GI3 / (210e9 / 2.6 * 0.2**4) == pytest.approx(0.140577, abs=5e-7)
    # A thin strip: b t^3 / 3.
    strip = kr.Section.rectangle(1.0, 1e-3, **STEEL)
    assert strip.GI3 / (210e9 / 2.6) == pytest.approx(1e-9 / 3 * (1 - 0.63e-3), rel=1e-5)
    assert square.GA1 / (210e9 / 2.6 * 0.04) == pytest.approx(13 / 15.3)


def test_a_tube_is_a_circle_less_a_circle():
    tube, outer, inner = kr.Section.tube(0.1, 0.06, **STEEL), kr.Section.circle(0.1, **STEEL), kr.Section.circle(0.06, **STEEL)
    for name in ("EI1", "GI3", "EA", "mass"):
        assert getattr(tube, name) == pytest.approx(getattr(outer, name) - getattr(inner, name))


def test_an_I_is_its_three_rectangles():
    beam = kr.Section.I(width=0.1, height=0.2, flange=0.01, web=0.006, **STEEL)
    I1 = 2 * (0.1 * 0.01**3 / 12 + 0.1 * 0.01 * 0.095**2) + 0.006 * 0.18**3 / 12
    I2 = 2 * 0.01 * 0.1**3 / 12 + 0.18 * 0.006**3 / 12
    np.testing.assert_allclose([beam.EI1, beam.EI2], [210e9 * I1, 210e9 * I2])
    assert beam.GA2 == pytest.approx(210e9 / 2.6 * 0.18 * 0.006)


def test_a_solid_I_is_a_rectangle():
    beam, box = kr.Section.I(0.1, 0.2, 0.01, 0.1, **STEEL), kr.Section.rectangle(0.1, 0.2, **STEEL)
    np.testing.assert_allclose([beam.EI1, beam.EI2, beam.EA], [box.EI1, box.EI2, box.EA])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kr.Section.circle(0.1, E=1.0, rho=1.0), "of nu and G give one"),
        (lambda: kr.Section.circle(0.1, E=-1.0, rho=1.0, nu=0.3), "E must be positive"),
        (lambda: kr.Section.circle(0.1, E=1.0, rho=1.0, nu=0.7), "nu must lie"),
        (lambda: kr.Section.tube(0.1, 0.2, **STEEL), "0 <= inner < outer"),
        (lambda: kr.Section.rectangle(0.1, -0.2, **STEEL), "positive width and height"),
        (lambda: kr.Section.I(0.1, 0.2, 0.2, 0.01, **STEEL), "an I needs"),
    ],
)
def test_bad_sections(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Curves


@pytest.mark.parametrize("curve", [kr.straight((1, 2, 3), (1, 1, 0)), kr.arc(2.0, normal=(0, 1, 0)), kr.helix(1.5, 0.7)])
def test_curves_have_unit_speed_and_tangent_frames(curve):
    e = 1e-5
    for s in (0.3, 2.0, 5.0):
        tangent = (curve(s + e)[9:] - curve(s - e)[9:]) / (2 * e)
        np.testing.assert_allclose(tangent, curve(s)[:9].reshape(3, 3)[:, 2], atol=1e-9)


def test_a_helix_climbs_its_pitch_per_turn_about_its_axis():
    r, pitch = 1.5, 0.7
    curve = kr.helix(r, pitch, origin=(0, 0, 0), direction=(0, 0, 1), normal=(1, 0, 0))
    turn = np.hypot(2 * np.pi * r, pitch)
    assert np.linalg.norm(curve(turn)[9:]) == pytest.approx(pitch)
    np.testing.assert_allclose(curve(turn)[:9], curve(0)[:9], atol=1e-12)
    # Every point has the distance r from the axis, which passes at r along the normal.
    axis = curve(turn)[9:] / pitch
    for s in np.linspace(0, turn, 7):
        x = curve(s)[9:] - [r, 0, 0]
        assert np.linalg.norm(x - (x @ axis) * axis) == pytest.approx(r)


def test_frames_of_a_given_curve_do_not_twist():
    """A planar curve keeps its normal; a helix is followed without twist, so its twist stays zero to the order of the mesh."""
    s = np.linspace(0, 3, 40)
    q = poses(lambda u: (np.sin(u), 1 - np.cos(u), 0.0), s, "curve")
    normal = q[:, :9].reshape(-1, 3, 3)
    np.testing.assert_allclose(normal[:, 2] @ normal[0, 2], 1.0, atol=1e-9)
    curve = kr.helix(1.0, 2.0)
    q = poses(lambda u: curve(u)[9:], np.linspace(0, 5, 200), "curve")
    w = SE3.difference(q[:-1], q[1:]) / (5 / 199)
    assert np.abs(w[:, 2]).max() < 1e-4
    assert np.abs(np.linalg.norm(w[:, :2], axis=1) - 1 / (1 + 1 / np.pi**2)).max() < 1e-4
    assert np.abs(q[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1) @ q[:, :9].reshape(-1, 3, 3) - np.eye(3)).max() < 1e-9


# Forces and constraints


def hand_made_forces(q, ds, rest, C):
    """Hante (4.18): T^-T(-ds w) g of the segment after a node, minus T^-T(ds w) g of that before it."""
    w = np.asarray(S3R3.difference(q[:-1], q[1:])) / ds[:, None]
    g = C * (w - rest)
    f = np.zeros((len(q), 6))
    for m in range(len(ds)):
        f[m] += np.asarray(S3R3.Tinv(-ds[m] * w[m])).T @ g[m]
        f[m + 1] -= np.asarray(S3R3.Tinv(ds[m] * w[m])).T @ g[m]
    return f


def disturbed(system, size=0.2, seed=1):
    """All nodes moved a little."""
    rng = np.random.default_rng(seed)
    for node in system.nodes:
        node.q = np.asarray(node.group.retract(node.q, size * rng.standard_normal(node.group.dim)))
    return system


def static_forces(system):
    layout = Layout(system, Static())
    S = layout.start()
    S[1] = 1.0
    return Assembly(layout, Balance(0.0))(S, np.zeros(system.dim + sum(system.rows)))


def test_internal_forces_are_those_of_the_thesis():
    _, beam, system = cantilever(5, curve=kr.arc(3.0), precurvature=(0.1, -0.2, 0.3), prestrain=(0.01, 0.02, -0.03))
    disturbed(system)
    q = np.array([n.q for n in system.nodes])
    f = hand_made_forces(q, np.diff(beam.s), np.array([0.1, -0.2, 0.3, 0.01, 0.02, 0.97]), SOFT.stiffness)
    np.testing.assert_allclose(-static_forces(system)[0].reshape(-1, 6), f, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("group", ["S3R3", "SE3", "UDQ"])
def test_internal_forces_have_no_resultant(group):
    _, _, system = cantilever(6, group, curve=kr.helix(0.5, 0.4), variant="kirchhoff")
    disturbed(system)
    f = -static_forces(system)[0][: system.dim].reshape(-1, 6)
    R = [np.array(kr.convert(n.q, n.group, SE3)[:9]).reshape(3, 3) for n in system.nodes]
    x = [np.array(kr.convert(n.q, n.group, SE3)[9:]) for n in system.nodes]
    force = [A @ y[3:] for A, y in zip(R, f, strict=True)]
    moment = [A @ y[:3] + np.cross(p, F) for A, y, p, F in zip(R, f, x, force, strict=True)]
    assert np.abs(f).max() > 100
    assert np.abs(np.sum(force, axis=0)).max() < 1e-9
    assert np.abs(np.sum(moment, axis=0)).max() < 1e-9


def test_the_initial_curve_is_free_of_stress_unless_told_otherwise():
    for curve in (kr.arc(1.0), kr.helix(0.4, 0.3), lambda s: np.array([np.sin(s), 0, np.cos(s)])):
        _, _, system = cantilever(8, curve=curve)
        assert np.abs(kr.imbalance(system)).max() < 1e-9
    _, _, system = cantilever(8, curve=kr.arc(1.0), precurvature=(0, 0, 0))
    assert np.abs(kr.imbalance(system)).max() > 100


@pytest.mark.parametrize("group", ["S3R3", "SE3", "UDQ"])
def test_a_closed_ring_of_any_group_is_free_of_stress(group):
    m = kr.Mechanism()
    ring = m.beam("ring", 2 * np.pi, 12, SOFT, curve=kr.arc(1.0), closed=True)
    system = m.system(group)
    assert len(system.nodes) == 12
    assert ring.hosts[-1].body == "ring[0]"
    assert np.abs(kr.imbalance(system)).max() < 1e-9


def test_mass_and_momentum_of_a_moving_beam():
    omega, velocity = np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, 3.0])
    m = kr.Mechanism()
    grid = [0, 0.3, 0.5, 1.2, 2.0]
    m.beam("rod", 2.0, grid, SOFT, curve=kr.straight((1, 1, 1), (0, 1, 0)), omega=omega, velocity=velocity)
    system = m.system()
    sol = kr.simulate(system, until=1e-3, step=1e-3)
    share = np.array([0.15, 0.25, 0.45, 0.75, 0.4])
    x = np.array([1.0, 1, 1]) + np.outer(grid, [0, 1, 0])
    v = velocity + np.cross(omega, x - x[0])
    np.testing.assert_allclose(sol.momentum[0], 1.5 * share @ v, atol=1e-12)
    R = Rotation.align_vectors([[0, 1, 0]], [[0, 0, 1]])[0].as_matrix()
    spin = 2.0 * R @ np.diag(SOFT.inertia) @ R.T @ omega
    np.testing.assert_allclose(sol.angular_momentum[0], 1.5 * np.cross(x, share[:, None] * v).sum(axis=0) + spin, atol=1e-12)


# Ends


def test_held_nodes_are_no_unknowns():
    _, beam, system = cantilever(4, start="clamped")
    assert [n.name for n in system.nodes] == ["rod[1]", "rod[2]", "rod[3]", "rod[4]"]
    assert beam.end == "rod[4]"
    with pytest.raises(ValueError, match="beam 'rod': node 0 is clamped to the ground"):
        beam.start  # noqa: B018


def test_a_clamped_beam_is_one_with_a_constraint_on_its_first_node():
    """The same motion as a free beam whose first node is held by six rows."""

    def hold(t, frame):
        return ca.vertcat(frame.x, frame.R[2, 1], frame.R[0, 2], frame.R[1, 0])

    push = {"force": (30.0, 20.0, 0.0), "at": 2.0, "name": "push"}
    m, beam, _ = cantilever(4, start="clamped")
    beam.load(**push)
    held = kr.simulate(m.system(), until=0.5, step=1e-3)
    m, beam, _ = cantilever(4)
    beam.load(**push)
    m.joint(kr.Constraint("clamp", "rod[0]", hold))
    free = kr.simulate(m.system(), until=0.5, step=1e-3)
    assert np.abs(held.position("rod[4]")[-1] - [0, 0, 2]).max() > 0.1
    np.testing.assert_allclose(held.position("rod[4]"), free.position("rod[4]"), atol=1e-10)
    np.testing.assert_allclose(held.beam("rod").position()[:, 0], 0.0, atol=1e-15)


def test_a_pinned_end_stays_and_turns():
    m, beam, _ = cantilever(4, start="pinned", curve=kr.straight((1, 0, 0), (1, 0, 0)))
    beam.load(force=(0, 0, 5.0), at=2.0)
    sol = kr.simulate(m.system(), until=0.5, step=1e-3)
    x = sol.beam("rod").position()
    assert np.abs(x[:, 0] - [1, 0, 0]).max() < 1e-12
    assert x[-1, -1, 2] > 0.01


def with_tip(group, tie):
    """A cantilever with a body at its end: a part of it (None), or tied to it by a joint."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    tip = m.body("tip", 3.0, (0.1, 0.2, 0.15), position=(2.1, -0.2, 0.1))
    beam = m.beam("rod", 2.0, 4, SOFT, curve=kr.straight(direction=(1, 0, 0)), start="clamped", end="free" if tie else tip)
    if tie:
        m.joint(tie(beam.end, tip))
    sol = kr.simulate(m.system(group), until=0.2, step=1e-3)
    assert sol.success, sol.message
    return sol


@pytest.mark.parametrize("group", ["S3R3", "SE3"])
def test_a_beam_that_is_part_of_a_body_moves_as_one_tied_to_it(group):
    """The tip body carries the last node: the same motion as with a rigid joint between them."""
    part, tied = (with_tip(group, tie) for tie in (None, lambda a, b: kr.Fixed(a, b)))
    np.testing.assert_allclose(part.position("tip"), tied.position("tip"), atol=1e-9)
    np.testing.assert_allclose(part.beam("rod").position(), tied.beam("rod").position(), atol=1e-9)
    np.testing.assert_allclose(part.energy, tied.energy, atol=1e-9)


@pytest.mark.parametrize(
    ("joint", "kept"),
    [
        (lambda a, b: kr.Spherical(a, b, at=(2, 0, 0), name="tie"), "place"),
        (lambda a, b: kr.Revolute(a, b, at=(2, 0, 0), axis=(0, 1, 0), name="tie"), "place"),
        (lambda a, b: kr.Universal(a, b, at=(2, 0, 0), axis=(0, 1, 0), second=(0, 0, 1), name="tie"), "place"),
        (lambda a, b: kr.Prismatic(a, b, at=(2, 0, 0), axis=(1, 0, 1), name="tie"), "turn"),
    ],
)
def test_joints_tie_bodies_to_beams(joint, kept):
    """Ball joints, hinges and crosses keep the end of the beam at its place in the body, sliders keep the angle between them."""
    sol = with_tip("S3R3", joint)
    R, x = sol.rotation("tip"), sol.position("tip")
    end, frame = sol.position("rod[4]"), sol.rotation("rod[4]")
    if kept == "place":
        np.testing.assert_allclose(np.einsum("nji,nj->ni", R, end - x), np.tile([-0.1, 0.2, -0.1], (len(x), 1)), atol=1e-12)
    else:
        turn = np.einsum("nji,njk->nik", frame, R)
        np.testing.assert_allclose(turn, np.broadcast_to(turn[0], turn.shape), atol=1e-12)
        assert np.ptp(np.linalg.norm(end - x, axis=1)) > 1e-3
    assert np.abs(sol.energy - sol.energy[0]).max() < 1e-3 * np.abs(sol.potential_energy).max()


def test_beams_of_a_net_share_their_nodes():
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    main = m.beam("main", 2.0, 4, SOFT, curve=kr.straight((0, 0, 0), (1, 0, 0)), start="clamped", end="clamped")
    m.beam("arm", 1.0, 2, SOFT, curve=kr.straight((1, 0, 0), (0, 1, 0)), start=main.node(2))
    m.beam("other", 1.0, 2, SOFT, curve=kr.straight((1, 0, 0), (0, -1, 0)), start=main.node(2))
    system = m.system("SE3")
    assert system.rows == [0] * len(system.rows)
    sol = kr.equilibrium(system, loads=4)
    left, right = (sol.beam(name).position()[-1, -1] for name in ("arm", "other"))
    np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-9)  # symmetric
    assert left[2] < sol.position("main[2]")[-1, 2] < -1e-3
    total = 4.0 * 1.5
    assert system.dim == 6 * (3 + 2 + 2)
    weight = sum(e.parameters["weight"][2] for e in system.elements if e.name.startswith("weight"))
    assert weight == pytest.approx(-9.81 * (total - 2 * 0.25 * 1.5))


# Loads


def test_loads_between_nodes_are_split():
    m, beam, _ = cantilever(4)
    beam.load(force=(0, 8.0, 0), moment=(1, 0, 0), at=0.6, name="between")
    f = kr.imbalance(m.system()).reshape(-1, 6)
    np.testing.assert_allclose(f[:, 4], [0, 0.8 * 8, 0.2 * 8, 0, 0], atol=1e-12)
    np.testing.assert_allclose(f[:, 0], [0, 0.8, 0.2, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("given", "moments"),
    [((0, 3.0, 0), (6.0, 6.0)), (lambda s: (0, 3 * s**2, 0), (8.0, 12.0)), (np.tile([0, 2.0, 0], (4, 1)), (8.0, 8.0))],
)
def test_densities_keep_force_and_first_moment(given, moments):
    m, beam, _ = cantilever(4)
    beam.load(force=given, name="density")
    f = kr.imbalance(m.system()).reshape(-1, 6)[:, 4]
    np.testing.assert_allclose([f.sum(), beam.s @ f], moments, rtol=1e-12)


def test_follower_loads_turn_with_the_section():
    for axes, push in (("space", (0, 5.0, 0)), ("body", (0, 5.0, 0))):
        m, beam, _ = cantilever(8, start="clamped")
        beam.load(force=push, at=2.0, axes=axes)
        sol = kr.equilibrium(m.system(), loads=[20.0])
        tip = sol.rotation(beam.end)[-1]
        # At the end the section force is the load: dead along space, following along the section.
        wanted = tip.T @ np.array([0, 100.0, 0]) if axes == "space" else np.array([0, 100.0, 0])
        np.testing.assert_allclose(sol.beam("rod").force()[-1, -1], wanted, rtol=0.1, atol=3)
    assert np.abs(tip - np.eye(3)).max() > 0.2


# Results


def test_results_along_a_beam():
    m, beam, _ = cantilever(4, start="clamped", curve=kr.arc(1.5))
    beam.load(force=(0, 5.0, 0), at=2.0)
    sol = kr.simulate(m.system(), until=0.1, step=1e-3)
    rod = sol.beam("rod")
    np.testing.assert_allclose(rod.position_at(beam.s, sol.t), rod.position(), atol=1e-12)
    np.testing.assert_allclose(rod.position_at(1.3, 0.0)[0, 0], kr.arc(1.5)(1.3)[9:], atol=1e-12)  # arcs are interpolated exactly
    np.testing.assert_allclose(rod.rotation_at(1.3, 0.0)[0, 0].ravel(), kr.arc(1.5)(1.3)[:9], atol=1e-12)
    np.testing.assert_allclose(rod.moment()[:, 0], SOFT.stiffness[:3] * rod.strain()[:, 0, :3])
    with pytest.raises(ValueError, match="beam 'rod': s must lie in"):
        rod.at(2.5)
    with pytest.raises(KeyError, match="there is no beam 'rope'; there are \\['rod'\\]"):
        sol.beam("rope")


@pytest.mark.parametrize("variant", ["cosserat", "kirchhoff", "inextensible"])
def test_section_forces_of_every_variant_balance_the_load(variant):
    """At rest the first segment carries the whole load; without shear stiffness by its multipliers."""
    m, beam, _ = cantilever(6, start="clamped", variant=variant)
    beam.load(force=(3.0, 4.0, 5.0), at=2.0)
    sol = kr.equilibrium(m.system())
    rod = sol.beam("rod")
    middle = rod.rotation_at(rod.middle)[-1]
    for R, g in zip(middle, rod.force()[-1], strict=True):
        np.testing.assert_allclose(R @ g, [3, 4, 5], rtol=1e-3, atol=2e-2)
    if variant == "inextensible":
        assert np.abs(np.linalg.norm(np.diff(rod.position()[-1], axis=0), axis=1) - 1 / 3).max() < 1e-3
        assert np.abs(rod.strain()[-1, :, 3:]).max() < 1e-13


@pytest.mark.parametrize("variant", ["cosserat", "kirchhoff"])
def test_section_forces_at_any_time(variant):
    m, beam, _ = cantilever(3, start="clamped", variant=variant, viscosity=0.5)
    beam.load(force=(3.0, 4.0, 5.0), at=2.0)
    rod = kr.simulate(m.system(), until=5e-3, step=1e-3, method=kr.GeneralizedAlpha(0.9)).beam("rod")
    g = rod.section_forces()
    np.testing.assert_allclose(rod.section_forces(rod.solution.t), g, rtol=1e-10, atol=1e-9)
    between = rod.section_forces(2.5e-3)[0]
    np.testing.assert_allclose(between, (g[2] + g[3]) / 2, rtol=0, atol=2e-3 * np.abs(g).max())
    np.testing.assert_array_equal(rod.moment(2.5e-3)[0], between[:, :3])


def test_viscous_section_forces():
    m, _, _ = cantilever(2, viscosity=3.0, velocity=(0, 0, 1), omega=(0, 0.2, 0))
    system = m.system()
    system.nodes[2].v[5] += 0.6  # stretches the last segment
    sol = kr.simulate(system, until=1e-4, step=1e-4)
    g = sol.beam("rod").section_forces()[0]
    np.testing.assert_allclose(g[0], 0, atol=1e-12)
    np.testing.assert_allclose(g[1], [0, 0, 0, 0, 0, 2 * 3.0 * 0.6], atol=1e-12)


def test_viscosity_takes_energy_and_no_momentum():
    m, _, _ = cantilever(4, viscosity=2.0, velocity=(0.1, 0, 1), omega=(0.3, 0.2, 0.1))
    system = m.system()
    system.nodes[2].v[:] += [0.3, 0.1, -0.2, 0.5, 0.4, 0.6]
    sol = kr.simulate(system, until=1.0, step=2e-4)
    assert sol.dissipated[-1] > 0.2
    assert sol.energy[-1] < sol.energy[0] - 0.2
    assert np.abs(sol.balance - sol.balance[0]).max() < 2e-3
    assert np.abs(sol.angular_momentum - sol.angular_momentum[0]).max() < 1e-11


# Methods


METHODS = [kr.RATTLie(), kr.SHAKELie(), kr.GeneralizedAlpha(), kr.GeneralizedAlpha(index="stabilised-2"), kr.BLieDF(2)]


VARIANTS = {k: k for k in ("cosserat", "kirchhoff", "inextensible")} | {"own": lambda w, rest: w[1:3] - rest[1:3]}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_method_runs_every_variant(method, variant):
    ends = []
    for h in (2e-3, 1e-3, 5e-4):
        m, beam, _ = cantilever(4, start="clamped", variant=VARIANTS[variant])
        beam.load(force=(2.0, 1.0, 0), at=2.0, history=lambda t: ca.sin(2 * t) ** 2)
        sol = kr.simulate(m.system(), until=0.4, step=h, method=method)
        assert sol.success, sol.message
        assert sol.constraint_violation.max() < 1e-12
        ends.append(sol.q[-1])
    coarse, fine = np.abs(ends[0] - ends[1]).max(), np.abs(ends[1] - ends[2]).max()
    assert 3.3 < coarse / fine < 4.7


def test_a_slender_steel_tube():
    """Numbers of everyday life: rotational inertia 1e5 times smaller than mass. The factorisation delays columns, and asks for room."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    tube = kr.Section.tube(0.010, 0.008, E=210e9, nu=0.3, rho=7850)
    boom = m.beam("boom", 2.0, 16, tube, curve=kr.straight(direction=(1, 0, 0)), start="clamped", variant="kirchhoff")
    boom.load(force=(0, 0, -30), at=2.0)
    sol = kr.simulate(m.system(), until=0.05, step=1e-3, method=kr.GeneralizedAlpha(0.8, "stabilised-2"))
    assert sol.success, sol.message
    assert sol.constraint_violation.max() < 1e-13
    # After a quarter of its period of 0.22 s it is on its way to its static place, 0.1 m below.
    assert -0.1 < sol.position(boom.end)[-1, 2] < -0.02


def test_a_kept_matrix_reaches_the_rounding_of_a_long_beam():
    """The multipliers of 1024 segments have rounding far above the tolerance: a stall with a fresh matrix counts, those with a kept one
    in between do not undo it."""
    system = kr.models.flying_spaghetti(segments=1024)
    newton = kr.Newton(atol=1e-12, rtol=1e-12, matrix="frozen")
    sol = kr.simulate(system, until=20 * 5e-5, step=5e-5, method=kr.GeneralizedAlpha(0.9), newton=newton)
    assert sol.success, sol.message


@pytest.mark.parametrize("group", ["SE3", "UDQ"])
def test_all_groups_give_the_same_motion(group):
    sols = []
    for coordinates in (group, "S3R3"):
        m, beam, _ = cantilever(4, start="clamped", variant="kirchhoff")
        beam.load(force=(2.0, 1.0, 0), at=2.0)
        sols.append(kr.simulate(m.system(coordinates), until=0.3, step=1e-3).position("rod[4]"))
    np.testing.assert_allclose(*sols, atol=1e-11)


def test_beams_stay_on_S3R3_where_bodies_have_other_coordinates():
    m = kr.Mechanism()
    m.body("free", 1.0, (0.1, 0.1, 0.1))
    m.beam("rod", 2.0, 3, SOFT)
    groups = [str(n.group) for n in m.system("SO3xR3").nodes]
    assert groups == [str(kr.SO3 * kr.R(3)), *["S3R3"] * 4]


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0.0}, "beam 'rod': the length must be positive"),
        ({"segments": 0}, "beam 'rod': there must be at least one segment"),
        ({"segments": [0, 1.0, 0.5, 2.0]}, "beam 'rod': segments must be a number, or a grid"),
        ({"section": kr.Section(500.0, -4.0, 300.0, 1e4, 1e4, 1e4, 1.0, (1, 1, 1))}, "beam 'rod': EI2 must be positive, got -4.0"),
        ({"section": kr.Section(500.0, 4.0, 300.0, 1e4, 1e4, 1e4, 1.0, (1, 0, 1))}, "beam 'rod': the inertia per length"),
        ({"curve": lambda s: (2 * s, 0, 0)}, "beam 'rod': the initial curve must have unit speed.*it is 2"),
        ({"curve": lambda s: (s, np.nan, 0)}, "beam 'rod': curve"),
        ({"variant": "euler"}, "beam 'rod': variant must be one of cosserat, kirchhoff, inextensible"),
        ({"viscosity": -1.0}, "beam 'rod': the viscosity must not be negative"),
        ({"start": "wall"}, "beam 'rod' refers to 'wall', which is no body"),
        ({"closed": True}, "beam 'rod': the initial curve of a closed beam must end where it begins"),
        ({"closed": True, "start": "clamped"}, "beam 'rod': a closed beam has no ends to hold"),
        ({"precurvature": (1, 2)}, "beam 'rod': precurvature must be three"),
    ],
)
def test_mistakes(options, message):
    given = {"length": 2.0, "segments": 4, "section": SOFT} | options
    with pytest.raises(ValueError, match=message):
        kr.Mechanism().beam("rod", **given)


def test_loads_and_joints_off_the_beam():
    m, beam, _ = cantilever(4, start="clamped")
    with pytest.raises(ValueError, match=r"beam 'rod', load 1 on rod: s = 2.5 lies outside the beam, \[0, 2.0\]"):
        beam.load(force=(1, 0, 0), at=2.5)
    with pytest.raises(ValueError, match="beam 'rod' has no node 9; they are 0 to 4"):
        beam.node(9)
    m.joint(kr.Spherical("ground", "rod[9]", name="hook"))
    with pytest.raises(ValueError, match=r"'hook' refers to 'rod\[9\]', but the nodes of beam 'rod' are rod\[1\] to rod\[4\]"):
        m.system()


def test_a_joint_to_a_held_node():
    m, _, _ = cantilever(4, start="clamped")
    m.joint(kr.Spherical("ground", "rod[0]", name="hook"))
    with pytest.raises(ValueError, match=r"'hook' refers to 'rod\[0\]', but that node of beam 'rod' is held by the ground"):
        m.system()


def test_a_part_of_a_body_in_other_coordinates():
    m = kr.Mechanism()
    m.body("tip", 1.0, (0.1, 0.1, 0.1), position=(0, 0, 2))
    m.beam("rod", 2.0, 3, SOFT, end="tip")
    with pytest.raises(ValueError, match="beam 'rod' is part of 'tip', which then needs the same coordinates"):
        m.system("SO3xR3")


def test_nan_of_a_load_on_a_beam_names_it():
    m, beam, _ = cantilever(3, start="clamped")
    beam.load(force=(1, 0, 0), at=2.0, history=lambda t: ca.sqrt(0.05 - t), name="gust")
    sol = kr.simulate(m.system(), until=0.1, step=1e-2)
    assert sol.status is kr.Status.NOT_FINITE
    assert r"'gust at rod[3]'" in sol.message
    assert sol.t[-1] == pytest.approx(0.05)
