"""The function tracer on real programs whose functions are known."""

import os
import re
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from trimtab.errors import TrimtabError
from trimtab.profiling.tracing.function_records import read_records
from trimtab.profiling.tracing.functions import (
    FunctionTrace,
    TracedLibrary,
    read_function_trace,
    tracing_environment,
)

LIBRARY = r"""
#include <stdlib.h>
__attribute__((noinline)) int used(int x) { return x * 3 + 1; }
__attribute__((noinline)) int unused(int x) { return x * 5 + 2; }
__attribute__((noinline)) int in_child(int x) { return x * 7 + 3; }
__attribute__((noinline)) int in_thread(int x) { return x * 11 + 4; }
__attribute__((noinline)) int in_handler(int x) { return x * 13 + 5; }
static int chosen(int x) { return x + 17; }
static int (*resolve(void))(int) { return chosen; }
int by_ifunc(int x) __attribute__((ifunc("resolve")));
static volatile int constructed;
__attribute__((constructor)) static void at_load(void) { constructed = 1; }
__attribute__((destructor)) static void at_unload(void) { constructed = 2; }
__attribute__((noinline, cold)) void fails(int x) { if (x) abort(); }
"""


def compile_c(source: str, output: Path, *options: str, compiler: str = "gcc") -> Path:
    code = output.with_suffix(".cpp" if compiler == "g++" else ".c")
    code.write_text(source)
    subprocess.run([compiler, "-O2", "-g", "-o", output, code, *options], check=True)
    return output


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(LIBRARY, tmp_path_factory.mktemp("library") / "libfive.so", "-shared", "-fPIC")


def program(folder: Path, library: Path, main: str, *options: str) -> Path:
    source = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int used(int), unused(int), in_child(int), in_thread(int), in_handler(int), by_ifunc(int);
extern char **environ;
{main}
"""
    return compile_c(
        source, folder / "program", f"-L{library.parent}", "-lfive",
        f"-Wl,-rpath,{library.parent}", "-pthread", *options,
    )  # fmt: skip


def run(command: list[str | Path], record: Path, **options: object) -> int:
    environment = tracing_environment(os.environ, record)
    return subprocess.run(command, env=environment, timeout=60, **options).returncode  # type: ignore[call-overload, no-any-return]


def names_used(library: TracedLibrary) -> set[str]:
    """The used functions by `nm`, an independent reader of the symbol table."""
    listing = subprocess.run(
        ["nm", "--defined-only", library.path], check=True, capture_output=True, text=True
    ).stdout
    addresses = set(library.used_functions.tolist())
    rows = [line.split() for line in listing.splitlines()]
    return {name for address, kind, name in rows if int(address, 16) in addresses}


def of(trace: FunctionTrace, path: Path) -> TracedLibrary:
    return next(library for library in trace.libraries if library.path == str(path))


def five(tmp_path: Path, library: Path, main: str, *options: str, status: int = 0) -> set[str]:
    """Run a C program under the tracer and name the functions of libfive.so that it used."""
    assert run([program(tmp_path, library, main, *options)], tmp_path / "record") == status
    trace = read_function_trace(tmp_path / "record")
    assert trace.incomplete_because == []
    listed = {"used", "unused", "in_child", "in_thread", "in_handler", "resolve", "chosen"}
    return names_used(of(trace, library)) & (listed | {"at_load", "at_unload", "fails"})


ALWAYS = {"at_load", "at_unload", "resolve"}


def test_only_called_functions_are_used(tmp_path: Path, library: Path) -> None:
    main = "int main(void) { return used(2) == 7 ? 0 : 1; }"
    assert five(tmp_path, library, main) == ALWAYS - {"resolve"} | {"used"}


def test_an_ifunc_uses_its_resolver_and_its_choice(tmp_path: Path, library: Path) -> None:
    main = "int main(void) { return by_ifunc(1) == 18 ? 0 : 1; }"
    assert five(tmp_path, library, main, "-Wl,-z,now") == ALWAYS | {"chosen"}


def test_threads_and_forked_children(tmp_path: Path, library: Path) -> None:
    main = """
