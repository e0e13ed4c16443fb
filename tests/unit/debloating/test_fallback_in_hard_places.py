"""The fallback in programs that leave it little room, or that handle signals themselves."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from slim_example import called, make_slim, run

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import Source

GLIBC = tuple(map(int, platform.libc_ver()[1].split(".")))


def linked(folder: Path, source: str, prefix: Path, environment: Path) -> Path:
    """A program that runs with the libraries of `environment`, and loads nothing else first."""
    program = folder / f"program-{environment.parent.name}"
    command = ["gcc", "-x", "c", "-", "-o", program, f"-L{prefix}/lib", "-lmine", "-pthread"]
    command.append(f"-Wl,-rpath,{environment}/lib")
    subprocess.run(command, input=source, text=True, check=True)
    return program


def run_program(program: Path, record: Path) -> subprocess.CompletedProcess[str]:
    variables = {"TRIMTAB_FALLBACK_RECORD": str(record)}
    return subprocess.run([program], env=variables, capture_output=True, text=True, timeout=30)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may")
@pytest.mark.parametrize("leave", ["os.chroot(sys.prefix + '/bin')", "os.setuid(65534)"])
def test_where_the_environment_is_out_of_sight(slim: Path, record: Path, leave: str) -> None:
    done = run(slim, record, leave + "\nprint(mine.used(1), flush=True)\nmine.far(7)")
    assert (done.returncode, done.stdout) == (70, "4\n")
    assert done.stderr.startswith("trimtab: lib/libmine.so at 0x")
    crash = run(slim, record, leave + "\nctypes.string_at(0)")
    assert crash.returncode == -11


def test_an_environment_that_is_replaced_or_deleted_under_a_running_program(
    prefix: Path, record: Path, tmp_path: Path
) -> None:
    environment = make_slim(prefix, tmp_path)
    replace = """
print(mine.far(7), flush=True)
os.rename(sys.prefix, sys.prefix + ".old")
if {other!r}: os.rename({other!r}, sys.prefix)
mine.outer(1)
"""
    (tmp_path / "smaller/lib").mkdir(parents=True)
    shutil.copy(prefix / "lib/libthrows.so", tmp_path / "smaller/lib/libmine.so")
    other = make_slim(tmp_path / "smaller", tmp_path / "smaller")
    done = run(environment, record, replace.format(other=str(other)))
    assert (done.returncode, done.stdout) == (70, "9\n")
    assert "lib/libmine.so was replaced while this program runs" in done.stderr
    done = run(tmp_path / "env.old", record, replace.format(other=""))
    assert (done.returncode, done.stdout) == (70, "9\n")
    assert done.stderr.startswith("trimtab: lib/libmine.so at 0x")


def test_a_record_that_cannot_be_written(slim: Path, tmp_path: Path) -> None:
    done = run(slim, tmp_path / "no folder/record", "print(mine.far(7))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")


LOCKED = r"""
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
int DECLARED;
static int (*const work[])(int) = {NAMED};
enum { ROUNDS = sizeof work / sizeof *work / 2 };
static volatile int held, called, done;
static int holding(struct dl_phdr_info *info, size_t size, void *number) {
  (void)info; (void)size;
  held = *(int *)number + 1;
  while (called < held) sched_yield();
  return work[2 * *(int *)number](1);
}
static void *call(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    while (held < i + 1) sched_yield();
    called = i + 1;
    work[2 * i + 1](1);
    done = i + 1;
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, call, NULL);
  for (int i = 0; i < ROUNDS; i++) {
    dl_iterate_phdr(holding, &i);
    while (done < i + 1) sched_yield();
  }
  pthread_join(thread, NULL);
  puts("done");
}
"""


def test_a_lock_of_the_dynamic_linker_is_held_by_who_misses_something(
    slim: Path, prefix: Path, record: Path, tmp_path: Path
) -> None:
    """A callback of dl_iterate_phdr(3), as unwinders have, is called with that lock held."""
    names = [f"work_{i}" for i in range(60)]
    source = LOCKED.replace("DECLARED", ", ".join(f"{name}(int)" for name in names))
    program = linked(tmp_path, source.replace("NAMED", ", ".join(names)), prefix, slim)
    done = run_program(program, record)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert set(called(record)) == set(names)


FORKS = r"""
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int far(int);
static volatile int held, forked;
static int holding(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)info; (void)size; (void)unused;
  held = 1;
  while (!forked) sched_yield();
  return 1;
}
static void *hold(void *unused) { dl_iterate_phdr(holding, unused); return NULL; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, hold, NULL);
  while (!held) sched_yield();
  pid_t child = fork();
  if (!child) _exit(far(7));
  forked = 1;
  int status = 0;
  for (int i = 0; i < 5000 && !waitpid(child, &status, WNOHANG); i++) usleep(1000);
  kill(child, SIGKILL);
  printf("%d\n", status >> 8);
}
"""


@pytest.mark.skipif(GLIBC < (2, 35), reason="its dynamic linker finds libraries under a lock only")
def test_a_lock_of_the_dynamic_linker_is_held_by_a_thread_while_another_forks(
    slim: Path, prefix: Path, record: Path, tmp_path: Path
) -> None:
    """glibc leaves that lock as it was in the child, where nobody is who would release it."""
    done = run_program(linked(tmp_path, FORKS, prefix, slim), record)
    assert (done.returncode, done.stdout) == (0, "9\n")
    assert called(record) == ["far"]


def test_libraries_come_and_go_and_children_are_forked_meanwhile(slim: Path, record: Path) -> None:
    done = run(slim, record, """
