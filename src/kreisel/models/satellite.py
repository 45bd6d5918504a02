"""A satellite with three reaction wheels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kreisel.mechanics import Mechanism, Revolute, System, Torque
from kreisel.rotations import Parametrisation

MASS, EULER = 1005.3096, (89.3609, 201.0619, 357.4434)
ROTOR_MASS, ROTOR_EULER = 424.1150, (8.8357, 106.0288, 106.0288)
OFFSETS = (0.9167, 1.25, 1.5833)


def satellite(
    formulation: str = "directors",
    *,
    friction: float = 0.0,
    attitude: ArrayLike | None = None,
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    omega: ArrayLike = (0.0, 0.0, 0.0),
    rates: ArrayLike = (0.0, 0.0, 0.0),
    rotation: Parametrisation | None = None,
) -> System:
    """The satellite of Siebert (4.3, Table 4.1): a main body and three rotors on its axes, in free space; inputs "u1", "u2", "u3".

    Rotor i is centred on axis i at the distances 0.9167, 1.25, 1.5833 m; hinges "wheel 1" to "wheel 3". ``friction``: of the hinges, in
    Nms. ``attitude``: rotation matrix, ``velocity`` (space axes), ``omega`` (body axes): of the main body, ``rates``: of the rotors
    against it, at the start. ``rotation``: of the main body in minimal coordinates, as in :meth:`Mechanism.system`. Inertia is given there
    by Euler tensors E, of which J = tr(E) - E. Her torques have the opposite sign.

    >>> satellite().degrees_of_freedom
    9
    >>> from kreisel.rotations import EulerAngles
    >>> angles = EulerAngles("zxz")  # her (6.24), as (Psi, Theta, Phi); singular at the attitude I
    >>> satellite("minimal", attitude=angles.matrix([2, 2, 2]), rotation=angles).nodes[0].q.round(12) + 0.0
    array([0., 0., 0., 2., 2., 2., 0., 0., 0.])
    """
    m = Mechanism()
    R = np.eye(3) if attitude is None else np.asarray(attitude, dtype=float)
    v, w, a = (np.asarray(x, dtype=float) for x in (velocity, omega, rates))
    m.body("main", MASS, sum(EULER) - np.array(EULER), rotation=R, velocity=v, omega=w)
    for i, axis in enumerate(np.eye(3)):
        E = np.full(3, ROTOR_EULER[1])
        E[i] = ROTOR_EULER[0]
        at, motion = R @ (OFFSETS[i] * axis), v + R @ np.cross(w, OFFSETS[i] * axis)
        m.body(f"rotor {i + 1}", ROTOR_MASS, E.sum() - E, position=at, rotation=R, omega=w + a[i] * axis, velocity=motion)
        m.joint(Revolute("main", f"rotor {i + 1}", at=at, axis=R @ axis, friction=friction, name=f"wheel {i + 1}"))
        m.force(Torque(f"wheel {i + 1}", control=f"u{i + 1}"))
    return m.system(formulation, rotation)
