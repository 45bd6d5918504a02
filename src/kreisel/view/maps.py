"""Plots of parameter studies: maps, boundaries, convergence diagrams, root loci.

As in :mod:`kreisel.view.plots`, every function draws into the given axes, or into those of a new figure, and returns the axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.view.plots import _figure

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from kreisel.stability import RootLocus


def plot_map(values: xarray.DataArray, ax: Axes | None = None, label: str = "", **options: Any) -> Axes:
    """A quantity over two parameters as colours, nan left white. ``options``: for Matplotlib's ``pcolormesh``.

    >>> import kreisel as kr
    >>> data = kr.sweep(kr.models.oscillator, {"damping": [1, 2], "stiffness": [10, 20, 30]}, until=1.0, step=0.01)
    >>> plot_map(data.energy_end).get_xlabel()
    'damping'
    """
    ax = _figure(height=5).add_subplot() if ax is None else ax
    x, y = _two(values)
    mesh = ax.pcolormesh(values[x], values[y], values.transpose(y, x).astype(float), shading="nearest", **options)
    ax.figure.colorbar(mesh, ax=ax, label=label or str(values.name or ""))
    ax.set(xlabel=x, ylabel=y)
    return ax


def plot_boundary(stable: xarray.DataArray, ax: Axes | None = None, label: str = "", **options: Any) -> Axes:
    """The boundary between what is stable and what is not, over two parameters. ``options``: for Matplotlib's ``contour``."""
    ax = _figure(height=5).add_subplot() if ax is None else ax
    x, y = _two(stable)
    ax.contour(stable[x], stable[y], stable.transpose(y, x).astype(float), levels=[0.5], **options)
    if label:
        ax.plot([], [], color=options.get("colors", "C0"), label=label)
        ax.legend(fontsize="small")
    ax.set(xlabel=x, ylabel=y)
    return ax


def plot_convergence(errors: xarray.DataArray, ax: Axes | None = None, along: str = "step") -> Axes:
    """Errors over steps, both on logarithmic scales, one line per value of the other parameter, with the slope of each in the legend.

    >>> import xarray
    >>> errors = xarray.DataArray([1e-4, 4e-4], coords={"step": [0.01, 0.02]}, dims="step", name="error")
    >>> plot_convergence(errors).get_legend().get_texts()[0].get_text()
    'error: order 2.00'
    """
    ax = _figure(height=4).add_subplot() if ax is None else ax
    others = [d for d in errors.dims if d != along]
    if len(others) > 1:
        raise ValueError(f"a diagram of convergence shows one parameter besides '{along}', got {', '.join(map(str, others))}")
    lines = [(str(errors.name or "error"), errors)]
    if others:
        lines = [(f"{others[0]} = {v}", errors.sel({others[0]: v})) for v in errors[others[0]].values]
    for name, line in lines:
        h, e = line[along].values, line.values
        good = np.isfinite(e) & (e > 0)
        slope = np.polyfit(np.log(h[good]), np.log(e[good]), 1)[0] if good.sum() > 1 else np.nan
        ax.loglog(h[good], e[good], ".-", lw=1.2, label=f"{name}: order {slope:.2f}")
    ax.set(xlabel=along, ylabel=str(errors.name or "error"))
    ax.legend(fontsize="small")
    return ax


def plot_root_locus(locus: RootLocus, ax: Axes | None = None) -> Axes:
    """Eigenvalues in the complex plane, from the first value of the parameter (circles) to the last (crosses)."""
    ax = _figure(height=5).add_subplot() if ax is None else ax
    for k, path in enumerate(locus.eigenvalues.T):
        ax.plot(path.real, path.imag, ".-", ms=3, lw=0.8, color=f"C{k % 10}")
        ax.plot(path.real[0], path.imag[0], "o", mfc="none", color=f"C{k % 10}")
        ax.plot(path.real[-1], path.imag[-1], "x", color=f"C{k % 10}")
    ax.axvline(0, color="0.6", lw=0.8, zorder=0)
    ax.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]")
    return ax


def _two(values: Any) -> tuple[str, str]:
    if len(values.dims) != 2:
        raise ValueError(f"a map is over two parameters, this has {', '.join(map(str, values.dims)) or 'none'}; select with .sel(...)")
    return str(values.dims[0]), str(values.dims[1])
