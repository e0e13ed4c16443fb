"""What a workload in a root uses: libraries by their paths outside, files by those inside."""

import os
import shutil
import subprocess
from pathlib import Path, PurePath

import pytest
from machine_root import root_of_programs

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.errors import UserError
from trimtab.processes.root import RootFileSystem
from trimtab.profiling import usage
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_program
from trimtab.profiling.runs.from_workload import program_in
from trimtab.records.usage import Usage

LIBRARY = "int used(int x) { return x + 1; }\nint unused(int x) { return x + 2; }\n"
PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int used(int), unused(int);
int main(int count, char **words) {
  char text[8] = "";
  int data = open("/etc/data", O_RDONLY);
  if (data < 0 || read(data, text, 7) < 1) return 1;
  if (!access("/etc/absent", F_OK)) return unused(1);
  if (close(open("/var/made", O_WRONLY | O_CREAT | O_EXCL, 0600))) return 2;
  for (int i = 0; i < 300; i++) {
    char name[32];
    sprintf(name, "/many/%d", i);
    access(name, F_OK);
  }
  if (count > 1) close(open(words[1], O_WRONLY | O_CREAT, 0600));
  printf("%d %s", used(1), text);
  return 0;
}
"""


def compiled(source: str, out: Path, *options: str | Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-O1", "-x", "c", "-", "-x", "none", "-o", out, *options]
    subprocess.run(command, input=source, text=True, check=True)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A root with a program of ours, its library, and a script that runs it."""
    top = tmp_path / "root"
    root_of_programs(top, ["sh", "cp", "mv", "rm"])
    library = top / "app/lib/libp.so"
    compiled(LIBRARY, library, "-shared", "-fPIC", "-Wl,-soname,libp.so")
    compiled(PROGRAM, top / "app/bin/p", library, "-Wl,-rpath,$ORIGIN/../lib")
    (top / "app/run").write_text('#!/bin/sh\n/current/bin/p "$@"\n')
    (top / "app/run").chmod(0o755)
    (top / "current").symlink_to("/app")
    (top / "var").mkdir()
    (top / "etc/data").write_text("data\n")
    return top


def traced(top: Path, runs: Path, *command: str, traced_runs: int = 2) -> Usage:
    target = TargetConfig("native_folder", str(top))
    workload = Workload("rooted", list(command), target=target, workdir="/app", ends_with="0")
    program = program_in(RootFileSystem(top), workload, runs / "output")
    try:
        usage, _ = trace_program(workload, program, NO_POWER_MODEL, runs, traced_runs)
    except UserError as error:
        if "namespace" in str(error):
            pytest.skip(f"no root can be entered here: {error}")
        raise
    usage.write(runs / "usage.json")
    return Usage.read(runs / "usage.json")


def test_usage_of_a_script_in_a_root(top: Path, tmp_path: Path) -> None:
    usage = traced(top, tmp_path / "runs", "./run", "{output}/made")
    assert (usage.complete, usage.incomplete_because, usage.files_complete) == (True, [], True)
    assert (tmp_path / "runs/output/made").is_file()
    assert not (top / "var/made").exists()
    (mine,) = [each for each in usage.libraries if each.path.endswith("libp.so")]
    assert mine.path == str(top / "app/lib/libp.so") and mine.traced and mine.sha256
    elf = read_elf(Path(mine.path))
    names, functions = function_names(elf), read_functions(elf)
    ran = {names.of(int(start)) for start in functions.start if start in mine.used_functions}
    assert "used" in ran and "unused" not in ran
    assert all(Path(each.path).is_relative_to(top) for each in usage.libraries)
    uses = {file.path: set(file.uses) for file in usage.files}
    assert "map_execute" in uses["/app/lib/libp.so"] and "execute" in uses["/app/run"]
    assert uses["/etc/data"] == {"read"} and "missing" in uses["/etc/absent"]
    assert uses["/current"] == {"link"} and "write" in uses["/var/made"]
    assert not [path for path in uses if path.startswith(str(top))]
    assert {process.executable for process in usage.processes} >= {"/app/bin/p"}
    assert usage.own_calls == []


