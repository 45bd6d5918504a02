"""Vectors, frames and homogeneous coordinates.

>>> from kreisel.frames import Point, Transform, from_axes
>>> T = Transform.of(from_axes(x=(0, 1, 0), z=(0, 0, 1)), q=(1, 0, 0), source="arm")
>>> (T @ Point((2, 0, 0), "arm")).coordinates
array([1., 2., 0.])
"""

from kreisel.frames.homogeneous import BoundVector, Direction, Point, Screw, Transform, sequence
from kreisel.frames.vectors import (
    angle,
    angular_velocity,
    axial,
    axis_and_angle,
    change_of_basis,
    direction_cosines,
    from_axes,
    is_basis,
    is_linear,
    skew,
    unit,
)

__all__ = [
    "BoundVector",
    "Direction",
    "Point",
    "Screw",
    "Transform",
    "angle",
    "angular_velocity",
    "axial",
    "axis_and_angle",
    "change_of_basis",
    "direction_cosines",
    "from_axes",
    "is_basis",
    "is_linear",
    "sequence",
    "skew",
    "unit",
]
