"""Shells: energy, forces against those of the thesis and differences, rigid motions, edges, momenta, order, mistakes."""

import numpy as np
import pytest

import kreisel as kr
from kreisel.groups import S3R3
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.monitors import Monitors
from kreisel.simulation.packs import Layout
from kreisel.simulation.statics import Balance, Static

RUBBER = kr.Layer.isotropic(0.1, E=2e4, nu=0.3, rho=10.0, coupling=3e3)


def plate(cells=(3, 2), layer=RUBBER, size=0.0, group="S3R3", **options):
    m = kr.Mechanism()
    m.shell("plate", (1.5, 0.8), cells, layer, **options)
    system = m.system(group)
    rng = np.random.default_rng(2)
    for node in system.nodes:
        node.q = np.asarray(node.group.retract(node.q, size * rng.standard_normal(node.group.dim)))
    return system


def forces(system):
    layout = Layout(system, Static())
    return -Assembly(layout, Balance(0.0))(layout.start(), np.zeros(system.dim))[0]


def energy(system):
    layout = Layout(system, Static())
    return Monitors(layout).total("potential", layout.start()[None])[0, 0]


def hand_made(system, cells, lengths, C, rest):
    """Energy and forces as in Hante's appendix D, with the corrections: sums over a, b = +-1/2."""
    M1, M2 = cells
    ds = np.array(lengths) / cells
    q = np.array([n.q for n in system.nodes]).reshape(M1 + 1, M2 + 1, 7)

    def w1(i, j):  # on the edge from (i, j) to (i + 1, j)
        return np.asarray(S3R3.difference(q[i, j], q[i + 1, j])) / ds[0]

    def w2(i, j):
        return np.asarray(S3R3.difference(q[i, j], q[i, j + 1])) / ds[1]

    def chi1(j):
        return 0.5 if j in (0, M2) else 1.0

    def chi2(i):
        return 0.5 if i in (0, M1) else 1.0

    C11, C12, C22 = C[:6, :6], C[:6, 6:], C[6:, 6:]

    def mean1(i, j):  # in the cell (i, j)
        return (w1(i, j) + w1(i, j + 1)) / 2 - rest[0]

    def mean2(i, j):
        return (w2(i, j) + w2(i + 1, j)) / 2 - rest[1]

    U = 0.0
    f = np.zeros((M1 + 1, M2 + 1, 6))
    for i in range(M1 + 1):
        for j in range(M2 + 1):
            if i < M1:
                e = w1(i, j) - rest[0]
                U += ds.prod() * chi1(j) / 2 * e @ C11 @ e
            if j < M2:
                e = w2(i, j) - rest[1]
                U += ds.prod() * chi2(i) / 2 * e @ C22 @ e
            if i < M1 and j < M2:
                U += ds.prod() * mean1(i, j) @ C12 @ mean2(i, j)
            for a in (-1, 0):  # the edge before, after the node: a = -1/2, 1/2
                for b in (-1, 0):
                    inside1, inside2 = 0 <= i + a < M1, 0 <= j + b < M2
                    sa, sb = a + 0.5, b + 0.5
                    if inside1:
                        g = chi1(j) * C11 @ (w1(i + a, j) - rest[0])
                        if inside2:
                            g = g + C12 @ mean2(i + a, j + b)
                        f[i, j] += ds[1] * sa * np.asarray(S3R3.Tinv(-2 * sa * ds[0] * w1(i + a, j))).T @ g
                    if inside2:
                        g = chi2(i) * C22 @ (w2(i, j + b) - rest[1])
                        if inside1:
                            g = g + C12.T @ mean1(i + a, j + b)
                        f[i, j] += ds[0] * sb * np.asarray(S3R3.Tinv(-2 * sb * ds[1] * w2(i, j + b))).T @ g
    return U, f.ravel()


def test_energy_and_forces_are_those_of_the_thesis():
    system = plate(size=0.1)
    rest = np.array([[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]], dtype=float)
    U, f = hand_made(system, (3, 2), (1.5, 0.8), RUBBER.stiffness, rest)
    assert energy(system) == pytest.approx(U, rel=1e-13)
    np.testing.assert_allclose(forces(system), f, rtol=0, atol=1e-11 * np.abs(f).max())


