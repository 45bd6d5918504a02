"""Beams and shells for a scene: points on them frame after frame, and how thick they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.groups import S3, SO3, convert
from kreisel.mechanics.beam import Beam
from kreisel.mechanics.structure import Realised

if TYPE_CHECKING:
    from kreisel.simulation import Solution

Array = NDArray[np.float64]

#: Points along a beam, at least and at most: few segments are drawn as the curves they are.
POINTS = (24, 120)
#: Numbers of all beams and shells of a scene at most, about ten characters each.
NUMBERS = 1_000_000


class Flexible:
    """A beam or a shell: ``x`` (frames, points, 3), ``R`` (frames, points, 3, 3), and what the page draws of it.

    ``radius``: half its thickness, for the sphere around a point.
    """

    def __init__(self, sol: Solution, name: str, realised: Realised, t: Array) -> None:
        self.name = name
        places = [body for body, _ in realised.places]
        if isinstance(realised.structure, Beam):
            beam, motion = realised.structure, sol.beam(name)
            n = int(np.clip(4 * (len(beam.s) - 1), *POINTS)) + 1
            s = np.linspace(0, beam.length, n)
            self.x, self.R = motion.position_at(s, t), motion.rotation_at(s, t)
            # A bar of even density has I = mass a^2 / 12 about an axis: its sides follow from the inertia per length.
            J1, J2, _ = beam.section.inertia
            sides = np.sqrt(12 * np.array([J2, J1]) / beam.section.mass)
            # The inertia of a test problem need not be that of a slender beam.
            self.sides = np.where(sides < beam.length / 4, sides, beam.length / 40)
            held = [k for k, place in ((0, places[0]), (n - 1, places[-1])) if place == "ground"]
            self.shape: dict[str, Any] = {"kind": "beam", "points": n, "sides": _short(self.sides), "held": held}
        else:
            shell, surface = realised.structure, sol.shell(name)
            self.x, self.R = surface.position(t), surface.rotation(t)
            self.sides = np.array([shell.layer.thickness])  # type: ignore[attr-defined]
            rows, columns = (int(m) + 1 for m in shell.cells)  # type: ignore[attr-defined]
            self.shape = {"kind": "shell", "points": rows * columns, "rows": rows, "sides": _short(self.sides)}
        self.radius = float(self.sides.max()) / 2

    def data(self, digits: int) -> dict[str, Any]:
        """As numbers for the page. A shell needs no rotations: its normals follow from its points."""
        out = {"name": self.name, "radius": float(f"{self.radius:.6g}"), **self.shape, "x": np.round(self.x, digits).ravel().tolist()}
        if self.shape["kind"] == "beam":
            q = convert(self.R.reshape(*self.R.shape[:2], 9), SO3, S3)
            out["q"] = np.round(q, 4).ravel().tolist()
        return out


def frames_at_most(sol: Solution) -> int:
    """So many frames that the file stays of a size that browsers open at once."""
    points = sum(POINTS[1] if isinstance(r.structure, Beam) else len(r.places) for r in sol.system.structures.values())
    return NUMBERS // (7 * points) if points else NUMBERS


def _short(values: Array) -> list[float]:
    return [float(f"{v:.6g}") for v in values]
