"""Libraries whose thread-local storage needs a fixed place load under the function tracer too."""

import subprocess
from pathlib import Path

import pytest

from trimtab.profiling.tracing.functions import read_function_trace, tracing_environment

# As jemalloc and other allocators have it.
LIBRARY = """
static __thread char room[3000] __attribute__((tls_model("initial-exec")));
char *used(void) { return room; }
"""
PROGRAM = """
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
char *used(void);
int main(int count, char **words) {
  char *none[] = {NULL}, *again[] = {words[0], NULL};
  used()[0] = 1;
  if (count > 1) execve(words[0], again, none);
  puts(getenv("GLIBC_TUNABLES"));
  return 0;
}
"""


@pytest.mark.parametrize("given", ["", "glibc.malloc.check=0"])
def test_they_load_and_what_the_user_tunes_stays(tmp_path: Path, given: str) -> None:
    for name, source, options in (
        ("libp.so", LIBRARY, ["-shared", "-fPIC", "-Wl,-soname,libp.so"]),
        ("p", PROGRAM, [f"-L{tmp_path}", "-lp", "-Wl,-rpath,$ORIGIN"]),
    ):
        command = ["gcc", "-x", "c", "-", "-x", "none", "-o", tmp_path / name, *options]
        subprocess.run(command, input=source, text=True, check=True)
    own = {"GLIBC_TUNABLES": given} if given else {}
    environment = tracing_environment(own, tmp_path / "record")
    ended = subprocess.run(  # which becomes itself without any variable
        [tmp_path / "p", "again"], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip().endswith(given) and given in ended.stdout
    trace = read_function_trace(tmp_path / "record")
    assert trace.incomplete_because == [] and len(trace.processes) == 2
    assert [each.traced for each in trace.libraries if each.path.endswith("libp.so")] == [True]
