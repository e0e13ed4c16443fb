"""Snakemake runs what changed, all of it, and nothing else."""

import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from project import NOTHING_TO_DO, Project, rules_in, tools

from trimtab.files import read_json
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import INFERENCE

SITE_PACKAGES = f"environment/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
PACKAGE = f"{SITE_PACKAGES}/markupsafe"
LEARN = ("trimtab", "advanced", "learn")
CHAIN = {
    "profile_workload",
    "debloat_target",
    "build_environment",
    "weigh_environment",
    "verify_environment",
    "make_trace",
    "simulate",
    "evaluate_experiment",
    "headlines",
}
SCHEDULE = {"make_trace", "simulate", "evaluate_experiment", "headlines", "resolved_config"}


def test_the_whole_chain_leaves_its_files_and_names_the_report(finished: Project) -> None:
    results = finished.folder / "results"
    for file in (
        "profile/tiny/test_machine/usage.json",
        "profile/tiny/test_machine/runs.parquet",
        "profile/tiny/test_machine/epochs.parquet",
        "debloat/both/test_machine/manifest.json",
        "debloat/both/test_machine/libraries.parquet",
        "debloat/both/test_machine/files.parquet",
        "debloat/both/test_machine/environment.json",
        "debloat/both/test_machine/compressed.json",
        "debloat/both/test_machine/settling.json",
        "debloat/both/test_machine/env/bin/python",
        "debloat/both/test_machine/verify.json",
        "debloat/both/test_machine/verify_runs.parquet",
        "tune/random_search/tuned/test_machine/none/trials.parquet",
        "tune/random_search/tuned/test_machine/none/best.yaml",
        "schedule/pair/tiny_jobs/trace.parquet",
        "schedule/pair/tiny_jobs/non_preemptive/summary.json",
        "schedule/pair/tiny_jobs/non_preemptive/jobs.parquet",
        "evaluate/quickstart/metrics.json",
        "metrics/quickstart.json",
        "plots/quickstart/sizes.svg",
        "evaluate/quickstart/report.html",
        "evaluate/quickstart/tables/best_configurations.csv",
        "config.yaml",
    ):
        assert (results / file).exists(), file
    assert not (results / "debloat/both/test_machine/libraries").exists()


def test_second_run_does_nothing(finished: Project) -> None:
    assert NOTHING_TO_DO in finished.succeed("snakemake", "--cores", "2", "all")


def test_machines_that_share_a_search_are_jobs(finished: Project) -> None:
    overrides = 'overrides=["experiment.tune.machines=3","experiment.tune.seeds=2"]'
    said = finished.succeed("snakemake", "-n", "--cores", "2", "tune", "--config", overrides)
    counted = re.findall(r"^(tune\w*) +(\d+)$", said, re.MULTILINE)
    assert dict(counted) == {"tune_on_machine": "6", "tune_workload": "1", "tune": "1"}


def test_the_time_to_measure_inference_alone_is_that_of_what_was_told(finished: Project) -> None:
    folder = "results/tune/random_search/tuned/test_machine/none"
    wanted = "snakemake", "-n", "--cores", "2", f"{folder}/inference_alone.parquet"
    assert "runtime=10," in finished.succeed(*wanted)
    told = finished.folder / folder / "inference.parquet"
    rows = [("{}", "{}", 1.0, None, "unknown", failure) for failure in ("", "", "it broke")]
    write_table(told, INFERENCE, pd.DataFrame(rows, columns=INFERENCE.names))
    try:
        assert "runtime=22," in finished.succeed(*wanted)  # two, three times, of two minutes
    finally:
        told.unlink()


def test_weighing_waits_for_what_measures(project: Project) -> None:
    """It has two threads, and would have the rest of its machine measured beside it."""
    weight = "results/debloat/tiny/test_machine/compressed.json"
    said = project.succeed("snakemake", "-n", "--cores", "4", weight)
    [weighed] = re.findall(r"^rule weigh_environment:\n((?: .*\n)+)", said, re.MULTILINE)
    assert "results/debloat/tiny/test_machine/verify.json" in weighed and "threads: 2" in weighed
    assert "verify_environment" in rules_in(said)


def test_a_missing_environment_is_no_reason_to_run(finished: Project) -> None:
    environment = finished.folder / "results/debloat/tiny/test_machine/env"
    aside = finished.folder / "aside"
    environment.rename(aside)
    try:
        assert finished.planned() == set()
        said = finished.succeed("snakemake", "-n", "--cores", "2", "debloat")
        assert "rule build_environment" in said
    finally:
        aside.rename(environment)