def test_of_very_many_files_those_of_the_root_are_listed_first(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = traced(top, tmp_path / "whole", "./run", traced_runs=1)
    inside = [file for file in whole.files if not file.path.startswith(("/proc/", "/dev/"))]
    per_entry = max(len(f.path) + len(f.real_path or "None") + 100 for f in whole.files)
    monkeypatch.setattr(usage, "_MOST_LISTED_CHARACTERS", per_entry * len(whole.files))
    assert traced(top, tmp_path / "enough", "./run", traced_runs=1).files_complete
    monkeypatch.setattr(usage, "_MOST_LISTED_CHARACTERS", 1 << 13)
    cut = traced(top, tmp_path / "cut", "./run", traced_runs=1)
    assert cut.complete and not cut.files_complete and len(cut.files) < len(inside)
    assert "/app/lib/libp.so" in {file.path for file in cut.files}


@pytest.mark.parametrize("kind", ["another C library", "static"])
def test_where_functions_cannot_be_traced_libraries_stay_whole(
    top: Path, tmp_path: Path, kind: str
) -> None:
    """As with musl, which another name of the dynamic linker stands for here."""
    if kind == "static":
        source = PROGRAM + LIBRARY
        compiled(source, top / "app/bin/p", "-static")
        why = "all of its programs are static or of Go"
    else:
        linker = "/lib/ld-musl-x86_64.so.1"
        real = RootFileSystem(top).find(PurePath("/lib64/ld-linux-x86-64.so.2"))
        assert real is not None
        shutil.copy2(real, top / linker.strip("/"))
        compiled(
            PROGRAM, top / "app/bin/p", top / "app/lib/libp.so", "-Wl,-rpath,$ORIGIN/../lib",
            f"-Wl,--dynamic-linker={linker}",
        )  # fmt: skip
        why = f"the C library of /app/bin/p is not glibc: {linker} loads it"
    usage = traced(top, tmp_path / "runs", "bin/p")
    assert usage.complete and usage.files_complete and not usage.kernels_traced
    assert why in usage.notes[-1]
    loaded = {each.path for each in usage.libraries}
    assert (str(top / "app/lib/libp.so") in loaded) == (kind != "static")
    makes_calls = "p" if kind == "static" else "ld-musl-x86_64.so.1"
    assert [PurePath(path).name for path in usage.own_calls] == [makes_calls]
    for library in usage.libraries:
        assert (library.traced, library.not_traced_because) == (False, why)
    assert "missing" in next(f.uses for f in usage.files if f.path == "/etc/absent")


def test_what_a_static_program_starts_is_traced(top: Path, tmp_path: Path) -> None:
    """As a static init of a container."""
    source = "#include <unistd.h>\nint main(int c, char **w) { return execv(w[1], w + 1); }"
    compiled(source, top / "app/init", "-static")
    usage = traced(top, tmp_path / "runs", "./init", "/app/run", traced_runs=1)
    assert usage.complete, usage.incomplete_because
    (mine,) = [each for each in usage.libraries if each.path.endswith("libp.so")]
    assert mine.traced and mine.functions_used > 0


def test_programs_that_a_run_makes_anew_are_none_of_the_root(top: Path, tmp_path: Path) -> None:
    """As what a compiler wrote, which is another file in each run."""
    again = "cp /app/bin/p /lib.new && mv /lib.new /app/bin/q && /app/bin/q"
    (top / "app/run").write_text(f"#!/bin/sh\n{again} && rm /var/made && {again}\n")
    usage = traced(top, tmp_path / "runs", "/app/run")
    assert usage.complete, usage.incomplete_because
    reasons = {Path(each.path).name: each.not_traced_because for each in usage.libraries}
    assert "replaced" not in reasons["libp.so"]


# As a web server's master and its workers.
WORKER = """
#include <dlfcn.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  int state = 1;
  if (!fork()) {
    if (setgroups(0, 0) || setgid(33) || setuid(33)) _exit(3);
    int (*used)(int) = dlsym(dlopen("/app/lib/libp.so", RTLD_NOW), "used");
    _exit(fork() ? wait(&state), state != 0 : used(-1));
  }
  wait(&state);
  return state != 0;
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_workers_that_gave_up_root_are_traced(top: Path, tmp_path: Path) -> None:
    compiled(WORKER, top / "app/bin/master")
    usage = traced(top, tmp_path / "runs", "/app/bin/master")
    assert usage.complete, usage.incomplete_because
    (mine,) = [each for each in usage.libraries if each.path.endswith("libp.so")]
    assert mine.traced and mine.functions_used > 0
    assert len(usage.processes) == 6  # of two runs


def test_a_program_that_the_root_lacks(top: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"command: gcc was not found as a program .* in the root"):
        traced(top, tmp_path / "runs", "gcc")


# Go's linker writes this note, and its programs end by a system call of their own.
LIKE_GO = r"""
#include <sys/syscall.h>
#include <unistd.h>
__asm__(".pushsection .note.go.buildid, \"a\", @note; .long 4, 8, 4; .ascii \"Go\\0\\0\"\n"
        ".quad 1; .popsection");
int used(int);
int main(void) { __asm__ volatile("syscall" :: "a"(SYS_exit_group), "D"(used(-1))); return 1; }
"""


def test_programs_of_go_are_left_alone(top: Path, tmp_path: Path) -> None:
    """Their ends are no kills, and the libraries that they load are not traced by them."""
    library = top / "app/lib/libp.so"
    compiled(LIKE_GO, top / "app/bin/go", library, "-Wl,-rpath,$ORIGIN/../lib")
    (top / "app/both").write_text("#!/bin/sh\n/app/bin/go && /current/bin/p\n")
    (top / "app/both").chmod(0o755)
    usage = traced(top, tmp_path / "runs", "/app/both")
    assert usage.complete
    assert not [note for note in usage.notes if "killed" in note]
    of_go = traced(top, tmp_path / "alone", "/app/bin/go")
    assert of_go.complete
    assert [note for note in of_go.notes if "static or of Go" in note]
    assert not any(library.traced for library in of_go.libraries)
