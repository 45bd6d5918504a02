"""Lie groups and their operators, in symbols and on arrays.

Elements are arrays whose last axis has ``n_params`` entries, velocities have ``dim`` entries there, rotation part
first. Leading axes are free.

>>> from kreisel.groups import R, S3R3, SO3
>>> S3R3.log(S3R3.exp([0.1, 0, 0, 1, 2, 3])).round(12)
array([0.1, 0. , 0. , 1. , 2. , 3. ])
>>> (SO3 * R(3)).exp([[0, 0, 0, 1, 2, 3]] * 5).shape
(5, 12)
"""

from kreisel.groups.base import Group
from kreisel.groups.convert import convert, convert_velocity, embedding_norm
from kreisel.groups.product import Product
from kreisel.groups.rigid import S3R3, SE3, UDQ
from kreisel.groups.rotation import S3, SO3
from kreisel.groups.vector import R

__all__ = ["S3", "S3R3", "SE3", "SO3", "UDQ", "Group", "Product", "R", "convert", "convert_velocity", "embedding_norm"]
