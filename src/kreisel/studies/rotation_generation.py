"""The rotation-generating equation R' = skew(omega) R in five forms and by several schemes (Sadlowski, 2.4 and 2.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.names import check_names
from kreisel.rotations import (
    Cayley,
    EulerParameters,
    ExplicitMidpoint,
    Parametrisation,
    PredictedTrapezoid,
    RotationMatrix,
    RotationVector,
    Scheme,
    SixNumbers,
    Stereographic,
    Trapezoid,
    accumulated_angle,
    determinant_defect,
    generate,
    orthogonality_defect,
)
from kreisel.studies.base import Result, fitted_order, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

FORMS: dict[str, Parametrisation] = {
    "six": SixNumbers,
    "five": Stereographic(),
    "four": EulerParameters,
    "canonical": RotationVector,
    "Cayley": Cayley,
}
SCHEMES: dict[str, Scheme] = {
    "midpoint": ExplicitMidpoint(),
    "modified trapezoid": PredictedTrapezoid(),
    "trapezoid": Trapezoid(),
    "trapezoid, ends": Trapezoid(sampling="ends"),
}
LABELS = {
    "six": "six: two columns",
    "five": "five: stereographic",
    "four": "four: Euler parameters",
    "canonical": "three: rotation vector",
    "Cayley": "three: Cayley",
}
PASSES = ("below half a turn", "whole time")
#: Errors below this are rounding, and no order.
FLOOR = 1e-11


def several(option: Any) -> tuple[Any, ...]:
    """An option that may be one or several, as several."""
    return tuple(option) if isinstance(option, list | tuple) else (option,)


def measured(p: Parametrisation, scheme: Scheme, omega: Array, turn: Array, t_end: float, h: float) -> dict[str, float]:
    """The errors of one run: eps_max (2.184), eps_rms (2.185), and the largest defects of det R and of the columns' product."""
    from kreisel.exact import precessing_rotation

    run = generate(turning(omega, turn), t_end, h, p, scheme)
    found = dict.fromkeys(("eps_max", "eps_rms", "determinant", "column_product"), float("nan"))
    if not run.success:
        return found
    exact = accumulated_angle(precessing_rotation(omega, turn, run.t))
    try:
        e = run.angle - exact
    except ValueError:  # nowhere near a rotation any more
        return found
    found["eps_max"] = float(np.max(np.abs(e[1:]) / exact[1:]))
    found["eps_rms"] = float(np.sqrt(np.sum(e**2)) / (len(e) - 1))
    found["determinant"] = float(np.abs(run.determinant - 1).max())
    found["column_product"] = float(np.abs(run.column_product).max())
    return found


def turning(omega: Array, turn: Array) -> Callable[[float], Array]:
    """omega(t) that turns with the constant angular velocity ``turn``."""
    s = float(np.linalg.norm(turn))
    e = turn / s if s else turn
    along, across = (e @ omega) * e, np.cross(e, omega)
    return lambda t: along + math.cos(s * t) * (omega - along) + math.sin(s * t) * across


