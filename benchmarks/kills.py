"""Kills at random moments: what is left alive after two seconds, and what the next start makes.

    python benchmarks/kills.py --folder EMPTY [--kills 200] [--seed 1] [--at-rules]

The tiny workflow of the tests, and `trimtab debloat`, `verify` and `learn` on its program, are
killed again and again by SIGKILL, SIGTERM or SIGINT at Snakemake, a rule's shell, a supervisor, the
script, the command line, the tracer or the program, which has a daemon, and started again without
any other help. At the end of each round nothing is killed, and the results have to be those of a
run that nobody disturbed. With `--at-rules` each rule gets as many kills, all while it runs; where
nothing that is measured was made again, each file has to be as it was, byte for byte. Writes
benchmarks/results/kills.json.
"""

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common import load, save
from killing import Campaign, environment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/workflow"))
from project import Project, make_project

BIN = Path(sys.executable).parent
# The program gets a daemon that lives as long as it does.
DAEMON = """
import os
reader, writer = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        os.close(writer)
        os.read(reader, 1)
    os._exit(0)
os.wait()
import time; time.sleep(0.3)
"""
# What a rule makes, in the order in which they run: without it and what follows it runs again.
MADE = {
    "profile_workload": "profile/*/*/usage.json",
    "debloat_target": "debloat/*/*/manifest.json",
    "build_environment": "debloat/*/*/environment.json",
    "verify_environment": "debloat/*/*/verify.json",
    "make_trace": "schedule/*/*/trace.json",
    "calculate": "schedule/*/*/*/formula.json",
    "deflate": "schedule/*/*/deflator_*.json",
    "simulate": "schedule/*/*/*/summary.json",
    "evaluate_experiment": "evaluate/*/report.html",
    "resolved_config": "config.yaml",
}
ANYWHERE = (
    "profile_workload", "debloat_target", "build_environment", "verify_environment", "make_trace",
)  # fmt: skip
MEASURE = ANYWHERE[:-1]  # they, or what follows them, measure times


def replace(project: Project, name: str, old: str, new: str) -> None:
    """Say `new` instead of `old` in a file of the project's configuration."""
    path = project.folder / f"conf/{name}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def add_formulas(project: Project) -> None:
    """Have the experiment make all that formulas make, of jobs that an engine runs in rounds."""
    rounds = "rounds: {map_tasks: 8, map_task_s: 0.5}"
    replace(project, "trace/tiny_jobs", "workload: tiny, environment: debloated", rounds)
    replace(project, "trace/tiny_jobs", "work: {mean_s: 2}", rounds)
    replace(project, "cluster/pair", "{name: pair", "{engine_slots: 4, name: pair")
    limits = project.folder / "conf/objective/limits.yaml"
    limits.write_text("{name: limits, classes: {urgent: {}, other: {}}}\n")
    more = "[fcfs]\n    formula: true\n    objectives: [limits]"
    replace(project, "experiment/quickstart", "[fcfs]", more)


