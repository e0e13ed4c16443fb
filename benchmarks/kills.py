"""Kills at random moments: what is left alive after two seconds, and what the next start makes.

    python benchmarks/kills.py --folder EMPTY [--kills 200] [--seed 1]

The tiny workflow of the tests, and `trimtab debloat`, `verify` and `learn` on its program, are
killed again and again by SIGKILL, SIGTERM or SIGINT at Snakemake, a rule's shell, a supervisor, the
script, the command line, the tracer or the program, which has a daemon, and started again without
any other help. At the end of each round nothing is killed, and the results have to be those of a
run that nobody disturbed. Every process carries a mark in its environment, by which those that are
left are found, whatever they did to get away. Writes benchmarks/results/kills.json.
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
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from common import load, save

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/workflow"))
from project import make_project, tools

BIN = Path(sys.executable).parent
MARK = "TRIMTAB_KILLS"
LIMIT_S = 2.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
KILLS_A_ROUND = 13
LONGEST_DELAY_S = 2.0  # once there is a process of the role that is to be killed
PATIENCE_S = 15.0  # for such a process
ROLES = {
    "snakemake": ("snakemake", "supervisor", "script", "tracer", "program"),
    "trimtab": ("command line", "supervisor", "tracer", "program"),
}
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
# What a rule makes, in order: without it and what follows, it and what follows runs again.
STARTS = {
    "profile_workload": "profile/*/*/usage.json",
    "debloat_target": "debloat/*/*/manifest.json",
    "build_environment": "debloat/*/*/environment.json",
    "verify_environment": "debloat/*/*/verify.json",
    "make_trace": "schedule/*/*/trace.json",
    "simulate": "schedule/*/*/*/summary.json",
    "evaluate_experiment": "evaluate/*/report.html",
}


@dataclass
class Campaign:
    """What was killed so far, and what went wrong."""

    random: random.Random
    kills: list[dict[str, object]] = field(default_factory=list)
    rounds: list[dict[str, object]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def round(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        wanted: list[str],
        result: Callable[[], list[str]],
    ) -> None:
        """Kill `command` and start it again, then let it end and compare what it made."""
        before, is_done = len(self.kills), False
        while not is_done and len(self.kills) - before < KILLS_A_ROUND:
            is_done = self._session(name, command, folder)
        ended = subprocess.run(
            command, cwd=folder, env=environment("last"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        others = sorted(set(result()) ^ set(wanted))
        same = ended.returncode == 0 and not others
        self.rounds.append({"what": name, "kills": len(self.kills) - before, "same": same})
        if not same:
            said = "\n".join([*others[:20], *ended.stdout.splitlines()[-15:]])
            self.problems.append(f"{name}: exit code {ended.returncode}, other results: {said}")
            print(self.problems[-1])
        print(f"{len(self.kills)} kills, {len(self.problems)} problems: {name} same={same}")

    def _session(self, name: str, command: Sequence[str], folder: Path) -> bool:
        """Start `command` once, and kill until it has ended; return whether all is made."""
        mark, tool = uuid.uuid4().hex, Path(command[0]).name
        process = subprocess.Popen(
            command, cwd=folder, env=environment(mark), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None:
            role, patience = self.random.choice(ROLES[tool]), time.monotonic() + PATIENCE_S
            while not (by_role := self._roles(process.pid, mark)).get(role):
                if process.poll() is not None or time.monotonic() > patience:
                    break
                time.sleep(0.05)
            if by_role.get(role):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(self.random.uniform(0.0, LONGEST_DELAY_S))
                    break
                self._kill(name, role, self._roles(process.pid, mark).get(role, []))
        deadline = time.monotonic() + LIMIT_S
        while (left := marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._check(name, "the end", left)
        return tool == "snakemake" and process.returncode == 0

    def _roles(self, root: int, mark: str) -> dict[str, list[psutil.Process]]:
        by_role: dict[str, list[psutil.Process]] = {}
        for process in marked(mark):
            by_role.setdefault(role_of(process, root), []).append(process)
        return by_role

    def _kill(self, name: str, role: str, processes: Sequence[psutil.Process]) -> None:
        """Kill one of the processes, which have a role, unless they have ended meanwhile."""
        if not processes:
            return
        victim, number = self.random.choice(processes), self.random.choice(SIGNALS)
        try:
            below = victim.children(recursive=True)
            running = rule_of(victim)
            victim.send_signal(number)
        except psutil.NoSuchProcess:
            return
        began = time.monotonic()
        left = below
        # A program may mind a signal or not; what has to end with Snakemake or a command is all.
        bound = role != "program" and (role != "tracer" or number == signal.SIGKILL)
        while bound and (left := [each for each in left if lives(each)]):
            if time.monotonic() - began > LIMIT_S:
                break
            time.sleep(0.01)
        took = time.monotonic() - began
        kill = {"what": name, "role": role, "rule": running, "signal": number.name}
        if bound:
            kill |= {"below": len(below), "gone_after_s": round(took, 3)}
            self._check(name, f"{number.name} of {role}", left)
        self.kills.append(kill)

    def _check(self, name: str, after: str, left: Sequence[psutil.Process]) -> None:
        for process in left:
            with suppress(psutil.Error):
                told = " ".join(process.cmdline())[:120]
                self.problems.append(f"{name}: alive 2 s after {after}: {told}")
                print(self.problems[-1])
                process.kill()


def environment(mark: str) -> dict[str, str]:
    return {**tools(), MARK: mark}


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def marked(mark: str) -> list[psutil.Process]:
    """Every living process that carries the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            text = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in text and lives(process):
            found.append(process)
    return found


