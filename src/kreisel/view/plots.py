"""Plots of motions over time, and of paths in space.

Solutions of optimal control problems are plotted as motions are.

Every function draws into the given axes, or into those of a new figure, and returns the axes. Nothing is shown or saved, and pyplot is
not touched: ``plot_energy(sol).figure.savefig("energy.png")`` writes a file, ``plot_energy(sol, plt.figure().gca())`` draws for a window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.beam import Beam
from kreisel.mechanics.joints import Joint
from kreisel.mechanics.node import PivotNode, PointNode, RigidNode
from kreisel.mechanics.shell import Shell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kreisel.control import Result
    from kreisel.control.indirect import Extremal
    from kreisel.simulation import Solution

Array = NDArray[np.float64]


def plot(
    sol: Solution | Result | Extremal, what: Sequence[str] | None = None, body: str | None = None, axes: Sequence[Any] | None = None
) -> list[Any]:
    """Several plots of one motion: one below the other in a new figure, or each in one of the given axes. Returns the axes.

    ``what``: "position", "velocity", "joints", "energy", "controls", "multipliers", "violation", "path", "snapshots", and of an optimal
    control problem "hamiltonian"; default position and energy, of an optimal control problem controls, joints (or velocity), energy
    and the Hamiltonian. ``body``: for positions, velocities and paths; the first one by default.

    >>> import kreisel as kr
    >>> sol = kr.simulate(kr.models.heavy_top(), until=0.1, step=1e-3)
    >>> [ax.get_ylabel() for ax in plot(sol)]
    ['position of top [m]', 'energy [J]']
    """
    result: Any = sol if hasattr(sol, "solution") else None
    motion: Any = sol if result is None else result.solution
    if what is None:
        what = ("position", "energy") if result is None else ("controls", *_course(motion), "energy", "hamiltonian")
    what = [what] if isinstance(what, str) else list(what)
    for name in what:
        if name not in (*_PLOTS, "hamiltonian"):
            raise ValueError(f"there is no plot '{name}'; there are {', '.join(_PLOTS)} and, of optimal control, hamiltonian")
        if name == "hamiltonian" and result is None:
            raise ValueError("there is a Hamiltonian only of optimal control; give its result instead of the solution")
    body = motion.system.bodies[0].name if body is None else body
    if axes is None:
        heights = [5.0 if name in _SPATIAL else 2.4 for name in what]
        figure = _figure(height=0.4 + sum(heights))
        grid = figure.add_gridspec(len(what), 1, height_ratios=heights)
        axes = [figure.add_subplot(grid[i], projection="3d" if name in _SPATIAL else None) for i, name in enumerate(what)]
    if len(axes) != len(what):
        raise ValueError(f"{len(what)} plots need as many axes, got {len(axes)}")
    return [
        plot_hamiltonian(result, ax) if name == "hamiltonian" else _PLOTS[name](motion, body, ax)
        for name, ax in zip(what, axes, strict=True)
    ]


def _course(sol: Solution) -> list[str]:
    """How a steered motion is shown best: by its joints, if it has any."""
    return ["joints"] if any(isinstance(e, Joint) and e.freedoms for e in sol.system.elements) else ["velocity"]


def plot_position(sol: Solution, body: str, ax: Axes | None = None) -> Axes:
    """The position of a body's centre of mass over time, in space axes; of what has no place in space, its coordinates."""
    try:
        x, names, label = sol.position(body), ["x", "y", "z"], f"position of {body} [m]"
    except TypeError:
        x, names, label = sol.configuration(body), [], f"coordinates of {body}"
    return _lines(ax, sol.t, x, names or _numbered("q", x), label)


def plot_velocity(sol: Solution, body: str, ax: Axes | None = None) -> Axes:
    """The velocities of a body over time: angular in body axes; dashed, on a second scale, that of the centre of mass in space axes.

    Of a point only the latter; of what has no place in space, its velocities. The axes with the first scale are returned.
    """
    v = sol.velocity(body)
    if isinstance(sol._node(body), PointNode):
        return _lines(ax, sol.t, v, ["x", "y", "z"][: v.shape[1]], f"velocity of {body} [m/s]")
    try:
        both = sol.velocity(body, "space")
    except TypeError:
        return _lines(ax, sol.t, v, _numbered("v", v), f"velocities of {body}")
    omega = sol.velocity(body, "body")[:, :3]
    ax = _lines(ax, sol.t, omega, _numbered(r"\Omega", omega), f"angular velocity of {body} [rad/s]")
    second = _lines(ax.twinx(), sol.t, both[:, 3:], [r"$\dot x$", r"$\dot y$", r"$\dot z$"], f"velocity of {body} [m/s]", style="--")
    second.get_legend().remove()  # type: ignore[union-attr]
    ax.legend(handles=[*ax.lines, *second.lines], ncols=2, fontsize="small")
    return ax