@study("sadlowski/rotation-generation", source="Sadlowski, section 2.5, Figures 2.3 to 2.11")
def rotation_generation(
    *,
    forms: tuple[str, ...] = tuple(FORMS),
    schemes: tuple[str, ...] = ("midpoint", "modified trapezoid", "trapezoid"),
    sweeps: tuple[float, ...] = (0.0, 90.0, 270.0),
    steps: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
    t_end: float = 10.0,
    omega: tuple[float, ...] = (0.0, 0.0, 1.0),
    axis: tuple[float, ...] = (1.0, 0.0, 0.0),
    pole: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
) -> Result:
    """Errors of the angle turned, by form and scheme: four numbers beat six and five; the canonical vector is exact for constant omega.

    omega starts as given and turns about ``axis`` by each of the ``sweeps`` (degrees) within ``t_end``. Two passes: up to half a turn,
    as far as whole steps go (Cayley's vector has no more), and the whole time. ``pole``: of the five-parameter form. Angles are those of
    the increments, projected to rotations, as the raw arc cosine of the source is ill-conditioned. Runs that overflow have no errors.

    ``errors``: by pass, form, scheme and sweep, the lists over the steps; ``orders``: fitted over the steps up to 0.1.
    """
    forms, schemes, sweeps, steps = several(forms), several(schemes), several(sweeps), several(steps)
    check_names(forms, FORMS, "there is no form")
    check_names(schemes, SCHEMES, "there is no scheme")
    w = np.array(omega, dtype=float)
    e = np.array(axis, dtype=float)
    if w.shape != (3,) or e.shape != (3,) or not np.any(w) or not np.any(e):
        raise ValueError(f"omega and axis must be three numbers, not all zero, got {omega} and {axis}")
    if min(steps) <= 0 or t_end <= 0:
        raise ValueError(f"steps and t_end must be positive, got {steps} and {t_end}")
    half_turn = np.pi / float(np.linalg.norm(w))
    chosen = FORMS | {"five": Stereographic(pole)}
    errors: dict[str, Any] = {name: {form: {scheme: {} for scheme in schemes} for form in forms} for name in PASSES}
    if "Cayley" in forms:
        del errors["whole time"]["Cayley"]
    orders: dict[str, Any] = {name: {form: {} for form in of_pass} for name, of_pass in errors.items()}
    for name, of_pass in errors.items():
        for form, of_form in of_pass.items():
            for scheme in schemes:
                for sweep in sweeps:
                    turn = np.radians(sweep) / t_end * e / np.linalg.norm(e)
                    table: dict[str, list[float]] = {"h": list(steps)}
                    for h in steps:
                        until = min(t_end, np.floor(half_turn / h * (1 + 1e-12)) * h) if name == PASSES[0] else t_end
                        for key, value in measured(chosen[form], SCHEMES[scheme], w, turn, until, h).items():
                            table.setdefault(key, []).append(value)
                    of_form[scheme][f"{sweep:g}"] = table
                small = np.array(steps) <= 0.1
                last = np.array(of_form[scheme][f"{sweeps[-1]:g}"]["eps_max"])
                orders[name][form][scheme] = fitted_order(np.array(steps)[small], last[small]) if np.all(last[small] > FLOOR) else None
    numbers = {"errors": errors, "orders": orders, "t_end": t_end, "half_turn": half_turn}
    arrays = {"h": np.array(steps)}
    for name, of_pass in errors.items():
        arrays[f"eps_max_{name.replace(' ', '_')}"] = np.array(
            [[[of_pass[f][s][f"{a:g}"]["eps_max"] for a in sweeps] for s in schemes] for f in of_pass]
        )

    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, len(sweeps), sharex=True, sharey=True, squeeze=False)
        styles = dict(zip(SCHEMES, ("-", "--", ":", "-."), strict=True))
        colours = {form: f"C{k}" for k, form in enumerate(FORMS)}
        for row, (name, of_pass) in zip(axes, errors.items(), strict=True):
            for ax, sweep in zip(row, sweeps, strict=True):
                for form, of_form in of_pass.items():
                    for scheme in schemes:
                        y = np.array(of_form[scheme][f"{sweep:g}"]["eps_max"])
                        ax.loglog(steps, np.where(y > FLOOR, y, np.nan), styles[scheme], color=colours[form], lw=1.2, marker=".", ms=4)
                        if np.all(y <= FLOOR):
                            ax.text(
                                0.97, 0.05, "no error: rotation vector", color=colours[form], fontsize=8, ha="right", transform=ax.transAxes
                            )
                ax.grid(alpha=0.3)
                ax.set_title(f"{name}, omega turns by {sweep:g}°" if sweep else f"{name}, constant omega", fontsize=8)
        for ax in axes[:, 0]:
            ax.set_ylabel(r"$\varepsilon_{max}$ of the angle")
        for ax in axes[-1]:
            ax.set_xlabel("step h in s")
        lines = [axes[0, 0].plot([], [], "o-", ms=4, color=colours[f], label=LABELS[f])[0] for f in forms]
        lines += [axes[0, 0].plot([], [], styles[s], color="0.3", label=s)[0] for s in schemes]
        figure.legend(handles=lines, loc="outside lower center", ncols=4, fontsize=8)

    return Result(numbers, arrays, draw)


LINEAR: dict[str, Parametrisation] = {"matrix": RotationMatrix, "six": SixNumbers, "four": EulerParameters}