def role_of(process: psutil.Process, root: int) -> str:
    try:
        words = process.cmdline()
    except psutil.NoSuchProcess:
        return ""
    text = " ".join(words)
    if process.pid == root:
        return "snakemake" if "snakemake" in text else "command line"
    if "trimtab-supervisor" in text:
        return "supervisor"
    if "trimtab-file-tracer" in text:
        return "tracer"
    if words and words[0].endswith(("bash", "/sh")):
        return "shell"
    if "scripts/" in text:
        return "script"
    if "program.py" in text:
        return "program"
    return "command line" if "trimtab" in text else ""


def rule_of(process: psutil.Process) -> str:
    """The rule that a process works for, by the script that it or one beside it runs."""
    with suppress(psutil.Error):
        for each in (process, *process.parents(), *process.children(recursive=True)):
            for word in each.cmdline():
                if word.startswith("scripts/") and word.endswith(".py"):
                    return Path(word).stem
    return ""


def facts_of(folder: Path, whole: Sequence[str]) -> list[str]:
    """What has to be the same: the files, slim environments and those named `whole` by content."""
    facts = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if {"__pycache__", "runs", "benchmarks"}.isdisjoint(path.relative_to(folder).parts):
            told = ""
            if path.is_symlink():
                told = str(path.readlink())
            elif path.is_file() and ("/env/" in f"/{name}" or path.name in whole):
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
    parser.add_argument("--verbs-only", action="store_true", help="no Snakemake")
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder to work in")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    folder = arguments.folder.resolve()
    project = make_project(folder / "project")
    program = project.folder / "program.py"
    program.write_text(program.read_text() + DAEMON)
    experiment_file = project.folder / "conf/experiment/quickstart.yaml"
    text = experiment_file.read_text().replace("    both: [tiny, other]\n", "")
    experiment_file.write_text(text.replace("[fcfs, non_preemptive]", "[fcfs]"))
    snakemake = [str(BIN / "snakemake"), "--cores", "2", "all"]
    if not arguments.verbs_only:
        project.succeed("snakemake", "--cores", "2", "all")

    def experiment() -> list[str]:
        return facts_of(project.folder / "results", ["used.json", "config.yaml"])

    workspace = folder / "workspace"
    python = str(project.folder / "environment/bin/python")
    output = str(folder / "output")
    debloat = [
        str(BIN / "trimtab"), "debloat", "--workspace", str(workspace), "--runs", "1",
        "--settle", "1", "--output", output, "--", python, str(program), "--output", output,
    ]  # fmt: skip
    verify, learn = (
        [str(BIN / "trimtab"), verb, "--workspace", str(workspace), "--repeats", "1"]
        for verb in ("verify", "learn")
    )

    def slim() -> list[str]:
        return facts_of(workspace, ["used.json"])

    subprocess.run(debloat, env=environment("first"), check=True)
    debloated = slim()
    subprocess.run(verify, env=environment("first"), check=True)
    verified = slim()
    made = experiment()
    campaign = Campaign(random.Random(arguments.seed))
    began = time.monotonic()

    def kill_in(*given: Any) -> None:
        campaign.round(*given)
        seconds = round(time.monotonic() - began)
        found = {"rounds": campaign.rounds, "problems": campaign.problems, "kills": campaign.kills}
        report(arguments.seed, {"seconds": seconds, **found})

    while len(campaign.kills) < arguments.kills:
        shutil.rmtree(workspace)
        kill_in("trimtab debloat", debloat, folder, debloated, slim)
        kill_in("trimtab verify", verify, folder, verified, slim)
        kill_in("trimtab learn", learn, folder, verified, slim)
        for number, rule in enumerate([] if arguments.verbs_only else list(STARTS)[:5]):
            for pattern in list(STARTS.values())[number:]:
                for path in (project.folder / "results").glob(pattern):
                    path.unlink()
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