def plot_joints(sol: Solution, ax: Axes | None = None) -> Axes:
    """All joint coordinates over time; dashed, on a second scale, strokes beside angles. The axes with the first scale are returned."""
    scales: dict[str, dict[str, Array]] = {"angles [rad]": {}, "strokes [m]": {}}
    for e in sol.system.elements:
        if isinstance(e, Joint):
            for name, values in sol.joint(e.name).coordinates.items():
                label = e.name if len(e.freedoms) == 1 else f"{e.name}, {name}"
                scales["angles [rad]" if e.freedoms[name].turns else "strokes [m]"][label] = values
    first, *second = [(label, lines) for label, lines in scales.items() if lines] or [("", {})]
    if not first[1]:
        raise ValueError("there are no joint coordinates to plot; there are positions")
    ax = _lines(ax, sol.t, np.stack(list(first[1].values()), axis=1), list(first[1]), first[0])
    for label, lines in second:
        twin = ax.twinx()
        for k, (name, values) in enumerate(lines.items(), start=len(ax.lines)):
            twin.plot(sol.t, values, "--", lw=1.2, color=f"C{k}", label=name)
        twin.set_ylabel(label)
        ax.legend(handles=[*ax.lines, *twin.lines], fontsize="small")
    return ax


def plot_controls(sol: Solution, ax: Axes | None = None) -> Axes:
    """The inputs of actuators over time: constant in each step."""
    if not sol.controls:
        raise ValueError("there are no controls to plot")
    return _steps(ax, sol.t, {name: u[1:] for name, u in sol.controls.items()}, "controls [N or Nm]")


def plot_hamiltonian(result: Result | Extremal, ax: Axes | None = None) -> Axes:
    """The discrete Hamiltonian of an optimal control problem, step by step. The exact one is constant."""
    return _steps(ax, result.t, {str(result.solution.method): result.hamiltonian}, "Hamiltonian of the problem")


def plot_energy(sol: Solution, ax: Axes | None = None, change: bool = False) -> Axes:
    """Kinetic, potential and total energy over time; or only the change of the total since the start."""
    if change:
        return _lines(ax, sol.t, (sol.energy - sol.energy[0])[:, None], [str(sol.method)], "change of energy [J]")
    parts = np.stack([sol.kinetic_energy, sol.potential_energy, sol.energy], axis=1)
    return _lines(ax, sol.t, parts, ["kinetic", "potential", "total"], "energy [J]")


def plot_multipliers(sol: Solution, ax: Axes | None = None) -> Axes:
    """The multipliers of the holonomic (lambda) and nonholonomic (mu) constraints over time. Of lengths they are forces."""
    both = np.concatenate([sol.lam, sol.mu], axis=1)
    names = _numbered(r"\lambda", sol.lam) + _numbered(r"\mu", sol.mu)
    return _lines(ax, sol.t, both, names, "multipliers [J per unit of the constraint]")


def plot_violation(sol: Solution, ax: Axes | None = None) -> Axes:
    """The largest violation of the constraints, and of those on velocities, over time; on a logarithmic scale, zeros drawn as 1e-18."""
    both = np.stack([sol.constraint_violation, sol.velocity_violation], axis=1)
    ax = _lines(ax, sol.t, np.maximum(both, 1e-18), [f"constraints, {sol.method}", f"their rates, {sol.method}"], "largest violation")
    ax.set_yscale("log")
    return ax


def plot_path(sol: Solution, body: str, ax: Any = None) -> Any:
    """The path of a body's centre of mass in space, with a dot at its end, in three-dimensional axes of equal scale."""
    x = sol.position(body)
    if ax is None:
        ax = _figure(height=6).add_subplot(projection="3d")
    ax.plot(*x.T, lw=1.2, label=body)
    ax.plot(*x[-1:].T, "o", color=ax.lines[-1].get_color())
    return _equal_scales(ax)