def test_forces_are_minus_the_gradient_of_the_energy():
    system = plate(size=0.1)
    f, e, layout = forces(system), 1e-3, Layout(system, Static())
    states = []
    for node, places in zip(system.nodes, layout.nodes, strict=True):
        for u in np.eye(6):
            for step in (2 * e, e, -e, -2 * e):
                S = layout.start()
                S[places["q"] : places["q"] + 7] = node.group.retract(node.q, step * u)
                states.append(S)
    U = Monitors(layout).total("potential", np.array(states))[:, 0].reshape(-1, 4)
    slopes = U @ [-1, 8, -8, 1] / (12 * e)
    np.testing.assert_allclose(slopes, -f, rtol=0, atol=1e-8 * np.abs(f).max())


def test_a_rigid_motion_gives_no_force():
    system = plate()
    g = S3R3.exp([0.3, -0.8, 0.5, 1.0, 2.0, -3.0])
    for node in system.nodes:
        node.q = np.asarray(S3R3.compose(g, node.q))
    assert np.abs(forces(system)).max() < 1e-10
    assert energy(system) < 1e-20


def test_a_cylinder_is_free_of_stress_or_not():
    def surface(s1, s2):
        return (np.sin(s1), s2, np.cos(s1)), np.array([[np.cos(s1), 0, np.sin(s1)], [0, 1, 0], [-np.sin(s1), 0, np.cos(s1)]])

    assert np.abs(forces(plate(surface=surface))).max() < 1e-10
    assert np.abs(forces(plate(surface=surface, rest="flat"))).max() > 0.5


def test_a_long_cylinder_keeps_its_quaternions_together():
    """More than a full turn along s1: neighbours stay on one side, in both directions."""

    def surface(s1, s2):
        a = 5 * s1
        return (np.sin(a) / 5, s2, np.cos(a) / 5), np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])

    assert np.abs(forces(plate((24, 3), surface=surface))).max() < 1e-9


def test_patches_of_constant_strain():
    """Homogeneous stretching and bending of an isotropic plate: the energies of plane stress and of Kirchhoff's plate."""
    E, nu, h, G = 2e4, 0.3, 0.1, 2e4 / 2.6
    layer = kr.Layer.isotropic(h, E=E, nu=nu, rho=10.0)
    a, b = 1e-4, 2e-4
    system = plate(layer=layer)
    for node in system.nodes:
        node.q[4:6] *= [1 + a, 1 + b]
    area = 1.5 * 0.8
    assert energy(system) == pytest.approx(area * E * h / (1 - nu**2) / 2 * (a**2 + b**2 + 2 * nu * a * b), rel=1e-9)
    kappa = 1e-3

    def bent(s1, s2):  # a circle of radius 1 / kappa about the second axis
        t = kappa * s1
        return (np.sin(t) / kappa, s2, (np.cos(t) - 1) / kappa), [[np.cos(t), 0, np.sin(t)], [0, 1, 0], [-np.sin(t), 0, np.cos(t)]]

    system = plate(layer=layer, surface=bent, rest="flat")
    assert energy(system) == pytest.approx(area * E * h**3 / 12 / (1 - nu**2) / 2 * kappa**2, rel=1e-6)
    assert G == pytest.approx(layer.stiffness[5, 5] / (5 / 6 * h))


@pytest.mark.parametrize("group", ["S3R3", "SE3"])
@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha(), kr.BLieDF(2), kr.SHAKELie()], ids=str)
def test_order_and_momenta(method, group):
    system = plate((2, 2), size=0.02, group=group, omega=(0.5, 1.0, 2.0), velocity=(0.3, 0, 0.1))
    ends = []
    for h in (4e-4, 2e-4, 1e-4):
        sol = kr.simulate(system, until=0.08, step=h, method=method)
        assert sol.success
        ends.append(np.concatenate([sol.q[-1], 1e-2 * sol.v[-1]]))
    ratio = np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max()
    assert 3.3 < ratio < 4.7
    if isinstance(method, kr.RATTLie):
        for name in ("momentum", "angular_momentum"):
            p = getattr(sol, name)
            assert np.abs(p - p[0]).max() < 1e-12 * np.abs(p[0]).max() * len(p)


