"""The command line."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import kreisel as kr
from kreisel.cli import app


def kreisel(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("command", [(), ("list",), ("reproduce",), ("run",), ("sweep",)])
def test_help_shows_an_example(command):
    result = kreisel(*command, "--help")
    assert result.exit_code == 0
    assert "Example:" in result.stdout


def test_help_is_quick():
    heavy = ("numba", "scipy", "matplotlib", "mpmath")
    code = f"""
import sys
from kreisel.cli import app
try:
    app(["--help"])
except SystemExit:
    print([m for m in {heavy} if m in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()[-1] == "[]"


def test_lists():
    assert "hante/rolling-disk" in kreisel("reproduce", "--list").stdout
    everything = json.loads(kreisel("list", "--json").stdout)
    assert {"heavy_top", "rolling_disk"} <= set(everything["models"])
    assert {"RATTLie", "BLieDF"} <= set(everything["methods"])
    assert everything["studies"]["hante/rolling-disk"]["options"]["t_end"] == 2.0
    text = kreisel("list").stdout
    assert all(word in text for word in ("heavy_top", "GeneralizedAlpha", "UDQ", "klemps/angle-wrap"))
    assert "refinement" in kreisel("reproduce", "hante/rolling-disk", "--options").stdout


def test_reproduce(tmp_path):
    picture = tmp_path / "disk.png"
    settings = [w for s in ("steps=2**9", "halvings=1", "refinement=2") for w in ("--set", s)]
    result = kreisel("reproduce", "hante/rolling-disk", *settings, "--json", "--plot", str(picture))
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["options"]["steps"] == 512
    assert answer["numbers"]["t_end"] == 2.0
    assert picture.stat().st_size > 10_000
    text = kreisel("reproduce", "hante/rolling-disk", *settings).stdout
    assert "error_table" in text
    assert "energy_start" in text


@pytest.mark.parametrize("model", ["heavy_top", "extended_top", "oscillator", "rolling_disk"])
def test_run(model, tmp_path):
    result = kreisel("run", model, "--until", "0.1", "--step", "2**-9", "--json", "--plot", str(tmp_path / "run.svg"))
    assert result.exit_code == 0
    numbers = json.loads(result.stdout)["numbers"]
    assert numbers["status"] == "REACHED_END"
    assert numbers["t_end"] == pytest.approx(0.1)
    assert (tmp_path / "run.svg").stat().st_size > 1000


def test_run_takes_parameters_of_model_and_method():
    result = kreisel(
        "run", "heavy_top", "--until", "0.01", "--method", "GeneralizedAlpha", "--set", "rho_inf=0.6", "--set", "formulation=UDQ", "--json"
    )
    options = json.loads(result.stdout)["options"]
    assert "rho_inf=0.6" in options["method"]
    assert options["formulation"] == "UDQ"


def test_sweep(tmp_path):
    words = ["sweep", "extended_top", "--over", "stiffness=10:1000:3", "--over", "rho_inf=[0.5, 0.9]", "--set", "damping=2"]
    words += ["--until", "0.1", "--step", "0.01", "--method", "GeneralizedAlpha", "--store", str(tmp_path / "store")]
    out, picture = tmp_path / "sweep.nc", tmp_path / "map.png"
    answer = json.loads(kreisel(*words, "--json", "--out", str(out), "--plot", str(picture)).stdout)
    assert answer["parameters"] == {"stiffness": [10.0, 505.0, 1000.0], "rho_inf": [0.5, 0.9]}
    assert answer["data"]["status"] == [["REACHED_END"] * 2] * 3
    assert answer["attributes"]["points_computed"] == 6
    assert picture.stat().st_size > 5000
    assert kr.load(out)["energy_end"].values.tolist() == answer["data"]["energy_end"]
    text = kreisel(*words).stdout  # nothing is computed again
    assert "REACHED_END" in text
    assert "points_known" in text
    some = kreisel(*words[:2], "--over", "stiffness=[10, 1000]", "--random", "4", "--until", "0.1", "--step", "0.01", "--json")
    assert len(json.loads(some.stdout)["data"]["status"]) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("bake", "there is no command 'bake'; there are: list, reproduce, run, sweep"),
        ("reproduce", "say which study; there are: "),
        ("reproduce hante/rolling-disc", "there is no study"),
        ("reproduce hante/rolling-disk --set stps=5", "has no option 'stps' (did you mean 'steps'?)"),
        ("reproduce hante/rolling-disk --set steps", "--set takes KEY=VALUE"),
        ("reproduce hante/rolling-disk --sett steps=5", "No such option"),
        ("reproduce klemps/soft-spring --plot picture.abc", "the ending must be one of"),
        ("reproduce klemps/soft-spring --plot no/where/picture.png", "there is no directory"),
        ("run heavy_tap", "there is no model 'heavy_tap' (did you mean 'heavy_top'?)"),
        ("run heavy_top --step 0", "step must be positive"),
        ("run heavy_top --step fast", "step must be a number"),
        ("run heavy_top --until long", "--until"),
        ("run heavy_top --set mass=much", "mass must be a number"),
        ("run heavy_top --set mass=-1", "mass must be positive"),
        ("run heavy_top --set formulation=SO4", "SO3xR3"),
        ("run heavy_top --method Rattle", "there is no method 'Rattle'"),
        ("run heavy_top --method BLieDF(k=3)", "k must be 1 or 2"),
        ("run rolling_disk --method BLieDF", "does not fit this system"),
        ("sweep heavy_top --until 1 --step 0.1", "Missing option"),
        ("sweep heavy_tap --over mass=[1,2]", "there is no model 'heavy_tap'"),
        ("sweep heavy_top --over mas=[1,2] --until 1 --step 0.1", "has a parameter 'mas' (did you mean 'mass'?)"),
        ("sweep heavy_top --over mass=1:2 --until 1 --step 0.1", "values are a list, [0, 1, 10], or from:to:count"),
        ("sweep heavy_top --over mass=[] --until 1 --step 0.1", "the sequence of values is empty"),
        ("sweep heavy_top --over mass=[1,2] --until 1", "say step="),
        ("sweep heavy_top --over mass=[1,2] --set mass=1 --until 1 --step 0.1", "is given with --set and with --over"),
        ("sweep heavy_top --over mass=[1,2] --until 1 --step 0.1 --out no/where/a.nc", "there is no directory"),
    ],
)
def test_mistakes_are_told_in_one_line(words, message):
    result = kreisel(*words.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_run_that_fails_says_so():
    result = kreisel("run", "extended_top", "--method", "GeneralizedAlpha", "--step", "0.05", "--set", "stiffness=1e9", "--json")
    assert result.exit_code in (0, 1)
    failed = json.loads(result.stdout)["numbers"]["status"] != "REACHED_END"
    assert failed == (result.exit_code == 1) == bool(result.stderr)