static void *thread(void *x) { return (void *)(long)in_thread(1); }
int main(void) {
  pthread_t t; void *result; int status;
  pthread_create(&t, 0, thread, 0); pthread_join(t, &result);
  if (!fork()) _exit(in_child(1) == 10 ? 0 : 1);
  wait(&status);
  return (long)result == 15 ? status : 1;
}"""
    assert five(tmp_path, library, main) >= {"in_thread", "in_child"}
    ends = sorted(process.end for process in read_records(tmp_path / "record").processes)
    assert ends == ["exit", "exit"]


def test_functions_marked_by_a_parent_are_restored_in_its_child(
    tmp_path: Path, library: Path
) -> None:
    """After a fork both hold traps of their own, but mark in the same record."""
    main = """
int main(void) {
  int in[2], out[2], status; char byte;
  pipe(in); pipe(out);
  if (!fork()) { read(in[0], &byte, 1); _exit(used(2) == 7 ? 0 : 1); }
  if (used(2) != 7) return 2;
  write(in[1], "x", 1);
  wait(&status);
  return status;
}"""
    assert "used" in five(tmp_path, library, main)


def test_a_program_with_every_signal_blocked(tmp_path: Path, library: Path) -> None:
    main = """
int main(void) {
  sigset_t all, seen; sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, 0);
  int result = used(2);
  sigprocmask(SIG_SETMASK, 0, &seen);
  return result == 7 && sigismember(&seen, SIGTRAP) ? 0 : 1;
}"""
    assert "used" in five(tmp_path, library, main)


def test_first_use_inside_a_signal_handler(tmp_path: Path, library: Path) -> None:
    main = """
static volatile int result;
static void handler(int n) { result = in_handler(1); }
int main(void) {
  struct sigaction a = {.sa_handler = handler};
  sigfillset(&a.sa_mask);
  sigaction(SIGUSR1, &a, 0);
  raise(SIGUSR1);
  return result == 18 ? 0 : 1;
}"""
    assert "in_handler" in five(tmp_path, library, main)


def test_first_uses_in_a_handler_that_interrupts_first_uses(tmp_path: Path, library: Path) -> None:
    """A signal may come while a function is being marked; its handler has to find traps open."""
    functions = "".join(f"F(m{i}) F(h{i})\n" for i in range(800))
    names = {way: ",".join(f"{way}{i}" for i in range(800)) for way in "mh"}
    main = f"""
#include <sys/time.h>
#define F(name) static __attribute__((noinline)) int name(int x) {{ return x * __LINE__ + 3; }}
{functions}
static int (*volatile in_main[])(int) = {{{names["m"]}}};
static int (*volatile handled[])(int) = {{{names["h"]}}};
static volatile int next, sum;
static void handler(int n) {{ if (next < 800) sum += handled[next++](n); }}
int main(void) {{
  struct sigaction a = {{.sa_handler = handler}};
  struct itimerval every = {{{{0, 20}}, {{0, 20}}}};
  sigaction(SIGALRM, &a, 0); setitimer(ITIMER_REAL, &every, 0);
  for (int i = 0; i < 800; i++) sum += in_main[i](i);
  return 0;
}}"""
    assert run([program(tmp_path, library, main)], tmp_path / "record") == 0
    assert read_function_trace(tmp_path / "record").incomplete_because == []


def test_a_program_that_handles_traps_of_its_own(tmp_path: Path, library: Path) -> None:
    """Its handler sees its own int3 and raise(), and none of ours."""
    main = """
static volatile int traps;
static void handler(int n, siginfo_t *i, void *c) { traps++; used(1); }
int main(void) {
  struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, now;
  sigaction(SIGTRAP, &a, 0);
  sigaction(SIGTRAP, 0, &now);
  __asm__ volatile("int3");
  raise(SIGTRAP);
  in_thread(1);
  sigset_t trap; sigemptyset(&trap); sigaddset(&trap, SIGTRAP);
  sigprocmask(SIG_BLOCK, &trap, 0);
  raise(SIGTRAP);
  int while_blocked = traps;
  sigprocmask(SIG_UNBLOCK, &trap, 0);
  return now.sa_sigaction == handler && while_blocked == 2 && traps == 3 ? 0 : 1;
}"""
    assert five(tmp_path, library, main) >= {"used", "in_thread"}


@pytest.mark.parametrize("how", ['__asm__ volatile("int3")', "raise(SIGTRAP)"])
def test_a_trap_that_nobody_handles_ends_the_program(
    tmp_path: Path, library: Path, how: str
) -> None:
    binary = program(tmp_path, library, f"int main(void) {{ used(1); {how}; return 0; }}")
    assert run([binary], tmp_path / "record") == -signal.SIGTRAP
    trace = read_function_trace(tmp_path / "record")
    assert [process.end for process in trace.processes] == ["killed"]
    assert "used" in names_used(of(trace, library))


def test_a_sigkilled_worker_loses_nothing(tmp_path: Path, library: Path) -> None:
    main = """