import _ctypes
stop = threading.Event()
def load():
    while not stop.is_set():
        for name in ("libthrows.so", "libdata.so"):
            library = ctypes.CDLL(sys.prefix + "/lib/" + name)
            wrong.extend(() if name == "libdata.so" or library.other(3) == 4 else (name,))
            _ctypes.dlclose(library._handle)
def call(first):
    for i in range(first, 60, 3):
        if getattr(mine, f"work_{i}")(2) != 2 * (i + 2) + i: wrong.append(i)
wrong, codes = [], []
loader = threading.Thread(target=load)
callers = [threading.Thread(target=call, args=(i,)) for i in range(3)]
for thread in (loader, *callers): thread.start()
for i in range(30):
    if not (child := os.fork()): os._exit(mine.work_59(0) + mine.work_1(0) + mine.far(7))
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for thread in callers: thread.join()
stop.set(); loader.join()
print(wrong, set(codes))
""")  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] {69}\n", "")


HANDLES = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
int far(int), crash(int), threaded(int), outer(int), work_1(int), work_2(int), work_3(int);
static sigjmp_buf back;
static volatile int inside, ticks;
static void recover(int number, siginfo_t *info, void *context) {
  (void)number; (void)context;
  inside = info->si_addr ? -1 : work_1(1);
  siglongjmp(back, 1);
}
static void simple(int number) { inside = work_2(number); siglongjmp(back, 1); }
static void tick(int number) { (void)number; ticks = threaded(1); }
static void *with_small_stack(void *result) {
  stack_t stack = {.ss_sp = malloc(8192), .ss_size = 8192};
  sigaltstack(&stack, NULL);
  *(int *)result = outer(6);
  return NULL;
}
int main(void) {
  struct sigaction action = {.sa_sigaction = recover, .sa_flags = SA_SIGINFO};
  sigfillset(&action.sa_mask);
  sigaction(SIGSEGV, &action, NULL);
  printf("%d\n", far(7));
  for (int i = 0; i < 2; i++)
    if (!sigsetjmp(back, 1)) crash(0);
  printf("%d\n", inside);
  signal(SIGSEGV, simple);
  if (!sigsetjmp(back, 1)) crash(0);
  printf("%d\n", inside);
  signal(SIGSEGV, SIG_DFL);
  struct sigaction ticking = {.sa_handler = tick, .sa_flags = SA_RESTART};
  sigfillset(&ticking.sa_mask);
  sigaction(SIGALRM, &ticking, NULL);
  raise(SIGALRM);
  int result = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, with_small_stack, &result);
  pthread_join(thread, NULL);
  printf("%d %d %d\n", ticks, result, work_3(1));
  fflush(stdout);
  crash(0);
}
"""


def test_a_program_with_handlers_of_its_own(
    slim: Path, prefix: Path, record: Path, tmp_path: Path
) -> None:
    """They are set after the fallback's, jump out of faults and miss something themselves."""
    programs = [linked(tmp_path, HANDLES, prefix, environment) for environment in (prefix, slim)]
    done = [run_program(program, record) for program in programs]
    results = [(one.returncode, one.stdout) for one in done]
    assert results[0] == results[1] == (-11, "9\n4\n46\n3 8 8\n")
    assert {"crash", "far", "outer", "threaded", "work_1", "work_2"} <= set(called(record))