@pytest.mark.parametrize(
    ("file", "old", "new", "planned"),
    [
        (
            "conf/workload/tiny.yaml",
            "escapes a text",
            "escapes it",
            {"resolved_config", "evaluate_experiment", "headlines"},
        ),
        pytest.param(
            "conf/workload/tiny.yaml",
            "timeout_s: 60",
            "timeout_s: 61\nmemory_gib: 2",
            {"resolved_config"},
            marks=pytest.mark.nightly,
        ),
        (
            "conf/workload/tiny.yaml",
            "timeout_s: 60",
            "timeout_s: 60\nparameters: {rounds: 2}",
            {*CHAIN, "resolved_config"},
        ),
        (
            "conf/debloat/compact.yaml",
            "symbols: strip",
            "symbols: keep",
            {*CHAIN - {"profile_workload"}, "resolved_config"},
        ),
        pytest.param(
            "conf/config.yaml",
            "settle: {clean_runs: 1}",
            "settle: {clean_runs: 2}",
            {*CHAIN - {"profile_workload"}, "resolved_config"},
            marks=pytest.mark.nightly,
        ),
        (
            "conf/policy/non_preemptive.yaml",
            "preemption: none",
            "preemption: resume",
            SCHEDULE - {"make_trace"},
        ),
        pytest.param(
            "conf/trace/tiny_jobs.yaml",
            "jobs: 300",
            "jobs: 301",
            SCHEDULE,
            marks=pytest.mark.nightly,
        ),
        ("conf/hardware/test_machine.yaml", "memory_gib: 4", "memory_gib: 4\nspeed: 2", SCHEDULE),
        pytest.param(
            "program.py",
            "rounds",
            "turns",
            CHAIN,
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "src/trimtab/evaluation/published/hidden_bloat/paper.yaml",
            "Figure 6",
            "Figure 16",
            {"evaluate_experiment", "headlines"},
            marks=pytest.mark.nightly,
        ),
        (
            "src/trimtab/evaluation/report/page.py",
            '"""',
            '"""Reworded. ',
            {"evaluate_experiment", "headlines"},
        ),
        ("src/trimtab/debloating/targets/folder.py", '"""', '"""Reworded. ', None),
    ],
)
def test_a_change_reruns_just_what_it_touches(
    finished: Project, file: str, old: str, new: str, planned: set[str] | None
) -> None:
    with finished.edited(file, old, new):
        found = finished.planned()
    if planned is None:  # depends on which modules import it: at least its rule, no measurement
        assert "build_environment" in found and "profile_workload" not in found
    else:
        assert found == planned


def test_what_no_result_depends_on_reruns_nothing(finished: Project) -> None:
    with (
        finished.edited("conf/debloat/compact.yaml", "# Unused pages", "# The unused pages"),
        finished.edited(f"{PACKAGE}/_native.py", "def ", "def  "),  # which no run read
        finished.edited("src/trimtab/config/groups/hardware.py", "Power of", "The power of"),
    ):
        assert finished.planned() == set()


@pytest.mark.parametrize(
    ("file", "old", "new", "planned", "reason"),
    [
        (
            "conf/config.yaml",
            "verify: {repeats: 1}",
            "verify: {repeats: 2}",
            {"verify_environment", *SCHEDULE},
            "Params have changed since last execution: verify.repeats: 1 -> 2",
        ),
        (
            f"{PACKAGE}/__init__.py",
            "def ",
            "def  ",
            CHAIN,
            f"Updated input files: {PACKAGE}/__init__.py",
        ),
    ],
)
def test_a_reason_names_what_has_changed_in_a_few_words(
    finished: Project, file: str, old: str, new: str, planned: set[str], reason: str
) -> None:
    with finished.edited(file, old, new):
        said = finished.succeed("snakemake", "-n", "--cores", "2", "all")
    assert rules_in(said) == planned
    assert reason in said
    assert "scripts/" not in said and len(said) < 20_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("experiment=heats", """overrides='["experiment=heats"]'"""),
        ("overrides=['verify.repeats=1,2']", "for value in 1 2; do echo"),
    ],
)
def test_what_would_be_taken_for_something_else_is_refused(
    finished: Project, given: str, expected: str
) -> None:
    done = finished.run("snakemake", "-n", "--config", given)
    assert done.returncode != 0 and expected in done.stdout and "Traceback" not in done.stdout