int main(void) {
  int ready[2], status; char byte;
  pipe(ready);
  pid_t child = fork();
  if (!child) { in_child(1); write(ready[1], "x", 1); for (;;) pause(); }
  read(ready[0], &byte, 1);
  kill(child, SIGKILL);
  wait(&status);
  return 0;
}"""
    assert "in_child" in five(tmp_path, library, main)
    assert len(read_function_trace(tmp_path / "record").killed) == 1


@pytest.mark.parametrize(
    "spawn",
    [
        "if (!vfork()) { execve(a[0], a, none); _exit(9); }",
        "if (!fork()) { execle(a[0], a[0], a[1], a[2], (char *)0, none); _exit(9); }",
        "posix_spawn(&child, a[0], 0, 0, a, none);",
    ],
)
def test_an_exec_with_an_empty_environment_is_traced(
    tmp_path: Path, library: Path, spawn: str
) -> None:
    child = compile_c(
        "int in_child(int); int main(void) { return in_child(1) == 10 ? 0 : 1; }",
        tmp_path / "child", f"-L{library.parent}", "-lfive", f"-Wl,-rpath,{library.parent}",
    )  # fmt: skip
    main = f"""
int main(void) {{
  char *a[] = {{"{child}", "one", "two", 0}}, *none[] = {{0}};
  pid_t child; int status = 0;
  {spawn}
  wait(&status);
  return status ? 1 : 0;
}}"""
    assert "in_child" in five(tmp_path, library, main)


def test_an_exec_that_fails_leaves_the_process_running(tmp_path: Path, library: Path) -> None:
    main = 'int main(void) { execl("/nowhere", "x", (char *)0); return used(2) == 7 ? 0 : 1; }'
    assert "used" in five(tmp_path, library, main)
    assert [p.end for p in read_records(tmp_path / "record").processes] == ["exit"]


def test_an_untraceable_program_makes_the_trace_incomplete(tmp_path: Path, library: Path) -> None:
    """A program for another loader is started; a static one loads no library and is no loss."""
    static = compile_c("int main(void) { return 0; }", tmp_path / "static", "-static")
    loader = tmp_path / "loader"
    compile_c(
        "__asm__(\".global _start\\n_start: mov $60, %eax\\nxor %edi, %edi\\nsyscall\");",
        loader, "-static", "-nostdlib",
    )  # fmt: skip
    foreign = compile_c(
        "int main(void) { return 0; }", tmp_path / "foreign", f"-Wl,--dynamic-linker={loader}"
    )
    ways = ["fork", "vfork", "first"]
    for way, (target, problems) in product(ways, ((static, 0), (foreign, 1))):
        child = "1" if way == "first" else f"!{way}()"
        main = f"""
int main(void) {{
  int status;
  if ({child}) {{ execl("{target}", "x", (char *)0); _exit(9); }}
  wait(&status);
  return status ? 1 : 0;
}}"""
        binary = program(tmp_path, library, main)
        assert run([binary], tmp_path / "record") == 0
        found = read_function_trace(tmp_path / "record").incomplete_because
        assert len(found) == problems
        assert all(str(target) in problem for problem in found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can go on as another user")
def test_a_first_process_that_goes_on_as_another_user_is_missed(tmp_path: Path) -> None:
    """As of setpriv, su and servers: what it becomes may not write to the record."""
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/true"]
    assert run(command, tmp_path / "record") == 0
    [problem] = read_function_trace(tmp_path / "record").incomplete_because
    assert re.search("became /bin/true, which could not be traced: .* as another user", problem)


def test_a_library_opened_closed_and_opened_again(tmp_path: Path, library: Path) -> None:
    binary = compile_c(
        f"""