def facts_of(folder: Path, whole: Sequence[str]) -> list[str]:
    """What has to be the same: the files, slim environments and those named `whole` by content."""
    facts = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if {"__pycache__", "runs", "benchmarks"}.isdisjoint(path.relative_to(folder).parts):
            told = ""
            if path.is_symlink():
                told = str(path.readlink())
            elif path.is_file() and ("/env/" in f"/{name}" or {path.name, "*"} & {*whole}):
                told = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path.name == "verify.json":
                told = str(json.loads(path.read_text())["passed"])
            elif path.name == "manifest.json":
                told = json.dumps(json.loads(path.read_text())["files"], sort_keys=True)
            facts.append(f"{name} {told}")
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-rules", action="store_true", help="each rule as often, no verbs")
    parser.add_argument("--verbs-only", action="store_true", help="no Snakemake")
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder to work in")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    folder = arguments.folder.resolve()
    project = make_project(folder / "project")
    program = project.folder / "program.py"
    program.write_text(program.read_text() + DAEMON)
    replace(project, "experiment/quickstart", "    both: [tiny, other]\n", "")
    replace(project, "experiment/quickstart", "[fcfs, non_preemptive]", "[fcfs]")
    if arguments.at_rules:
        add_formulas(project)
    snakemake = [str(BIN / "snakemake"), "--cores", "2", "all"]
    if not arguments.verbs_only:
        project.succeed("snakemake", "--cores", "2", "all")

    def experiment(*whole: str) -> list[str]:
        return facts_of(project.folder / "results", whole or ["used.json", "config.yaml"])

    campaign = Campaign(random.Random(arguments.seed))
    began = time.monotonic()

    def tell() -> None:
        seconds = round(time.monotonic() - began)
        found = {"rounds": campaign.rounds, "problems": campaign.problems, "kills": campaign.kills}
        report(arguments.seed, {"seconds": seconds, **found})

    def unmake(rule: str) -> None:
        for pattern in list(MADE.values())[list(MADE).index(rule) :]:
            for path in (project.folder / "results").glob(pattern):
                path.unlink()

    if arguments.at_rules:
        for rule in reversed(MADE):
            result = partial(experiment, *([] if rule in MEASURE else ["*"]))
            kills = -(-arguments.kills // len(MADE))
            campaign.aim(rule, kills, snakemake, project.folder, partial(unmake, rule), result)
            tell()
        return

    workspace = folder / "workspace"
    python = str(project.folder / "environment/bin/python")
    output = str(folder / "output")
    debloat = [
        str(BIN / "trimtab"), "debloat", "--workspace", str(workspace), "--runs", "1",
        "--settle", "1", "--output", output, "--", python, str(program), "--output", output,
    ]  # fmt: skip
    verify, learn = (
        [str(BIN / "trimtab"), *verb, "--workspace", str(workspace), "--repeats", "1"]
        for verb in (["verify"], ["advanced", "learn"])
    )

    def slim() -> list[str]:
        return facts_of(workspace, ["used.json"])

    subprocess.run(debloat, env=environment("first"), check=True)
    debloated = slim()
    subprocess.run(verify, env=environment("first"), check=True)
    verified = slim()
    made = experiment()

    def kill_in(*given: Any) -> None:
        campaign.round(*given)
        tell()

    while len(campaign.kills) < arguments.kills:
        shutil.rmtree(workspace)
        kill_in("trimtab debloat", debloat, folder, debloated, slim)
        kill_in("trimtab verify", verify, folder, verified, slim)
        kill_in("trimtab advanced learn", learn, folder, verified, slim)
        for rule in [] if arguments.verbs_only else ANYWHERE:
            unmake(rule)
            kill_in(f"snakemake: {rule}", snakemake, project.folder, made, experiment)


def report(seed: int, campaign: dict[str, object]) -> None:
    """Put a campaign beside those of other seeds, and the figures of all."""
    campaigns: dict[str, Any] = (load("kills") or {}).get("campaigns", {})  # type: ignore
    campaigns[str(seed)] = campaign
    kills, rounds, problems = (
        [each for one in campaigns.values() for each in one[key]]
        for key in ("kills", "rounds", "problems")
    )
    times = sorted(kill["gone_after_s"] for kill in kills if kill.get("below"))
    save(
        "kills",
        {
            "kills": len(kills),
            "rounds": len(rounds),
            "rounds_with_the_same_results": sum(each["same"] for each in rounds),
            "left_alive_after_2_s": sum("alive 2 s" in each for each in problems),
            "s_until_all_below_were_gone": {
                "median": times[len(times) // 2],
                "highest": times[-1],
                "kills": len(times),
            },
            **{
                f"by_{key}": dict(Counter(kill[key] for kill in kills))
                for key in ("role", "signal", "what", "rule")
            },
            "campaigns": campaigns,
        },
    )


if __name__ == "__main__":
    main()
