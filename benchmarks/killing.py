"""Killing one process of many: which there are, what each is, and what is left two seconds later.

Every process of a command carries a mark in its environment, by which it is found, whatever it did
to get away.
"""

import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/workflow"))
from project import tools

MARK = "TRIMTAB_KILLS"
LIMIT_S = 2.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
KILLS_A_ROUND = 13
LONGEST_DELAY_S = 2.0  # once there is a process of the role that is to be killed
PATIENCE_S = 15.0  # for such a process
MOST_SESSIONS = 8
ROLES = {
    "snakemake": ("snakemake", "supervisor", "script", "tracer", "program"),
    "trimtab": ("command line", "supervisor", "tracer", "program"),
}


@dataclass
class Campaign:
    """What was killed so far, and what went wrong."""

    random: random.Random
    kills: list[dict[str, object]] = field(default_factory=list)
    rounds: list[dict[str, object]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    longest_s: float = LONGEST_DELAY_S

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
        self._end_round(name, before, command, folder, wanted, result)

    def aim(
        self,
        rule: str,
        kills: int,
        command: Sequence[str],
        folder: Path,
        undo: Callable[[], None],
        result: Callable[[], list[str]],
    ) -> None:
        """Kill `kills` times while a rule runs, which `undo` has run again; then as `round`.

        Snakemake starts the rule again in the same session, until it is Snakemake's own turn.
        """
        name, before, wanted = f"snakemake, at {rule}", len(self.kills), result()
        self.longest_s = LONGEST_DELAY_S
        again = [*command, "--retries", str(kills)]
        for _ in range(MOST_SESSIONS):
            if (left := before + kills - len(self.kills)) > 0:
                undo()
                self._session_at(name, rule, left, again, folder)
        if len(self.kills) < before + kills:
            self.problems.append(f"{name}: only {len(self.kills) - before} kills")
        self._end_round(name, before, command, folder, wanted, result)

    def _end_round(
        self,
        name: str,
        before: int,
        command: Sequence[str],
        folder: Path,
        wanted: list[str],
        result: Callable[[], list[str]],
    ) -> None:
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
        self._check_end(name, mark)
        return tool == "snakemake" and process.returncode == 0

    def _session_at(
        self, name: str, rule: str, kills: int, command: Sequence[str], folder: Path
    ) -> None:
        """Start Snakemake and kill each time that it runs a rule, Snakemake at last."""
        mark = uuid.uuid4().hex
        process = subprocess.Popen(
            command, cwd=folder, env=environment(mark), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        began_s, delay_s, done = 0.0, 0.0, 0
        while process.poll() is None:
            time.sleep(0.02)
            by_role: dict[str, list[psutil.Process]] = {}
            for each in marked(mark):
                if each.pid != process.pid and rule_of(each) == rule:
                    by_role.setdefault(role_of(each, process.pid), []).append(each)
            by_role.pop("", None)
            now_s = time.monotonic()
            if not by_role:
                if began_s:  # it ended before its turn came
                    began_s = 0.0
                    self.longest_s *= 0.6
                continue
            if not began_s:
                began_s, delay_s = now_s, self.random.uniform(0.0, self.longest_s)
            if now_s - began_s < delay_s:
                continue
            done += 1
            role = self.random.choice(sorted(by_role)) if done < kills else "snakemake"
            victims = by_role.get(role, [psutil.Process(process.pid)])
            self._kill(name, role, victims, rule)
            deadline = time.monotonic() + LIMIT_S  # of a signal that they may mind or not
            while any(map(lives, victims)) and time.monotonic() < deadline:
                time.sleep(0.02)
            began_s = 0.0
            if role == "snakemake":
                process.wait()
        self._check_end(name, mark)

    def _check_end(self, name: str, mark: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while (left := marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._check(name, "the end", left)

    def _roles(self, root: int, mark: str) -> dict[str, list[psutil.Process]]:
        by_role: dict[str, list[psutil.Process]] = {}
        for process in marked(mark):
            by_role.setdefault(role_of(process, root), []).append(process)
        return by_role

    def _kill(
        self, name: str, role: str, processes: Sequence[psutil.Process], rule: str = ""
    ) -> None:
        """Kill one of the processes, which have a role, unless they have ended meanwhile."""
        if not processes:
            return
        victim, number = self.random.choice(processes), self.random.choice(SIGNALS)
        try:
            below = victim.children(recursive=True)
            running = rule or rule_of(victim)
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
