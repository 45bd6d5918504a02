"""What several test files need: the list of groups, and random elements and velocities of each."""

import importlib.util
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, R


def example(name):
    """A file of examples/ as a module."""
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Appending a group here is how it gets its tests.
ALL_GROUPS = [R(1), R(3), SO3, S3, SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3), SE3 * SO3 * R(4), S3 * (R(2) * S3R3), example("galilei").GALILEI]

_component = st.floats(-1, 1, allow_subnormal=False)


@st.composite
def vectors(draw, group, angle=3.0):
    """Velocities with any direction and a size that is log-uniform from 1e-12 to the given one; now and then zero."""
    v = np.array(draw(st.lists(_component, min_size=group.dim, max_size=group.dim)))
    size = 10 ** draw(st.floats(-12, 0)) * angle
    return v / max(1.0, np.sqrt(3) * np.abs(v).max()) * draw(st.sampled_from([size, angle, 1.0, 0.0]))


@st.composite
def elements(draw, group):
    """Elements with rotations of any angle and positions of order one."""
    return group.random(draw(st.integers(0, 2**32 - 1)))
