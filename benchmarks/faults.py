"""Faults injected into every call of our own processes that changes a file or starts something.

Each verb of the command line runs on a small compiled program; one call of it fails, the n-th of
its kind, for every n (or as many as `--most` says, spread evenly). Then the same verb runs
undisturbed. What has to hold after each fault is in `problems_of`. Exits with 1 where it does not.
"""

import argparse
import ctypes
import errno
import hashlib
import importlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import save

PROJECT = Path(__file__).resolve().parents[1]
SHIM = PROJECT / "tests/native/faults.c"
KINDS = ["open", "write", "rename", "link", "mkdir", "truncate", "sync", "fork"]
ERRORS = {  # 0 is half a write
    "open": [errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EIO],
    "write": [errno.ENOSPC, errno.EIO, 0, errno.EDQUOT, errno.EFBIG, errno.EINTR],
    "rename": [errno.EIO, errno.ENOSPC, errno.EACCES],
    "link": [errno.ENOSPC, errno.EIO, errno.EACCES],
    "mkdir": [errno.ENOSPC, errno.EACCES, errno.EIO],
    "truncate": [errno.EIO, errno.ENOSPC],
    "sync": [errno.EIO],
    "fork": [errno.EAGAIN, errno.ENOMEM],
}
LIMIT_S = 120
FUNCTIONS = [f"used_{i}" for i in range(4)] + [f"unused_{i}" for i in range(6)]
LIBRARY = "".join(f"int {name}(int x) {{ return x + {len(name)}; }}\n" for name in FUNCTIONS)
PROGRAM = """#include <stdio.h>
int used_0(int), used_1(int), used_2(int), used_3(int), unused_2(int);
int main(int count, char **words) {
  printf("%d\\n", used_0(1) + used_1(2) + used_2(3) + used_3(4));
  return getenv("TRIMTAB_FAULTS_MORE") ? unused_2(1) * 0 : 0;
}
"""


@dataclass(frozen=True)
class Verb:
    """A verb: what it is given, the state that it starts from, and what of its result counts."""

    words: list[str]
    start: str
    result: Callable[[Path], Any]
    more: bool = False


@dataclass(frozen=True)
class Ran:
    """How a verb ended: its exit code, its standard error, and what the call that failed was on.

    `modules` are those that it had imported.
    """

    exit_code: int
    said: str
    hit: str
    counts: dict[str, int]
    modules: list[str]


def compile_program(folder: Path) -> None:
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    for source, options in (
        (LIBRARY, ["-shared", "-fPIC", "-falign-functions=4096", "-o", f"{folder}/lib/libf.so"]),
        ("#include <stdlib.h>\n" + PROGRAM,
         ["-o", f"{folder}/bin/program", f"-L{folder}/lib", "-lf", "-Wl,-rpath,$ORIGIN/../lib"]),
    ):  # fmt: skip
        words = ["gcc", "-O1", "-x", "c", "-", "-x", "none", *options]
        subprocess.run(words, input=source, text=True, check=True)
    (folder / "lib/notes.txt").write_text("a file that is copied\n")
    (folder / "lib/link").symlink_to("notes.txt")


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    """The modes and contents of all below `folder`."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, content_of(path))
        for path in sorted(folder.rglob("*"))
    }


def content_of(path: Path) -> str:
    if path.is_symlink():
        return os.readlink(path)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def traced(workspace: Path) -> Any:
    usage = json.loads((workspace / "usage.json").read_text())
    libraries = [(x["path"], x["used_functions"]) for x in usage["libraries"]]
    return usage["complete"], sorted(libraries)


def verified(workspace: Path) -> Any:
    verdict = json.loads((workspace / "verify.json").read_text())
    return verdict["passed"], tree(workspace / "env")


def out_of(workspace: Path) -> Any:
    return tree(workspace / "out")


def environment_of(workspace: Path) -> Any:
    return tree(workspace / "env")


def import_all(modules: list[str]) -> None:
    """Import what a verb did, so that the next processes have it."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)


