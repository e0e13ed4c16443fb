"""`trimtab run --experiment NAME -o KEY=VALUE` runs what Snakemake runs with these overrides."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from project import Project, make_environment, make_project, rules_in
from test_own_project import new

RESOLVED = "results/config.yaml"  # everything that an experiment is run with


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("run") / "checkout")
    second = project.folder / "conf/experiment/second.yaml"
    first = second.with_name("quickstart.yaml").read_text()
    second.write_text(first.replace("name: quickstart", "name: second"))
    return project


@pytest.fixture(autouse=True)
def no_overrides(checkout: Project) -> None:
    (checkout.folder / "params.yaml").write_text("overrides: []\n")


def resolved(project: Project, *words: str) -> Any:
    project.succeed("trimtab", "run", "--cores", "1", *words, RESOLVED)
    return yaml.safe_load((project.folder / RESOLVED).read_text())


def test_it_runs_what_snakemake_runs(checkout: Project) -> None:
    given = ["experiment=second", "verify.repeats=7"]
    old = checkout.succeed(
        "snakemake", "-n", "--cores", "2", "all", "--config", f"overrides={json.dumps(given)}"
    )
    words = ("--experiment", "second", "-o", "verify.repeats=7")
    new = checkout.succeed("trimtab", "run", "-n", "--cores", "2", *words, "all")
    assert rules_in(new) == rules_in(old) != set()
    found = resolved(checkout, *words)
    assert (found["experiment"]["name"], found["verify"]["repeats"]) == ("second", 7)


def test_values_reach_it_as_they_were_typed(checkout: Project) -> None:
    words = ("-o", 'workload.description="a: [b], \\"c\\" é"', "-o", "workload.model=x")
    said = checkout.succeed(
        "trimtab", "run", "-n", "-q", "--json", *words, "-o", "verify.repeats=6"
    )
    given = json.loads(said)["overrides"]
    assert given == [words[1], words[3], "verify.repeats=6"]
    assert resolved(checkout, *words, "-o", "verify.repeats=6")["verify"]["repeats"] == 6


def test_an_experiment_begins_without_the_overrides_of_another(checkout: Project) -> None:
    kept = "overrides: [experiment=second, verify.repeats=8, settle.clean_runs=2]\n"
    (checkout.folder / "params.yaml").write_text(kept)
    found = resolved(checkout, "-o", "verify.repeats=9")
    assert found["experiment"]["name"] == "second"
    assert (found["verify"]["repeats"], found["settle"]["clean_runs"]) == (9, 2)
    found = resolved(checkout, "--experiment", "quickstart")
    assert found["experiment"]["name"] == "quickstart"
    assert found["verify"]["repeats"] != 8 and found["settle"]["clean_runs"] != 2


def test_in_a_project_of_ones_own(tmp_path: Path) -> None:
    make_environment(tmp_path / "environment")
    (tmp_path / "program.py").write_text("import markupsafe\n")
    project = new(tmp_path, "--", "environment/bin/python", "program.py")
    found = resolved(project, "-o", "profiling.repeats=7")
    assert found["experiment"]["name"] == "my_slim_one"
    assert found["profiling"]["repeats"] == 7


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--experiment", "secnd"], ["did you mean second?", "quickstart", "--experiment NAME"]),
        (["-o", "verify.repeat=3"], ["did you mean repeats?", "trimtab run -o KEY=VALUE"]),
        (["-o", "nothing.repeats=3"], ["'nothing.repeats=3'", "profiling", "-o KEY=VALUE"]),
        (["-o", "verify.repeats"], ["'verify.repeats'", "expected key=value"]),
        (["-o", "verify.repeats=x"], ["'x' given, expected a whole number"]),
        (["-o", "verify.repeats=1,2"], ["expected one value"]),
        (["-o", "tuner=nothing"], ["conf/tuner/nothing.yaml does not exist", "there are: "]),
    ],
)
def test_a_mistake_is_one_error(checkout: Project, words: list[str], expected: list[str]) -> None:
    done = checkout.run("trimtab", "run", "-n", *words)
    assert done.returncode == 2 and done.stdout.count("\n") == 1, done.stdout
    assert done.stdout.startswith("error: ") and all(each in done.stdout for each in expected)
