"""Shells: a plate set flying by a load at a corner, and a cantilevered strip."""

from __future__ import annotations

import casadi as ca

from kreisel.mechanics import Layer, Mechanism, System


def flying_plate(
    formulation: str = "S3R3",
    *,
    cells: tuple[int, int] = (6, 4),
    lengths: tuple[float, float] = (3.0, 2.0),
    thickness: float = 0.1,
    E: float = 2e5,
    nu: float = 0.3,
    rho: float = 10.0,
    force: tuple[float, float, float] = (4.0, 2.0, 8.0),
    duration: float = 0.5,
) -> System:
    """A free plate, first at rest, set flying and bending by a force at its corner (0, 0).

    The force rises and falls as sin^2 and is gone at ``duration``; it leaves the momentum force * duration / 2. The plate is to Hante's
    shell (appendix D) what the flying spaghetti is to his beam.

    >>> flying_plate(cells=(2, 1)).degrees_of_freedom
    36
    """
    m = Mechanism()
    plate = m.shell("plate", lengths, cells, Layer.isotropic(thickness, E, nu, rho))

    def history(t: ca.SX) -> ca.SX:
        return ca.if_else(t < duration, ca.sin(ca.pi * t / duration) ** 2, 0)

    plate.load(force=force, at=(0, 0), history=history, name="push")
    return m.system(formulation)


def strip(
    formulation: str = "S3R3",
    *,
    cells: tuple[int, int] = (16, 1),
    length: float = 1.0,
    width: float = 0.05,
    thickness: float = 0.01,
    E: float = 70e9,
    nu: float = 0.0,
    rho: float = 2700.0,
    load: float = 100.0,
) -> System:
    """A strip of a shell, clamped at one end, with a load across it at the other: a beam of rectangular section, if nu = 0.

    >>> strip(cells=(4, 1)).degrees_of_freedom
    48
    """
    m = Mechanism()
    shell = m.shell("strip", (length, width), cells, Layer.isotropic(thickness, E, nu, rho), clamped="s1=0")
    for j in range(cells[1] + 1):
        share = 0.5 if j in (0, cells[1]) else 1.0
        shell.load(force=(0, 0, share * load / cells[1]), at=(-1, j), name=f"load {j}")
    return m.system(formulation)