def test_energy_is_bounded():
    system = plate((2, 2), size=0.05)
    sol = kr.simulate(system, until=20.0, step=1e-3, every=10)
    deviation = sol.energy - sol.energy[0]
    half = len(deviation) // 2
    assert np.abs(deviation).max() < 0.05 * sol.energy[0]
    assert abs(np.abs(deviation[:half]).max() / np.abs(deviation[half:]).max() - 1) < 0.35
    slope = np.polyfit(sol.t, deviation, 1)[0]
    assert abs(slope) * 20 < 0.1 * np.ptp(deviation)


def test_clamped_edges_are_no_unknowns():
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    shell = m.shell("roof", (2.0, 1.0), (4, 2), RUBBER, clamped=("s1=0", "s1=L1"))
    system = m.system()
    assert len(system.nodes) == 3 * 3
    sol = kr.equilibrium(system, loads=2)
    x = sol.shell("roof").position()[-1].reshape(5, 3, 3)
    np.testing.assert_allclose(x[0], [[0, 0, 0], [0, 0.5, 0], [0, 1, 0]])
    np.testing.assert_allclose(x[1, :, 2], x[3, :, 2], atol=1e-10)  # symmetric
    assert x[2, 1, 2] < x[1, 1, 2] < -1e-4
    with pytest.raises(ValueError, match="shell 'roof': node 0 is clamped to the ground"):
        shell.node(0)
    assert shell.node(shell.index(2, -1)) == "roof[2,2]"


def test_a_strip_one_cell_wide_is_a_beam():
    """The end of a cantilevered strip under a load across it is that of the beam with the same section and mesh, far into bending."""
    load = 4000.0
    shell = kr.equilibrium(kr.models.strip(cells=(8, 1), load=load), loads=8)
    m = kr.Mechanism()
    curve = kr.straight((0, 0.025, 0), (1, 0, 0), normal=(0, 1, 0))
    beam = m.beam("beam", 1.0, 8, kr.Section.rectangle(0.05, 0.01, E=70e9, nu=0.0, rho=2700.0, shear=5 / 6), curve=curve, start="clamped")
    beam.load(force=(0, 0, load), at=1.0)
    end = kr.equilibrium(m.system(), loads=8).position("beam[8]")[-1]
    assert end[2] > 0.7
    np.testing.assert_allclose(shell.shell("strip").position()[-1, -2:].mean(axis=0), end, atol=1e-9)


def test_pressure_follows_the_shell():
    m = kr.Mechanism()
    shell = m.shell("plate", (1.0, 1.0), (2, 2), RUBBER)
    shell.load(force=(0, 0, 4.0), axes="body", name="pressure")
    f = kr.imbalance(m.system()).reshape(3, 3, 6)
    np.testing.assert_allclose(f[..., 5], np.outer([0.5, 1, 0.5], [0.5, 1, 0.5]), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": (1.0, 0.0)}, "shell 'roof': lengths must be two positive"),
        ({"cells": (2, 0)}, "shell 'roof': cells must be two whole numbers"),
        ({"layer": kr.Layer(0.1, 1.0, -np.eye(12))}, "shell 'roof': the stiffness must not be negative"),
        ({"layer": kr.Layer(-0.1, 1.0, np.eye(12))}, "shell 'roof': thickness and density must be positive"),
        ({"clamped": "left"}, "shell 'roof': clamped must name edges out of s1=0"),
        ({"clamped": ("s1=0", "s1=L1"), "cells": (1, 2)}, "shell 'roof': every node is clamped"),
        ({"rest": "curved"}, "shell 'roof': rest must be"),
        ({"surface": lambda a, b: ((a, b, 0), np.ones((3, 3)))}, "must give a position and a rotation matrix"),
    ],
)
def test_mistakes(options, message):
    given = {"lengths": (1.0, 1.0), "cells": (2, 2), "layer": RUBBER} | options
    with pytest.raises(ValueError, match=message):
        kr.Mechanism().shell("roof", **given)


def test_unknown_nodes_and_shells():
    m = kr.Mechanism()
    shell = m.shell("roof", (1.0, 1.0), (2, 2), RUBBER)
    with pytest.raises(ValueError, match=r"shell 'roof' has no node \(3, 0\); they are \(0, 0\) to \(2, 2\)"):
        shell.load(force=(0, 0, 1), at=(3, 0))
    sol = kr.simulate(m.system(), until=1e-3, step=1e-3)
    with pytest.raises(KeyError, match="there is no shell 'wall'"):
        sol.shell("wall")
