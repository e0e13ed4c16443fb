"""Whose calls on files a run made: glibc's, or those of code that makes its own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.native import native_path
from trimtab.profiling.tracing.files import FileTrace, read_file_trace

OPENS = """
#include <fcntl.h>
int main(int count, char **words) { return open(words[count - 1], O_RDONLY) < 0; }
"""
# With an instruction of its own, in a function that others may call.
LOOKS_ITSELF = """
#include <stdio.h>
#include <sys/syscall.h>
long look(long number, const char *path, void *to) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(path), "S"(to)
                     : "rcx", "r11", "memory");
    return result;
}
"""
MAIN = "char buffer[256];\nint main(void) { return look(%s, %s, buffer) != 0; }\n"
LOADS = """
long look(long number, const char *path, void *to);
char buffer[256];
int main(int count, char **words) { return look(4, words[count - 1], buffer) != 0; }
"""
# mov $4, %eax; syscall; ret: stat(2), in memory that is of no file.
COMPILES = """
#include <string.h>
#include <sys/mman.h>
char buffer[256];
int main(int count, char **words) {
    static const unsigned char code[] = {0xb8, 4, 0, 0, 0, 0x0f, 0x05, 0xc3};
    void *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    mprotect(at, 4096, PROT_READ | PROT_EXEC);
    return ((long (*)(const char *, void *))at)(words[count - 1], buffer) != 0;
}
"""
# A child, which executes another program.
FORKS = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    int status;
    if (!fork()) return execv(words[1], words + 1), 99;
    wait(&status);
    return count < 2 || status;
}
"""

Compiled = Callable[..., Path]


@pytest.fixture
def own_calls(tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    def own_calls(*command: str | Path) -> tuple[str, ...]:
        tracer, record = native_path("trimtab-file-tracer"), tmp_path / "record"
        subprocess.run([tracer, record, "--", *command], check=True, timeout=60)
        trace: FileTrace = read_file_trace(record)
        assert trace.complete, trace.incomplete_because
        return trace.own_calls

    return own_calls


def test_a_program_of_glibc_makes_none(
    own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    script = (
        "import os, subprocess, threading\n"
        "thread = threading.Thread(target=os.listdir); thread.start(); thread.join()\n"
        "subprocess.run(['sh', '-c', 'ls | cat'], check=True)\n"
        "os.path.realpath('/bin/sh')\n"
    )
    assert own_calls(sys.executable, "-c", script) == ()
    assert own_calls(compiled(FORKS), compiled(OPENS), "/etc") == ()


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie"]])
def test_a_static_program_makes_its_own(
    flags: list[str], own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    program, others = compiled(OPENS, *flags), compiled(FORKS)
    assert own_calls(program, "/etc") == (str(program),)
    assert own_calls(others, program, "/etc") == (str(program),)
    assert own_calls("sh", "-c", f"ls /; {program} /etc; ls /") == (str(program),)


def test_what_a_static_program_executes_is_its_own_matter(
    own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    starter = compiled(FORKS, "-static")
    assert own_calls(starter, compiled(OPENS), "/etc") == (str(starter),)


def test_an_instruction_of_the_program_s_own(
    own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    program = compiled(LOOKS_ITSELF + MAIN % ("SYS_stat", '"/etc"'))
    assert own_calls(program) == (str(program),)


@pytest.mark.parametrize("call", [("SYS_stat", '"/proc/self/maps"'), ("SYS_dup", "1")])
def test_calls_on_what_never_goes_are_no_matter(
    call: tuple[str, str], own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    source = LOOKS_ITSELF + (MAIN % call).replace("!= 0", "< 0")
    assert own_calls(compiled(source, "-Wno-int-conversion")) == ()


def test_a_library_is_named_and_not_its_program(
    own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    library = compiled(LOOKS_ITSELF, "-shared", "-fPIC")
    program = compiled(LOADS, str(library))
    assert own_calls(program, "/etc") == (str(library),)


def test_code_that_is_of_no_file_is_its_program_s(
    own_calls: Callable[..., tuple[str, ...]], compiled: Compiled
) -> None:
    program = compiled(COMPILES)
    assert own_calls(program, "/etc") == (str(program),)


def test_of_very_many_the_first_are_told(tmp_path: Path) -> None:
    lines = [f'{{"own_calls": "/a{number:04}"}}\n' for number in (*range(1500), 1)]
    (tmp_path / "record").write_text("".join(reversed(lines)))
    found = read_file_trace(tmp_path / "record").own_calls
    assert found == tuple(f"/a{number:04}" for number in range(1000))