#include <dlfcn.h>
static int call(const char *name) {{
  void *l = dlopen("{library}", RTLD_NOW);
  int result = ((int (*)(int))dlsym(l, name))(1);
  dlclose(l);
  return result;
}}
int main(void) {{ return call("used") + call("in_child") == 14 ? 0 : 1; }}""",
        tmp_path / "opener", "-ldl",
    )  # fmt: skip
    assert run([binary], tmp_path / "record") == 0
    trace = read_function_trace(tmp_path / "record")
    assert names_used(of(trace, library)) >= {"used", "in_child", "at_load", "at_unload"}
    assert "unused" not in names_used(of(trace, library))


def test_a_function_that_is_first_called_when_its_library_is_finished(
    tmp_path: Path, library: Path
) -> None:
    """At the end of a process the loader closes one library after another, and unmaps none."""
    last = compile_c(
        """
int (*callback)(int);
__attribute__((destructor)) static void finish(void) { if (callback(1) != 4) __builtin_trap(); }
""",
        tmp_path / "last.so", "-shared", "-fPIC",
    )  # fmt: skip
    binary = compile_c(
        f"""
#include <dlfcn.h>
int main(void) {{
  void *first = dlopen("{library}", RTLD_NOW), *last = dlopen("{last}", RTLD_NOW);
  *(void **)dlsym(last, "callback") = dlsym(first, "used");
  return 0;
}}""",
        tmp_path / "opener", "-ldl",
    )  # fmt: skip
    assert run([binary], tmp_path / "record") == 0
    assert "used" in names_used(of(read_function_trace(tmp_path / "record"), library))


def test_exceptions_cold_parts_and_jump_tables_are_entered_in_their_middle(
    tmp_path: Path,
) -> None:
    """Code that is not entered at a function's start: landing pads in cold parts."""
    library = compile_c(
        """
#include <stdexcept>
#include <string>
extern "C" __attribute__((noinline)) void thrower(int x) {
  if (x > 2) throw std::runtime_error("more than " + std::to_string(x));
}
extern "C" __attribute__((noinline)) int catcher(int x) {
  std::string kept(100, 'x');
  try { thrower(x); } catch (const std::exception &e) { return (int)kept.size() + x; }
  return 0;
}""",
        tmp_path / "libthrow.so", "-shared", "-fPIC", compiler="g++",
    )  # fmt: skip
    binary = compile_c(
        "int catcher(int); int main(void) { return catcher(5) == 105 ? 0 : 1; }",
        tmp_path / "catch", f"-L{tmp_path}", "-lthrow", f"-Wl,-rpath,{tmp_path}",
    )  # fmt: skip
    assert run([binary], tmp_path / "record") == 0
    used = names_used(of(read_function_trace(tmp_path / "record"), library))
    assert used >= {"thrower", "catcher", "catcher.cold"}


def test_a_writable_unwind_table_lies_in_another_segment(tmp_path: Path) -> None:
    built = compile_c(LIBRARY, tmp_path / "five.o", "-c", "-fPIC")
    writable = ["objcopy", "--set-section-flags", ".eh_frame=alloc,load,data,contents", built]
    subprocess.run(writable, check=True)
    library = tmp_path / "libfive.so"
    subprocess.run(["gcc", "-shared", "-o", library, built], check=True)
    main = "int main(void) { return used(1) == 0; }"
    assert "used" in five(tmp_path, library, main)


def test_several_runs_are_united(tmp_path: Path, library: Path) -> None:
    """Each run takes one way; what any of them used counts."""
    main = "int main(int n, char **a) { return (n > 1 ? used(1) : in_child(1)) ? 0 : 1; }"
    binary = program(tmp_path, library, main)
    records = [tmp_path / "one", tmp_path / "two"]
    assert run([binary], records[0]) == run([binary, "x"], records[1]) == 0
    together = read_function_trace(*records)
    assert names_used(of(together, library)) >= {"used", "in_child"}
    assert len(together.processes) == 2 and together.incomplete_because == []
    assert "used" not in names_used(of(read_function_trace(records[0]), library))


