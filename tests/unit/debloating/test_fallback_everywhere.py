"""Programs that nobody has load the fallback: slim libraries bring it along."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from slim_example import PRELUDE, called, compile_library, make_slim

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting import dt_auxiliary

LINKED = """
#include <stdio.h>
int far(int), used(int);
int main(void) { printf("%d\\n", used(1)); fflush(stdout); printf("%d\\n", far(7)); }
"""
DLOPENED = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
  for (int i = 0; i < 2; i++) {
    void *library = dlopen(words[1], RTLD_NOW);
    int (*far)(int) = library ? (int (*)(int))dlsym(library, "far") : NULL;
    if (!far) { puts(dlerror()); return 1; }
    printf("%d\\n", far(7));
    dlclose(library);
  }
}
"""
STARTS = """
#define FAR __attribute__((noinline, aligned(4096)))
FAR int used(int x) { return x; }
static volatile int started;
FAR __attribute__((noipa)) int begin(int x) { return x + 3; }
FAR int other(int x) { return x; }
__attribute__((constructor)) FAR void used_start(void) { started = begin(4); }
int used_started(void) { return started; }
FAR int last(int x) { return x; }
"""
MANY = """
#define FAR __attribute__((noinline, aligned(4096)))
static int *at = (int *)&at;
FAR int used(int x) { return x + !at; }
FAR int far_1(int x) { return x + 1; }
FAR int far_2(int x) { return x + 2; }
FAR int last(int x) { return x; }
"""


