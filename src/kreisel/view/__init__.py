"""Pictures of motions: plots for paper, and scenes for the browser."""

from kreisel.view.maps import plot_boundary, plot_convergence, plot_map, plot_root_locus
from kreisel.view.plots import (
    plot,
    plot_controls,
    plot_energy,
    plot_hamiltonian,
    plot_joints,
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
    "plot_boundary",
    "plot_controls",
    "plot_convergence",
    "plot_energy",
    "plot_hamiltonian",
    "plot_joints",
    "plot_map",
    "plot_multipliers",
    "plot_path",
    "plot_position",
    "plot_root_locus",
    "plot_snapshots",
    "plot_velocity",
    "plot_violation",
    "scene",
]
