"""Structure-preserving simulation, stability analysis and optimal control of mechanical systems.

>>> import kreisel as kr
>>> q = kr.SE3.exp([0, 0, 3.14159 / 2, 1, 0, 0])
>>> kr.SE3.compose(q, kr.SE3.inverse(q)).round(12).tolist() == kr.SE3.identity().tolist()
True
"""

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, Group, Product, R, convert, convert_velocity, embedding_norm

__version__ = "0.1.0"

__all__ = ["S3", "S3R3", "SE3", "SO3", "UDQ", "Group", "Product", "R", "convert", "convert_velocity", "embedding_norm"]