class Campaign:
    """The verbs on one program in `folder`, in processes that have everything imported."""

    def __init__(self, folder: Path) -> None:
        from trimtab.cli import main

        self.main, self.folder, self.workspace = main.main, folder, folder / "trimtab_workspace"
        self.shim = ctypes.CDLL(os.environ["TRIMTAB_FAULTS"])
        self.shim.faults_hit.restype = ctypes.c_char_p
        self.program = folder / "program"
        compile_program(self.program)
        self.original = self.state_of_original()
        program = [f"--target=native_folder:{self.program}", "--runs=1"]
        command = ["--", str(self.program / "bin/program")]
        out = "trimtab_workspace/out"
        span = ["--span-path", "trimtab_workspace/spans/lib__libf.so.json"]
        self.verbs = {
            "trace": Verb(["advanced", "trace", *program, *command], "nothing", traced),
            "debloat": Verb(
                ["debloat", "--settle=1", *program, *command], "traced", environment_of
            ),
            "debloat again": Verb(
                ["debloat", "--settle=1", "--fallback=packed", "--share=copy", *program, *command],
                "slim", environment_of),
            "learn": Verb(["advanced", "learn", "--repeats=1"], "slim", environment_of, more=True),
            "verify": Verb(["verify", "--repeats=1"], "slim", verified),
            "reconstruct": Verb(
                ["advanced", "reconstruct", *span, "--output-dir", out], "slim", out_of
            ),
        }  # fmt: skip
        (folder / "states/nothing").mkdir(parents=True)
        for verb, state in (("trace", "traced"), ("debloat", "slim")):
            self.begin(self.verbs[verb])
            ran = self.run(self.verbs[verb])
            assert ran.exit_code == 0, ran.said
            import_all(ran.modules)
            shutil.copytree(self.workspace, folder / "states" / state, symlinks=True)

    def state_of_original(self) -> Any:
        """Contents, modes and dates of the program."""
        return {
            path: (path.lstat().st_mode, path.lstat().st_mtime_ns, content_of(path))
            for path in [self.program, *self.program.rglob("*")]
        }

    def begin(self, verb: Verb) -> None:
        """Have the workspace in the state that the verb starts from."""
        shutil.rmtree(self.workspace, ignore_errors=True)
        state = self.folder / "states" / verb.start
        shutil.copytree(state, self.workspace, symlinks=True)

    def run(self, verb: Verb, kind: int = -1, call: int = 0, error: int = 0) -> Ran:
        """Run a verb in a process of its own, in which one call fails."""
        said, told = self.folder / "said", self.folder / "told"
        told.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._as_child(verb, said, told, kind, call, error)
        end = time.monotonic() + LIMIT_S
        while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.005)
        exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        hit, counts, modules = json.loads(told.read_text()) if told.exists() else ("", {}, [])
        return Ran(exit_code, said.read_text(errors="replace"), hit, counts, modules)

    def _as_child(
        self, verb: Verb, said: Path, told: Path, kind: int, call: int, error: int
    ) -> None:
        os.setpgid(0, 0)
        os.chdir(self.folder)
        os.environ.pop("TRIMTAB_FAULTS_MORE", None)
        if verb.more:
            os.environ["TRIMTAB_FAULTS_MORE"] = "1"
        descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["trimtab", *verb.words]
        exit_code = 0
        self.shim.faults_begin(len(KINDS) if kind < 0 else kind, ctypes.c_long(call), error)
        try:
            self.main()
        except SystemExit as ended:
            exit_code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        except BaseException:
            traceback.print_exc()
            exit_code = 99
        counts = {name: self.shim.faults_count(number) for number, name in enumerate(KINDS)}
        hit = self.shim.faults_hit().decode(errors="replace")
        self.shim.faults_begin(-1, ctypes.c_long(0), 0)
        sys.stderr.flush()
        told.write_text(json.dumps([hit, counts, [*sys.modules]]))
        os._exit(exit_code)

    def points(self, verb: Verb) -> Iterator[tuple[str, int, int]]:
        """Every call that can fail in an undisturbed run, with each error that it may have."""
        self.begin(verb)
        ran = self.run(verb)
        assert ran.exit_code == 0, ran.said
        import_all(ran.modules)
        for kind, count in ran.counts.items():
            for call in range(1, count + 1):
                for error in ERRORS[kind]:
                    yield kind, call, error

    def expected(self, verb: Verb) -> Any:
        """The result of an undisturbed run."""
        self.begin(verb)
        ran = self.run(verb)
        assert ran.exit_code == 0, ran.said
        return verb.result(self.workspace)

    def problems_of(
        self, verb: Verb, point: tuple[str, int, int], right: Any
    ) -> tuple[Ran, list[str]]:
        """Have one call fail, and return what is not as it has to be then."""
        kind, call, error = point
        self.begin(verb)
        before = environment_of(self.workspace)
        ran = self.run(verb, KINDS.index(kind), call, error)
        problems = []
        if ran.exit_code == 0:
            if verb.result(self.workspace) != right:
                problems.append("exit code 0 and another result")
        else:
            problems += problems_of_message(ran, kind)
            if environment_of(self.workspace) not in (before, {}, right):
                problems.append("half an environment")
            left = [p.name for p in self.workspace.rglob(".*") if "env" in p.name or p.is_file()]
            if left:
                problems.append(f"left behind: {left}")
        if self.state_of_original() != self.original:
            problems.append("the original was changed")
        again = self.run(verb)
        if again.exit_code != 0:
            problems.append(f"the next run fails: {again.said[-300:]}")
        elif verb.result(self.workspace) != right:
            problems.append("the next run has another result")
        return ran, problems


