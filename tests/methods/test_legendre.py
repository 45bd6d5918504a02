"""Hamiltonian systems made of mechanisms."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.mechanics.actuators import Input


def test_the_same_motion_by_momenta_as_by_velocities():
    """The manipulator with torques: both midpoint rules are of order 2 and meet; energies and directions of inputs are the same."""
    arm = kr.models.three_link("minimal", rates=(0.3, -0.2, 0.5))
    hamiltonian = kr.hamiltonian_of(arm)
    assert hamiltonian.controls == ["u1", "u2", "u3"]
    np.testing.assert_array_equal(hamiltonian.inputs, np.eye(3))
    u = {"u1": lambda t: 500 * ca.cos(t), "u3": lambda t: 100 * t}
    gaps = []
    for h in (0.02, 0.01, 0.005):
        a = kr.simulate(arm, 1, h, kr.GC(), controls=u)
        b = kr.simulate(hamiltonian, 1, h, kr.Gonzalez(), controls=u)
        gaps.append(np.abs(a.q[-1] - b.q[-1]).max())
    assert a.energy[0] == pytest.approx(b.energy[0], rel=1e-14)
    assert np.ptp(b.balance) < 1e-9 < np.ptp(a.balance)
    assert gaps[-1] < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.1)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.1)


def test_several_nodes_springs_and_drives():
    """Two masses on a line with a spring: H = p1^2/4 + p2^2/6 + 5 (q2 - q1)^2 / 2; one drive."""
    m = kr.Mechanism(gravity=(0, 0, 0))
    m.scalar("left", 2.0, 0.5, 1.0)
    m.scalar("right", 3.0)
    m.force(kr.Drive("right", control="push"))
    m.force(kr.Potential("spring", "left", "right", lambda a, b: 5 * (b.value - a.value) ** 2 / 2))
    found = kr.hamiltonian_of(m.system())
    q, p = np.array([0.3, -0.7]), np.array([1.1, 0.4])
    x, y = ca.SX.sym("q", 2), ca.SX.sym("p", 2)
    value = float(ca.Function("H", [x, y], [found.H(x, y)])(q, p))
    assert value == pytest.approx(1.1**2 / 4 + 0.4**2 / 6 + 2.5 * 1.0, rel=1e-15)
    np.testing.assert_array_equal(found.inputs, [[0.0], [1.0]])
    np.testing.assert_array_equal(found.nodes[0].q, [0.5, 0.0])
    np.testing.assert_array_equal(found.nodes[0].v, [2.0, 0.0])


def test_what_has_no_hamiltonian_here():
    with pytest.raises(ValueError, match=r"'rod' is a constraint; .* coordinates='minimal'"):
        kr.hamiltonian_of(kr.models.pendulum())
    with pytest.raises(ValueError, match="'shoulder' has a force without potential, as friction is"):
        kr.hamiltonian_of(kr.models.three_link("minimal", friction=1.0))
    with pytest.raises(ValueError, match="no vector space"):
        kr.hamiltonian_of(kr.models.chain(1, "minimal"))
    m = kr.Mechanism(gravity=(0, 0, 0))
    m.scalar("angle", 2.0)
    m.force(Pull())
    with pytest.raises(ValueError, match="control 'pull': the direction in which it acts depends on the coordinates"):
        kr.hamiltonian_of(m.system())


class Pull(Input):
    """A force whose lever arm changes."""

    def __init__(self):
        super().__init__("rope", "angle")
        self.take("pull", None)

    def power(self, p, t, frames, virtual):
        return self.input(p, t) * ca.cos(frames[0].value) * virtual[0].rate