def test_many_threads_meet_the_same_traps(tmp_path: Path) -> None:
    """200 functions, first entered by eight threads at once, all return what they should."""
    count = 200
    functions = "\n".join(
        f"__attribute__((noinline)) long f{i}(long x) {{ return (x ^ {i}) * {2 * i + 1}; }}"
        for i in range(count)
    )
    table = ", ".join(f"f{i}" for i in range(count))
    library = compile_c(
        f"{functions}\nlong (*const all[])(long) = {{{table}}};",
        tmp_path / "libmany.so", "-shared", "-fPIC",
    )  # fmt: skip
    binary = compile_c(
        f"""
#include <pthread.h>
extern long (*const all[])(long);
static pthread_barrier_t barrier;
static void *thread(void *wrong) {{
  for (long i = 0; i < {count}; i++) {{
    pthread_barrier_wait(&barrier);
    if (all[i](7) != (7 ^ i) * (2 * i + 1)) *(volatile int *)wrong = 1;
  }}
  return 0;
}}
int main(void) {{
  int wrong = 0; pthread_t t[8];
  pthread_barrier_init(&barrier, 0, 8);
  for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, thread, &wrong);
  for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
  return wrong;
}}""",
        tmp_path / "many", f"-L{tmp_path}", "-lmany", f"-Wl,-rpath,{tmp_path}", "-pthread",
    )  # fmt: skip
    assert run([binary], tmp_path / "record") == 0
    used = names_used(of(read_function_trace(tmp_path / "record"), library))
    assert used >= {f"f{i}" for i in range(count)}


PYTHON = """
import multiprocessing, os, signal, subprocess, sys, threading
import {module}
def work(x): return os.getpid()
if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(2) as pool: pool.map(work, range(4))
    subprocess.run([sys.executable, "-c", "import {module}"], check=True, env={{}})
    os.system("true | true")
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_python_workers_shells_and_subprocesses(tmp_path: Path, method: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(PYTHON.format(module="_json", method=method))
    assert run([sys.executable, script], tmp_path / "record") == 0
    trace = read_function_trace(tmp_path / "record")
    assert trace.incomplete_because == []
    assert len(trace.processes) >= 6
    extension = next(each for each in trace.libraries if "_json" in each.path)
    assert extension.traced
    assert 0 < len(extension.used_functions) < extension.functions_total
    libc = next(each for each in trace.libraries if each.path.endswith("libc.so.6"))
    assert not libc.traced and "signal" in libc.not_traced_because


def test_a_numpy_program_gives_the_same_output(tmp_path: Path) -> None:
    script = (
        "import numpy as n; r=n.random.default_rng(1); print(n.linalg.svd(r.random((50,50)))[1])"
    )
    plain = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout
    traced = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True,
        env=tracing_environment(os.environ, tmp_path / "record"),
    ).stdout  # fmt: skip
    assert traced == plain
    trace = read_function_trace(tmp_path / "record")
    openblas = next(each for each in trace.libraries if "openblas" in each.path)
    assert openblas.build_id or openblas.size_bytes
    assert 0 < len(openblas.used_functions) < 0.2 * openblas.functions_total
    starts = openblas.used_functions
    assert np.all(np.diff(starts.astype(np.int64)) > 0)


def test_a_full_disk_is_reported(tmp_path: Path, library: Path) -> None:
    """A limit on file size stands for the full disk: records cannot be reserved."""
    binary = program(tmp_path, library, "int main(void) { return used(2) == 7 ? 0 : 1; }")
    record = tmp_path / "record"
    environment = tracing_environment(os.environ, record)
    code = f"ulimit -f 0; trap '' XFSZ; exec {binary}"
    done = subprocess.run(["/bin/bash", "-c", code], env=environment, timeout=60)
    assert done.returncode == 0
    assert read_function_trace(record).incomplete_because != []


def test_an_empty_or_foreign_record(tmp_path: Path) -> None:
    """A record without bytes is of a process that was killed while it made it."""
    (tmp_path / "object-1-2-1").touch()
    (tmp_path / "process-1-2-2").touch()
    assert "no process was recorded" in read_function_trace(tmp_path).incomplete_because[0]
    (tmp_path / "object-1-2-3").write_bytes(b"x" * 5000)
    with pytest.raises(TrimtabError, match="not a record"):
        read_function_trace(tmp_path)