REPLACES = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int far(int), work_1(int);
int munmap(void *at, size_t bytes) { return syscall(SYS_munmap, at, bytes) + work_1(0) - 1; }
int main(void) { printf("%d\n", far(7)); }
"""


def test_a_program_that_replaces_functions_of_the_c_library(
    slim: Path, prefix: Path, record: Path, tmp_path: Path
) -> None:
    """By others, which are missed when they are called: as memray does with mmap and munmap."""
    done = run_program(linked(tmp_path, REPLACES, prefix, slim), record)
    assert (done.returncode, done.stdout) == (0, "9\n")
    assert called(record) == ["far"]


@pytest.mark.parametrize("of", ["a thread", "the main thread, with a stack for its handler"])
def test_a_stack_that_overflows_ends_as_in_the_original(slim: Path, record: Path, of: str) -> None:
    handled = "handler" in of
    overflow = "mine.recurse.argtypes = [ctypes.c_long]\n" + (
        "import faulthandler; faulthandler.enable(); mine.recurse(1 << 40)"
        if handled
        else "threading.Thread(target=mine.recurse, args=(1 << 40,)).start()"
    )
    done = run(slim, record, overflow)
    assert done.returncode == -11 and ("Fatal Python error" in done.stderr) == handled


@pytest.mark.parametrize("kind", ["packed", "original"])
def test_a_store_that_goes_while_a_program_runs(
    build: Callable[..., Path], prefix: Path, record: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "origin").mkdir()
    shutil.copytree(prefix / "lib", tmp_path / "origin/lib")
    environment = build("compact", Source(Fallback(kind)), tmp_path / "origin")
    gone = tmp_path / "origin" if kind == "original" else environment / "trimtab/store"
    program = f"print(mine.far(7), flush=True)\nimport shutil; shutil.rmtree({str(gone)!r})\n"
    done = run(environment, record, program + "mine.outer(1)")
    assert (done.returncode, done.stdout) == (70, "9\n")
    assert "was changed, is gone or cannot be reached" in done.stderr


SERVER = """
import asyncio
async def answer(reader, writer):
    kind = (await reader.readline()).decode().strip()
    function = getattr(mine, kind)
    loop = asyncio.get_running_loop()
    value = function(7) if kind == "outer" else await loop.run_in_executor(None, function, 7)
    writer.write(f"{value}\\n".encode()); await writer.drain(); writer.close()
async def ask(port, kind):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{kind}\\n".encode())
    return (await reader.read()).decode().strip() or "nothing"
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for kind in ("used", "used", "far", "far", "outer", "outer"):
        print(await ask(port, kind), flush=True)
asyncio.run(main())
"""


def test_a_server_whose_worker_thread_misses_something(slim: Path, record: Path) -> None:
    done = run(slim, record, SERVER)
    assert (done.returncode, done.stdout.split()) == (0, ["22", "22", "9", "9", "7", "7"])
    assert called(record) == ["far", "outer"] and done.stderr == ""
    strict = run(slim, record, SERVER, "strict")
    assert (strict.returncode, strict.stdout.split()) == (70, ["22", "22"])
    assert len(strict.stderr.splitlines()) == 1  # and nothing of the event loop's


MANY = 2000


def test_with_nearly_as_many_mappings_as_the_program_may_have(tmp_path: Path, record: Path) -> None:
    """Each page that comes back alone into a hole costs two more."""
    names = range(2 * MANY)
    text = "".join(
        f".p2align 12\n.globl f{i}\n.type f{i}, @function\nf{i}:\n.cfi_startproc\n"
        f"mov ${i}, %eax\nret\n.cfi_endproc\n.size f{i}, . - f{i}\n"
        for i in names
    )
    origin = tmp_path / "original"
    (origin / "lib").mkdir(parents=True)
    library = origin / "lib/libmine.so"
    command = ["gcc", "-x", "assembler", "-", "-shared", "-o", library]
    subprocess.run(command, input=text, text=True, check=True)
    environment = make_slim(origin, tmp_path)
    done = run(environment, record, f"""
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
limit = int(open("/proc/sys/vm/max_map_count").read())
held = limit - {MANY}
region = libc.mmap(None, held * 4096, 0, 0x22, -1, 0)
for page in range(0, held, 2):
    assert libc.mprotect(ctypes.c_void_p(region + page * 4096), 4096, 1) == 0
print(sum(mine["f%d" % i]() for i in range(0, {2 * MANY}, 2)))
""")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == sum(names[::2])