@study("sadlowski/step-operators", source="Sadlowski, 2.4.3 and 2.4.4, (2.130) to (2.181)")
def step_operators(
    *,
    forms: tuple[str, ...] = tuple(LINEAR),
    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0),
    omega: tuple[float, ...] = (0.0, 0.0, 1.0),
    steps: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
) -> Result:
    """Step operators of linear forms: the trapezoidal rule is orthogonal, the midpoint rule grows, alpha >= 1/2 makes the family stable.

    For each form and scheme, the lists over the steps of the orthogonality defect max|L L^T - I|, of det L - 1 beside its formula
    (corrected: the power and the frequency depend on the form), and of the spectral radius beside the amplification factor. "matrix" is
    the nine-parameter form, three columns that each take the 3 x 3 step of the source.
    """
    forms, alphas, steps = several(forms), several(alphas), several(steps)
    check_names(forms, LINEAR, "there is no linear form")
    w = np.array(omega, dtype=float)
    if w.shape != (3,) or not np.any(w) or min(steps) <= 0:
        raise ValueError(f"omega must be three numbers, not all zero, and steps positive, got {omega} and {steps}")
    schemes: dict[str, Scheme] = {"midpoint": ExplicitMidpoint()} | {f"trapezoid, alpha = {a:g}": Trapezoid(a) for a in alphas}
    h = np.array(steps, dtype=float)
    found: dict[str, Any] = {}
    for form in forms:
        p = LINEAR[form]
        A = np.asarray(p.system_matrix(w))
        eigenvalues = np.linalg.eigvals(A)
        found[form] = {}
        for name, scheme in schemes.items():
            L = np.stack([scheme.step_operator(A, step) for step in steps])
            found[form][name] = {
                "h": h.tolist(),
                "orthogonality": orthogonality_defect(L).tolist(),
                "determinant": determinant_defect(L).tolist(),
                "determinant_formula": determinant_formula(scheme, form, h * float(np.linalg.norm(w))).tolist(),
                "spectral_radius": np.abs(np.linalg.eigvals(L)).max(axis=1).tolist(),
                "amplification": np.abs(scheme.amplification(h[:, None] * eigenvalues)).max(axis=1).tolist(),
            }
    z = np.geomspace(0.01, 100, 200)
    growth = {name: np.abs(scheme.amplification(1j * z)) ** 2 - 1 for name, scheme in schemes.items()}
    stable = {name: bool(np.all(scheme.is_stable(1j * z))) for name, scheme in schemes.items()}
    numbers = {"operators": found, "stable": stable}
    arrays = {"z": z} | {f"growth_{name}": g for name, g in growth.items()}

    def draw(figure: Figure) -> None:
        left, middle, right = figure.subplots(1, 3)
        for k, name in enumerate(schemes):
            left.semilogx(z, np.sqrt(1 + growth[name]), color=f"C{k}", lw=1.4, label=name)
        left.set(ylim=(0, 2), xlabel=r"$z = h|\omega|$ (Euler parameters: half of it)", ylabel=r"$|A(iz)|$", title="amplification per step")
        for ax, key, title in ((middle, "determinant", r"$|\det\Lambda - 1|$"), (right, "orthogonality", r"$\max|\Lambda\Lambda^T - I|$")):
            for j, form in enumerate(forms):
                for k, name in enumerate(schemes):
                    y = np.maximum(np.abs(found[form][name][key]), 5e-17)  # zeros, too
                    ax.loglog(h, y, ("-", "--", ":")[j], color=f"C{k}", lw=1.2)
            ax.set(xlabel="step h in s", title=title, ylim=(1e-17, 1e3))
            ax.grid(alpha=0.3)
        handles = list(left.lines[: len(schemes)])
        handles += [
            right.plot([], [], ("-", "--", ":")[j], color="0.3", label={"matrix": "nine: matrix", **LABELS}[form])[0]
            for j, form in enumerate(forms)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8)

    return Result(numbers, arrays, draw)


def determinant_formula(scheme: Scheme, form: str, z: Array) -> Array:
    """det L - 1 in closed form, z = h|omega|: (2.140) and the corrected (2.147), to the power of the number of eigenvalue pairs."""
    pairs, z = (3, z) if form == "matrix" else (2, z) if form == "six" else (2, z / 2)
    if isinstance(scheme, Trapezoid):
        a = scheme.alpha
        return np.asarray(((1 + (1 - a) ** 2 * z**2) / (1 + a**2 * z**2)) ** pairs - 1)
    return np.asarray((1 + z**4 / 4) ** pairs - 1)