def plot_snapshots(sol: Solution, count: int = 9, ax: Any = None) -> Any:
    """Beams, shells and the places of bodies at ``count`` times, the later the darker, in three-dimensional axes of equal scale."""
    if ax is None:
        ax = _figure(height=6).add_subplot(projection="3d")
    times = np.linspace(sol.t[0], sol.t[-1], count)
    shades = np.linspace(0.25, 1.0, count)
    for name, realised in sol.system.structures.items():
        colour = f"C{len(ax.lines) // count % 10}"
        if isinstance(realised.structure, Beam):
            grids = sol.beam(name).position_at(np.linspace(0, realised.structure.length, 60), times)[:, None]
        else:
            assert isinstance(realised.structure, Shell)
            rows, columns = (m + 1 for m in realised.structure.cells)
            grids = sol.shell(name).position(times).reshape(count, rows, columns, 3)
        for k, grid in enumerate(grids):
            for line in (*grid, *(np.swapaxes(grid, 0, 1) if len(grid) > 1 else ())):
                ax.plot(*line.T, color=colour, alpha=shades[k], lw=1.4 if len(grids[0]) == 1 else 0.6, label="_")
            ax.lines[-1].set_label(f"{name}, t = {times[k]:.3g} s" if k in (0, count - 1) else "_")
    parts = {name for realised in sol.system.structures.values() for name in realised.own}
    for node in sol.system.bodies:
        if node.name not in parts and isinstance(node, RigidNode | PivotNode | PointNode):
            x = np.stack([np.interp(times, sol.t, c) for c in sol.position(node.name).T], axis=1)
            ax.scatter(*x.T, alpha=shades, label=node.name)
    ax.legend(fontsize="small")
    return _equal_scales(ax)


def _equal_scales(ax: Any) -> Any:
    for name in "xyz":
        getattr(ax, f"set_{name}label")(f"{name} [m]", labelpad=9)
    limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    sides = np.ptp(limits, axis=1)
    # A flat motion gets some room across; a smaller zoom keeps the labels inside.
    sides = np.maximum(sides, 0.1 * sides.max())
    for name, middle, side in zip("xyz", limits.mean(axis=1), sides, strict=True):
        getattr(ax, f"set_{name}lim")(middle - side / 2, middle + side / 2)
        ax.locator_params(axis=name, nbins=max(1, round(4 * side / sides.max())))
    ax.set_box_aspect(sides, zoom=0.85)
    return ax


_PLOTS: dict[str, Callable[[Solution, str, Any], Any]] = {
    "position": plot_position,
    "velocity": plot_velocity,
    "joints": lambda sol, body, ax: plot_joints(sol, ax),
    "energy": lambda sol, body, ax: plot_energy(sol, ax),
    "controls": lambda sol, body, ax: plot_controls(sol, ax),
    "multipliers": lambda sol, body, ax: plot_multipliers(sol, ax),
    "violation": lambda sol, body, ax: plot_violation(sol, ax),
    "path": plot_path,
    "snapshots": lambda sol, body, ax: plot_snapshots(sol, ax=ax),
}
#: Those in three-dimensional axes.
_SPATIAL = ("path", "snapshots")


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(7, height), layout="constrained")


def _numbered(letter: str, values: Array) -> list[str]:
    return [f"${letter}_{{{i + 1}}}$" for i in range(values.shape[1])]


def _lines(ax: Axes | None, t: Array, values: Array, names: Sequence[str], label: str, style: str = "-") -> Axes:
    ax = _figure(height=3).add_subplot() if ax is None else ax
    for name, column in zip(names, values.T, strict=True):
        ax.plot(t, column, style, lw=1.2, label=name)
    ax.set(xlabel="time [s]", ylabel=label)
    if names:
        ax.legend(fontsize="small")
    return ax


def _steps(ax: Axes | None, t: Array, values: dict[str, Array], label: str) -> Axes:
    """Values that are constant from one time to the next."""
    ax = _figure(height=3).add_subplot() if ax is None else ax
    for name, column in values.items():
        ax.stairs(column, t, baseline=None, lw=1.2, label=name)
    ax.set(xlabel="time [s]", ylabel=label)
    ax.legend(fontsize="small")
    return ax