def compile_program(path: Path, source: str, *options: str) -> Path:
    command = ["gcc", "-x", "c", "-", "-o", str(path), *options]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def run(
    command: list[str | Path], record: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {"TRIMTAB_FALLBACK_RECORD": str(record), **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("options", [["-S"], ["-I", "-S"], ["-E", "-s", "-S"]])
def test_python_without_site_packages(slim: Path, record: Path, options: list[str]) -> None:
    program = PRELUDE.replace("sys.prefix", repr(str(slim))) + "print(mine.far(7), mine.near(8))"
    python: list[str | Path] = [slim / "bin/python", *options, "-c", program]
    done = run(python, record)
    assert (done.returncode, done.stdout, done.stderr) == (0, "9 3\n", "")
    assert called(record) == ["far"]
    strict = run(python, record, TRIMTAB_FALLBACK="strict")
    assert strict.returncode == 70 and strict.stderr.startswith("trimtab: far in libmine.so")


def test_a_child_with_no_variables_at_all(slim: Path) -> None:
    program = f"import ctypes; print(ctypes.CDLL('{slim}/lib/libmine.so').work_2(7))"
    command = ["env", "-i", slim / "bin/python", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "30\n")
    assert "work_2" in called(slim / "trimtab/fallback.jsonl")


def test_a_native_program_of_the_environment(
    build: Callable[..., Path], prefix: Path, record: Path, tmp_path: Path
) -> None:
    environment = build()
    link = [f"-L{prefix}/lib", "-lmine", "-Wl,-rpath,$ORIGIN/../lib"]
    program = compile_program(environment / "bin/app", LINKED, *link)
    assert run([program], record).stdout == "4\n9\n"
    assert called(record) == ["far"]
    record.unlink()
    moved = environment.rename(tmp_path / "moved")
    assert run([moved / "bin/app"], record).stdout == "4\n9\n"
    assert called(record) == ["far"]


def test_a_program_that_embeds_a_slim_library_and_lets_it_go(
    slim: Path, record: Path, tmp_path: Path
) -> None:
    program = compile_program(tmp_path / "app", DLOPENED)
    library = slim / "lib/libmine.so"
    assert run([program, library], record).stdout == "9\n9\n"
    linked_to = tmp_path / "libmine.so"
    linked_to.symlink_to(library)  # from here nothing is found, and the library loads all the same
    loads = f"import ctypes; print(ctypes.CDLL('{linked_to}').used(1))"
    assert run([sys.executable, "-S", "-c", loads], record).stdout == "4\n"


def test_two_slim_environments_in_one_program(
    slim: Path, build: Callable[..., Path], record: Path, tmp_path: Path
) -> None:
    """Both have a fallback; the program's own handler comes after these."""
    others = build()
    program = f"""
import ctypes, faulthandler
first = ctypes.CDLL('{slim}/lib/libmine.so'); print(first.far(7))
second = ctypes.CDLL('{others}/lib/libthrows.so'); print(second.other(7))
faulthandler.enable()
print(first.outer(6), second.caught(2), flush=True)
first.crash(0)
"""
    done = run([sys.executable, "-S", "-c", program], record)
    assert (done.returncode, done.stdout) == (-11, "9\n8\n8 2\n")
    assert done.stderr.count("Fatal Python error: Segmentation fault") == 1


def test_it_starts_before_the_constructors_of_the_library(record: Path, tmp_path: Path) -> None:
    (tmp_path / "origin/lib").mkdir(parents=True)
    library = compile_library(tmp_path / "origin/lib/libstarts.so", STARTS)
    environment = make_slim(tmp_path / "origin", tmp_path)
    link = [f"-L{library.parent}", "-lstarts", "-Wl,-rpath,$ORIGIN/../lib"]
    source = "int used_started(void); int main(void) { return used_started(); }"
    program = compile_program(environment / "bin/app", source, *link)
    assert run([program], record).returncode == 7
    assert called(record) == ["begin"]


@pytest.mark.parametrize("options", [(), ("-Wl,--spare-dynamic-tags=1",)])
def test_tools_read_the_library_as_before(
    tmp_path: Path, record: Path, options: tuple[str, ...]
) -> None:
    """A library without spare entries gives up a hint."""
    original = tmp_path / "origin/lib/libmine.so"
    original.parent.mkdir(parents=True)
    subprocess.run(
        ["gcc", "-x", "c", "-", "-O1", "-shared", "-fPIC", *options, "-o", original],
        input=MANY,
        text=True,
        check=True,
    )
    slim = make_slim(tmp_path / "origin", tmp_path) / "lib/libmine.so"
    before, after = read_elf(original), read_elf(slim)
    assert (after.needed, after.soname, after.build_id) == (
        before.needed, before.soname, before.build_id,
    )  # fmt: skip
    shown = subprocess.run(["readelf", "-dW", slim], capture_output=True, text=True, check=True)
    assert shown.stdout.count("(AUXILIARY)") == 1
    assert ("(RELACOUNT)" in shown.stdout) == (not options)
    user = "int far_2(int); int main(void) { return far_2(4); }"
    program = compile_program(
        tmp_path / "app", user, f"-L{slim.parent}", "-lmine", f"-Wl,-rpath,{slim.parent}"
    )
    done = run([program], record)
    assert (done.returncode, called(record)) == (6, ["far_2"])


def test_a_table_elsewhere_is_no_room(slim: Path, prefix: Path, tmp_path: Path) -> None:
    """Only the first page is where it was: what `patchelf` moved to the end may be other bytes."""
    library = Path(shutil.copy(slim / "lib/libmine.so", tmp_path / "libmine.so"))
    before = library.read_bytes()
    original = replace(read_elf(prefix / "lib/libmine.so"), program_header_offset=8192)
    assert not dt_auxiliary.add_dt_auxiliary(library, original, "$ORIGIN/other")
    assert library.read_bytes() == before


def test_without_the_fallback_or_on_an_old_system_libraries_load_as_before(
    prefix: Path, record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).used(1))"
    environment = make_slim(prefix, tmp_path)
    (environment / "trimtab/libtrimtab-fallback.so").unlink()
    command = [sys.executable, "-S", "-c", loads, environment / "lib/libmine.so"]
    assert run(command, record).stdout == "4\n"
    shutil.rmtree(environment)
    monkeypatch.setattr(dt_auxiliary, "_SOUND_SINCE", (99, 0))
    old = make_slim(prefix, tmp_path) / "lib/libmine.so"
    shown = subprocess.run(["readelf", "-dW", old], capture_output=True, text=True, check=True)
    assert "(AUXILIARY)" not in shown.stdout
    assert os.fsencode("$ORIGIN") not in old.read_bytes()
