"""Pictures of motions: plots for paper, and scenes for the browser."""

from kreisel.view.plots import (
    plot,
    plot_energy,
    plot_multipliers,
    plot_path,
    plot_position,
    plot_snapshots,
    plot_velocity,
    plot_violation,
)
from kreisel.view.scene import scene

__all__ = [
    "plot",
    "plot_energy",
    "plot_multipliers",
    "plot_path",
    "plot_position",
    "plot_snapshots",
    "plot_velocity",
    "plot_violation",
    "scene",
]
