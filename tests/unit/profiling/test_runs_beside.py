"""What health checks and failing interpreters use in a root counts as the program's own use."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from machine_root import root_of_programs

from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.config.groups.workload import ServerConfig, TargetConfig, Workload
from trimtab.errors import UserError
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.failing import ENDS, SCRIPT
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_program
from trimtab.profiling.runs.from_workload import program_in
from trimtab.records.usage import Usage

LIBRARY = """
int of_server(int x) { return x + 1; }
int of_check(int x) { return x + 2; }
int of_failure(int x) { return x + 3; }
int of_nobody(int x) { return x + 4; }
"""
SERVER = """
#include <signal.h>
#include <stdio.h>
int of_server(int);
int main(int count, char **words) {
  int got;
  sigset_t stop;
  FILE *state = fopen("/run/state", "w");
  if (!state || fputs("serves", state) < 0 || fclose(state)) return 1;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, 0);
  puts("ready"), fflush(stdout);
  if (count == 1) sigwait(&stop, &got);
  return of_server(-1);
}
"""
CHECK = """
#include <stdio.h>
#include <unistd.h>
int of_check(int);
int main(void) {
  access("/srv/named-by-check", R_OK);
  return !fopen("/run/state", "r") ? 3 : of_check(-2);
}
"""
INTERPRETER = """
#include <string.h>
#include <unistd.h>
int of_server(int), of_failure(int);
int main(int count, char **words) {
  if (count == 1) return of_server(-1);
  access("/srv/named-by-failure", R_OK);
  return strcmp(words[2], "error") ? 0 : of_failure(words[3] ? -2 : 9);
}
"""


def program(source: str, root: Path, name: str) -> None:
    library = root / "usr/lib/libown.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        shared = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libown.so", "-x", "c", "-", "-o", library]
        subprocess.run(shared, input=LIBRARY, text=True, check=True)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    options = ["-x", "c", "-", "-x", "none", library, "-Wl,-rpath,/usr/lib", "-o", root / name]
    subprocess.run(["gcc", "-O1", *options], input=source, text=True, check=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root_of_programs(root, ["sh"])
    for name in ("srv", "run"):
        (root / name).mkdir()
    for name in ("named-by-check", "named-by-failure"):
        (root / "srv" / name).touch()
    program(SERVER, root, "srv/server")
    program(CHECK, root, "srv/check")
    return root


def traced(root: Path, *command: str, checks: tuple[str, ...] = (), serves: bool = False) -> Usage:
    folder = root.parent / "runs"
    server = ServerConfig(drive=["true"], ready="ready") if serves else ServerConfig()
    workload = Workload(
        "rooted", list(command), target=TargetConfig("root_folder", str(root)), server=server,
        health_checks=[check.split() for check in checks],
    )  # fmt: skip
    try:
        run = program_in(RootFileSystem(root), workload, folder / "output")
        return trace_program(workload, run, NO_POWER_MODEL, folder, 1)[0]
    except UserError as error:
        if "namespace" in str(error):
            pytest.skip(f"no root can be entered here: {error}")
        raise


def ran_in(usage: Usage) -> set[str]:
    """Return the names of the functions of the root's library that count as used."""
    (own,) = [each for each in usage.libraries if each.path.endswith("libown.so")]
    names = function_names(read_elf(Path(own.path)))
    names_used = {names.of(each) or "" for each in own.used_functions}
    return {name for name in names_used if name.startswith("of_")}


def used_in(usage: Usage) -> dict[str, list[str]]:
    return {file.path: file.uses for file in usage.files if file.path.startswith("/srv/")}


def test_a_check_runs_among_the_files_of_a_server(root: Path) -> None:
    usage = traced(root, "/srv/server", checks=("/srv/check",), serves=True)
    assert usage.complete, usage.incomplete_because
    assert not [note for note in usage.notes if "health check" in note]
    assert ran_in(usage) == {"of_server", "of_check"}
    assert "execute" in used_in(usage)["/srv/check"] and "/srv/named-by-check" in used_in(usage)
    assert not any(file.path.startswith(str(root.parent)) for file in usage.files)


def test_a_check_that_fails_is_told_and_counts(root: Path) -> None:
    usage = traced(root, "/srv/server", "once", checks=("/srv/check", "/srv/absent"))
    assert usage.complete, usage.incomplete_because
    assert [note.partition(", so that")[0] for note in usage.notes if "health check" in note] == [
        "the health check /srv/check ended with exit code 3",
        "the health check /srv/absent ended with exit code 127",
    ]
    assert ran_in(usage) == {"of_server"} and "/srv/named-by-check" in used_in(usage)


def test_an_interpreter_is_run_until_it_fails(root: Path) -> None:
    program(INTERPRETER, root, "opt/python3.99")
    (root / "srv/python").symlink_to("/opt/python3.99")
    (root / "srv/threading.py").touch()
    text = "/srv/python && read line < /srv/threading.py || exit 0"
    usage = traced(root, "/bin/sh", "-c", text)
    assert usage.complete, usage.incomplete_because
    assert ran_in(usage) == {"of_server", "of_failure"}
    assert "/srv/named-by-failure" in used_in(usage)
    assert not any("fails.py" in file.path for file in usage.files)


def test_another_program_is_not(root: Path) -> None:
    program(INTERPRETER, root, "opt/ruby")
    assert ran_in(traced(root, "/opt/ruby")) == {"of_server"}


def test_the_script_fails_in_each_way(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(SCRIPT)
    ran = [
        subprocess.run(
            [sys.executable, script, end, "logging", "threading"], capture_output=True, text=True
        )
        for end in ENDS
    ]
    assert [each.returncode for each in ran] == [1, 1, -signal.SIGINT]
    error, left, interrupted = (each.stderr for each in ran)
    assert error.endswith('raise ValueError("of it") from error\nValueError: of it\n')
    for told in ("ZeroDivisionError", "SyntaxError", "RecursionError", "ModuleNotFoundError",
                 "Exception ignored in: <function Deleted", "UserWarning: message", "in thread",
                 "ERROR:root:message 1", "direct cause of"):  # fmt: skip
        assert told in error
    assert left == "message\n" and interrupted.endswith("KeyboardInterrupt\n")
