"""The command line: kreisel list | reproduce | run | sweep."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.simulation import Solution
    from kreisel.studies import Result

# Studies bring in the driver and more; they are imported by the commands that need them, so that help is quick.


class Commands(TyperGroup):
    """Tells a user's mistake in one line on stderr, with exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except (ValueError, OSError) as error:
            _stop(str(error))
        except Exception as error:
            # What the parser of the command line finds wrong comes as exceptions of its own.
            if not hasattr(error, "format_message"):
                raise
            _stop(error.format_message())
        sys.exit(code if isinstance(code, int) else 0)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        from kreisel.names import check_names

        check_names(args[:1], self.list_commands(ctx), "there is no command")
        return super().resolve_command(ctx, args)


def _stop(message: str) -> None:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


app = typer.Typer(cls=Commands, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def start(context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Structure-preserving simulation of mechanical systems on Lie groups.

    Example: `kreisel reproduce hante/rolling-disk --plot disk.png`
    """
    if version:
        from kreisel import __version__

        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="An option or parameter; may be given several times. Numbers may be written as 2**-10 or pi/20."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw into a file (.png, .pdf, .svg).")]


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """Show the models, methods, groups and studies there are.

    Example: `kreisel list`
    """
    from kreisel.names import parameters_of
    from kreisel.studies.words import FORMULATIONS, METHODS, MODELS

    if as_json:
        from kreisel.studies.base import plain

        _print_json(
            {
                "models": {name: plain(parameters_of(make)) for name, make in MODELS.items()},
                "methods": {name: plain(parameters_of(make)) for name, make in METHODS.items()},
                "formulations": list(FORMULATIONS),
                "studies": _studies(),
            }
        )
        return
    for title, makers in (("Models", MODELS), ("Methods", METHODS)):
        rows = [(name, ", ".join(parameters_of(make)) or "-", _first_line(make)) for name, make in makers.items()]
        _table(title, ("name", "parameters", "what"), rows)
    _table("Groups, for formulation=...", ("name", "what"), [(f, _GROUPS[f]) for f in FORMULATIONS])
    _list_studies()


_GROUPS = {
    "SO3": "rotation matrix; for a body with a fixed point",
    "S3": "unit quaternion; for a body with a fixed point",
    "SO3xR3": "rotation matrix and position",
    "S3xR3": "unit quaternion and position",
    "SE3": "rotation matrix and position, moved together",
    "S3R3": "unit quaternion and position, moved together",
    "UDQ": "unit dual quaternion",
}


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The study, as in --list.")] = None,
    settings: Set = None,
    as_json: Json = False,
    plot: Plot = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show the studies there are.")] = False,
    show_options: Annotated[bool, typer.Option("--options", help="Show what the study does and the options it takes.")] = False,
) -> None:
    """Repeat an experiment of a publication and print its numbers.

    Example: `kreisel reproduce hante/rolling-disk --set steps=2048 --json`
    """
    from kreisel.studies import STUDIES, find

    if show_list:
        if as_json:
            _print_json(_studies())
        else:
            _list_studies()
        return
    if name is None:
        raise ValueError(f"say which study; there are: {', '.join(sorted(STUDIES))}")
    study = find(name)
    if show_options:
        print(inspect.getdoc(study.function))
        _table("Options", ("name", "default"), [(k, _short(v)) for k, v in study.options.items()])
        if study.further:
            print("Further: " + ", ".join(k for k in study.further if k not in study.options))
        return
    _check_file(plot)
    result = study(**_settings(settings))
    _give(result, as_json, plot)


@app.command()
def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, as in kreisel list.")],
    until: Annotated[float, typer.Option(help="End of the simulation, in seconds.")] = 1.0,
    step: Annotated[str, typer.Option(help="Step size, in seconds.")] = "2**-10",
    method: Annotated[str, typer.Option(help="The method, with arguments if wanted: 'BLieDF(k=1)'.")] = "RATTLie",
    settings: Set = None,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Simulate a model and print where it ends; --set takes parameters of the model and of the method.

    Example: `kreisel run heavy_top --until 2 --step 2**-10 --method GeneralizedAlpha --set formulation=SE3 --set rho_inf=0.6`
    """
    from kreisel.studies.base import Result, end_of_run
    from kreisel.studies.words import method_of, model_of, share, value_of

    chosen, h = method_of(method), value_of(step)
    if not isinstance(h, int | float):
        raise ValueError(f"step must be a number, got '{step}'")
    model_of(model, {})
    of_model, of_method = share(_settings(settings), model, method)
    system = model_of(model, of_model)
    chosen = method_of(method, of_method)
    _check_file(plot)

    from kreisel.simulation import simulate

    solution = simulate(system, until, h, chosen)
    options = {"model": model, "until": until, "step": h, "method": repr(chosen), **of_model}
    numbers = end_of_run(solution) | {"max_energy_deviation": float(abs(solution.energy - solution.energy[0]).max())}
    _give(Result(numbers, {}, lambda figure: _draw(figure, solution), f"{model} with {chosen}", f"h = {h:g} s", options), as_json, plot)
    if not solution.success:
        print(f"error: {solution.message}", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def sweep(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model, as in kreisel list.")],
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            metavar="KEY=VALUES",
            help="Values of a parameter, [0, 1, 10] or 0:500:11 (from, to, how many); several times: a grid.",
        ),
    ],
    until: Annotated[float | None, typer.Option(help="End of the simulations, in seconds.")] = None,
    step: Annotated[str | None, typer.Option(help="Step size, in seconds.")] = None,
    method: Annotated[str, typer.Option(help="The method, with arguments if wanted: 'BLieDF(k=1)'.")] = "RATTLie",
    settings: Set = None,
    random: Annotated[int | None, typer.Option(metavar="COUNT", help="So many random points instead, with --over KEY=[low, high].")] = None,
    seed: Annotated[int, typer.Option(help="Of the random points.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; as many as there are processors by default.")] = None,
    store: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep what is done here; a sweep that was stopped goes on.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results to a NetCDF file.")] = None,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Simulate a model at many values of its parameters, of the method's, and of the step.

    Example: `kreisel sweep extended_top --over stiffness=1e3:1e5:20 --over step=[0.01,0.02] --until 5 --method GeneralizedAlpha`
    """
    from functools import partial

    from kreisel.names import check_names, parameters_of
    from kreisel.studies.words import MODELS, method_of, share, value_of

    check_names([model], MODELS, "there is no model")
    of_model, of_method = share(_settings(settings), model, method)
    values = {key: _values(key, text) for key, text in _pairs(over, "--over")}
    twice = [key for key in of_model if key in values]
    if twice:
        raise ValueError(f"'{twice[0]}' is given with --set and with --over")
    h = None if step is None else value_of(step)
    _check_file(plot)
    if out is not None and not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no directory '{out.parent}'")

    from kreisel.sweeps import Design
    from kreisel.sweeps import sweep as run_sweep

    design = Design.grid(**values) if random is None else Design.random(random, seed=seed, **values)
    check_names(of_model, parameters_of(MODELS[model]), f"{model} has no parameter")
    make = partial(MODELS[model], **of_model)
    chosen = method_of(method, of_method)
    bar = sys.stderr.isatty() and not as_json
    data = run_sweep(make, design, until=until, step=h, method=chosen, workers=workers, store=store, progress=bar)
    if out is not None:
        data.to_netcdf(out, engine="h5netcdf")
    if plot is not None:
        _save_map(data, plot)
    if as_json:
        from kreisel.studies.base import plain

        coordinates = {str(name): data[name].values for name in data.coords}
        _print_json(plain({"parameters": coordinates, "data": {str(k): v.values for k, v in data.items()}, "attributes": data.attrs}))
        return
    statuses = data["status"].values.ravel().tolist()
    _table("", ("name", "value"), [("points", len(statuses)), *((k, data.attrs[k]) for k in ("points_computed", "points_known", "method"))])
    _table("How the runs ended", ("status", "points"), [(s, statuses.count(s)) for s in sorted(set(statuses))])
    energies = [str(name) for name in data if str(name).startswith("energy")]
    rows = [(name, _short(float(data[name].min())), _short(float(data[name].max()))) for name in energies]
    _table("Energies in J", ("name", "smallest", "largest"), rows)


def _values(key: str, text: str) -> list[Any]:
    """Values of a parameter: a list, or from:to:count."""
    import numpy as np

    from kreisel.studies.words import value_of

    parts = [value_of(part) for part in text.split(":")]
    if len(parts) == 3 and all(isinstance(p, int | float) for p in parts) and parts[2] == int(parts[2]) and parts[2] > 0:
        return [float(x) for x in np.linspace(parts[0], parts[1], int(parts[2]))]
    value = value_of(text)
    if len(parts) > 1 or isinstance(value, dict):
        raise ValueError(f"--over {key}: values are a list, [0, 1, 10], or from:to:count, got '{text}'")
    return value if isinstance(value, list) else [value]


def _save_map(data: Any, path: Path) -> None:
    """The energy at the end over the first two parameters that have several values, at the first value of the others."""
    from matplotlib.figure import Figure

    from kreisel.view import plot_map

    energy = data["energy_end"]
    several = [d for d in energy.dims if energy.sizes[d] > 1]
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    if len(several) < 2:
        energy = energy.squeeze()
        axes.plot(energy[energy.dims[0]], energy, ".-")
        axes.set(xlabel=str(energy.dims[0]), ylabel="energy at the end in J")
    else:
        plot_map(energy.isel({d: 0 for d in energy.dims if d not in several[:2]}), axes, "energy at the end in J")
    figure.savefig(path, dpi=130)


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    from kreisel.studies.words import value_of

    return {key: value_of(text) for key, text in _pairs(pairs, "--set")}


def _pairs(pairs: list[str] | None, option: str) -> list[tuple[str, str]]:
    found = []
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise ValueError(f"{option} takes KEY=VALUE, got '{pair}'")
        found.append((key.strip(), value))
    return found


def _check_file(path: Path | None) -> None:
    """Before a long run, not after it."""
    if path is None:
        return
    from matplotlib.figure import Figure

    formats = Figure().canvas.get_supported_filetypes()
    if path.suffix[1:] not in formats:
        raise ValueError(f"--plot {path}: the ending must be one of {', '.join(sorted(formats))}")
    if not path.parent.is_dir():
        raise ValueError(f"--plot {path}: there is no directory '{path.parent}'")


def _give(result: Result, as_json: bool, plot: Path | None) -> None:
    if plot is not None:
        result.save_figure(str(plot))
    if as_json:
        _print_json(result.plain())
        return
    from rich import print as show

    show(f"[bold]{result.name}[/bold]  {result.source}")
    show("options: " + ", ".join(f"{k}={_short(v)}" for k, v in result.options.items()))
    _show(result.plain()["numbers"])
    if plot is not None:
        show(f"wrote {plot}")


#: Too much for a page; --json has it.
_LONG = ("runs", "controls", "states", "coordinates")


def _show(numbers: dict[str, Any]) -> None:
    """Plain numbers first, then tables."""
    tables = {}
    rows = []
    for name, value in numbers.items():
        if name in _LONG:
            continue
        if (
            isinstance(value, dict)
            and value
            and all(isinstance(v, list) for v in value.values())
            and len({len(v) for v in value.values()}) == 1
        ):
            columns = list(value)
            if name in ("position", "velocity", "rotation"):
                rows += [(f"{name} of {body}", _short(v)) for body, v in value.items()]
            else:
                tables[name] = (columns, [[_short(x) for x in row] for row in zip(*value.values(), strict=True)])
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            flat = [_flat(row) for row in value]
            tables[name] = (list(flat[0]), [[_short(x) for x in row.values()] for row in flat])
        elif isinstance(value, dict):
            rows += [(key, _short(x)) for key, x in _flat({name: value}).items()]
        else:
            rows.append((name, _short(value)))
    _table("", ("name", "value"), rows)
    for name, (columns, lines) in tables.items():
        _table(name, columns, lines)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for k, v in row.items():
        out |= {f"{k} {a}": b for a, b in _flat(v).items()} if isinstance(v, dict) else {k: v}
    return out


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_short(v) for v in value) + "]"
    return str(value)


def _table(title: str, columns: Any, rows: Any) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(str(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)


def _list_studies() -> None:
    from kreisel.studies import STUDIES

    rows = [(name, STUDIES[name].summary, STUDIES[name].source) for name in sorted(STUDIES)]
    _table("Studies", ("name", "shows", "source"), rows)
    print("Options of a study: kreisel reproduce NAME --options")


def _studies() -> dict[str, Any]:
    from kreisel.studies import STUDIES
    from kreisel.studies.base import plain

    return {
        name: {"source": s.source, "summary": s.summary, "options": plain(s.options), "further": list(s.further)}
        for name, s in sorted(STUDIES.items())
    }


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0]


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False))


def _draw(figure: Figure, solution: Solution) -> None:
    """Positions (of what is no body: coordinates), energy, and violation of the constraints."""
    import numpy as np

    axes = figure.subplots(3, 1, sharex=True)
    for node in solution.system.prominent:
        try:
            values, name = solution.position(node.name), "x"
        except TypeError:
            values, name = solution.configuration(node.name), "q"
        for k, column in enumerate(values.T):
            axes[0].plot(solution.t, column, label=f"{node.name}: {name}{k + 1}")
    axes[0].set(ylabel="position in m" if name == "x" else "coordinate")
    axes[0].legend(fontsize=7)
    axes[1].plot(solution.t, solution.energy - solution.energy[0])
    axes[1].set(ylabel="E(t) - E(0) in J")
    gaps = {"position": solution.constraint_violation, "velocity": solution.velocity_violation}
    for name, gap in gaps.items():
        axes[2].semilogy(solution.t, np.maximum(gap, 1e-18), label=name)
    axes[2].set(xlabel="t in s", ylabel="violation of\nconstraints")
    axes[2].legend(fontsize=7)