def test_what_production_recorded_is_kept_by_the_next_run(
    finished: Project, tmp_path: Path
) -> None:
    folder = "results/debloat/tiny/test_machine"
    [library] = read_json(finished.folder / folder / "manifest.json")["files"]
    line = {"pid": 1, "time_s": 1.0, "library": library, "address": 64, "function": "f"}
    (tmp_path / "record").write_text(json.dumps(line) + "\n")
    record = ("--workspace", folder, "--record", str(tmp_path / "record"))
    assert "snakemake --cores all debloat" in finished.succeed(*LEARN, *record)
    try:
        said = finished.succeed("snakemake", "-n", "--cores", "2", "all")
        assert "rule debloat_target" in said and "target=both" not in said
        assert "rule profile_workload" not in said
    finally:
        (finished.folder / folder / "learned.json").unlink()


def test_learning_from_runs_of_an_experiment(finished: Project) -> None:
    folder = "results/debloat/tiny/test_machine"
    said = finished.succeed(*LEARN, "--workspace", folder, "--repeats", "1")
    assert "0 removed pieces were missed" in said
    assert finished.planned() == set()


def test_a_changed_workload_reruns_its_cells_only(finished: Project) -> None:
    with finished.edited("conf/workload/other.yaml", '"1"', '"3"'):
        said = finished.succeed("snakemake", "-n", "--cores", "2", "all")
    assert "workload=other" in said and "target=both" in said
    assert "workload=tiny" not in said and "target=tiny" not in said


def test_killed_half_way_and_resumed(project: Project, tmp_path: Path) -> None:
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    snakemake = subprocess.Popen(
        [str(Path(sys.executable).parent / "snakemake"), "--cores", "2", "all"],
        cwd=project.folder,
        env={**tools(), "TINY_STARTED": str(fifo)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert select.select([reader], [], [], 60)[0], "no run of the program has begun"
    finally:
        snakemake.kill()
        snakemake.wait()
    begun = os.read(reader, 1 << 16)  # the next run may have begun meanwhile
    assert begun == b"started" * (len(begun) // 7)
    assert select.select([reader], [], [], 2)[0] and not os.read(reader, 9), "the program lives on"
    os.close(reader)
    profile = project.folder / "results" / "profile"
    assert not [path for path in profile.rglob("*") if path.suffix in {".json", ".parquet"}]
    usage = "results/profile/tiny/test_machine/usage.json"
    project.succeed("snakemake", "--cores", "2", usage)
    assert (project.folder / usage).is_file()
    assert NOTHING_TO_DO in project.succeed("snakemake", "-n", "--cores", "2", usage)


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            "conf/workload/tiny.yaml",
            "timeout_s: 60",
            "timeout_s: soon",
            "conf/workload/tiny.yaml: workload.timeout_s: 'soon' given, expected a number",
        ),
        (
            "conf/workload/tiny.yaml",
            "timeout_s:",
            "workdir: gone\ntimeout_s:",
            "workload.workdir: 'gone'",
        ),
        ("conf/workload/tiny.yaml", "dataset:", "datset:", "did you mean dataset?"),
        ("conf/workload/other.yaml", "python: env", "python: nowhere/env", "targets.both"),
        ("params.yaml", "overrides: []", "overrides: [experiment=nope]", "nope.yaml"),
        ("params.yaml", "overrides: []", "overrides: experiment=single", "params.yaml"),
        ("params.yaml", "overrides: []", "a: &a [*a]", "params.yaml, line 2: *a stands for itself"),
    ],
)
def test_a_mistake_stops_everything_in_one_line(
    project: Project, file: str, old: str, new: str, expected: str
) -> None:
    with project.edited(file, old, new):
        done = project.run("snakemake", "--cores", "2", "all")
    assert done.returncode != 0
    assert len([line for line in done.stdout.splitlines() if expected in line]) == 1
    assert "Traceback" not in done.stdout
    assert not (project.folder / "results").exists()
    assert not (project.folder / "logs").exists()


def test_snakemakes_own_report(finished: Project, tmp_path: Path) -> None:
    page = tmp_path / "report.zip"
    finished.succeed("snakemake", "--report", str(page))
    assert page.stat().st_size > 0


def test_scripts_run_without_snakemake_and_say_what_is_wrong(finished: Project) -> None:
    done = finished.run(
        "python", "scripts/profile_workload.py", "--config", "{}", "--output", "results/x"
    )
    assert done.returncode == 2
    (line,) = done.stdout.splitlines()
    assert line == "error: --config: {}: No such file or directory"