def told_name_of(path: str) -> str:
    """What a message has to say of a file: of a temporary one, `.NAME.8x1q_a`, its own name."""
    file = Path(path.removesuffix(" (deleted)"))
    if file.name.startswith(".trimtab-"):  # a name that says nothing: the folder has to do
        return file.parent.name
    return re.sub(r"^\.(.*)\.\w{8}$", r"\1", file.name)


def problems_of_message(ran: Ran, kind: str) -> list[str]:
    said = ran.said.replace("\r", "\n")
    errors = [line for line in said.splitlines() if re.search(r"\berror:", line)]
    problems = []
    if "Traceback" in said or len(errors) != 1 or ran.exit_code not in (1, 2):
        problems.append(
            f"exit code {ran.exit_code} with {len(errors)} lines of error: {said[-400:]}"
        )
    # Of two names that a rename has, either.
    elif kind != "fork" and not any(
        name in errors[0] for name in map(told_name_of, ran.hit.split(" -> "))
    ):
        problems.append(f"{ran.hit} is not named: {errors[0]}")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, help="As many faults of each verb at most.")
    parser.add_argument("--verbs", nargs="*", help="These only.")
    parser.add_argument("--output", type=Path, help="Where the figures go besides.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name).resolve()
        if "TRIMTAB_FAULTS" not in os.environ:
            shim = folder / "faults.so"
            words = ["gcc", "-O1", "-shared", "-fPIC", "-o", shim, SHIM, "-ldl", "-pthread"]
            subprocess.run(words, check=True)
            environment = {**os.environ, "LD_PRELOAD": str(shim), "TRIMTAB_FAULTS": str(shim)}
            environment["TRIMTAB_FAULTS_MORE"] = ""
            sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)
        figures, failed = campaign(folder, given.most, given.verbs)
    if given.output:
        given.output.write_text(json.dumps(figures, indent=1))
    elif given.most is None and not given.verbs:
        save("faults", figures)
    print(json.dumps(figures["faults"]), figures["problems"])
    sys.exit(bool(failed))


def campaign(
    folder: Path, most: int | None, verbs: list[str] | None
) -> tuple[dict[str, Any], list[str]]:
    runs = Campaign(folder)
    injected, refused, failed = Counter[str](), Counter[str](), list[str]()
    for name, verb in runs.verbs.items():
        if verbs and name not in verbs:
            continue
        points = list(runs.points(verb))
        right = runs.expected(verb)
        step = max(1, -(-len(points) // most)) if most else 1
        while math.gcd(step, 6) > 1:  # else one error would be taken of each call over and over
            step += 1
        for point in points[::step]:
            ran, problems = runs.problems_of(verb, point, right)
            if not ran.hit:
                continue  # of threads, which came in another order
            injected[f"{name}: {point[0]}"] += 1
            refused[name] += ran.exit_code != 0
            what = f"{name}: {point[0]} {point[1]} ({os.strerror(point[2])}) of {ran.hit}"
            failed += [f"{what}: {problem}" for problem in problems]
            for problem in problems:
                print(f"{what}: {problem}", file=sys.stderr, flush=True)
    figures: dict[str, Any] = {
        "faults": injected.total(),
        "ended_with_an_error": dict(refused),
        "by_call": dict(injected),
        "problems": failed,
    }
    return figures, failed


if __name__ == "__main__":
    main()
