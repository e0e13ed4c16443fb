"""Functions that were removed, or are traced, are called in every kind of context.

Nothing is written outside the stack in use, and the program does what it does otherwise.
"""

import ctypes
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from slim_example import PRELUDE, called
from slim_example import run as run_python

from trimtab.cli.doctor import missing
from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.profiling.tracing.functions import tracing_environment

SOURCE = Path(__file__).with_name("contexts.c").read_text()
# Functions that other contexts are made of have names of one word, or two.
PARTS = {"miss", "say", "load", "raises", "turn", "slice", "elsewhere", "vforks", "at_exit"}
PARTS |= {"fault", "coroutine_body"}
CONTEXTS = [
    name
    for name in re.findall(r"static void (?:.*\) )?(\w+)\(void\) {", SOURCE)
    if name not in PARTS and not name.startswith("ends_")
]
AT_MINSIGSTKSZ, SMALLEST_STACK = 51, 2048  # elf.h, signal.h of the kernel
TILES = 8192  # bytes of AMX in a frame
WITHOUT_ROOM = "ends_where_the_stack_has_no_room"


@pytest.fixture(scope="module")
def programs(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Whether the library is loaded late: with the program it comes before all else."""
    folder = tmp_path_factory.mktemp("contexts")
    listed = " ".join(f"CONTEXT({one})" for one in [*CONTEXTS, WITHOUT_ROOM])
    source = SOURCE.replace("{LISTED}", "{" + listed + "}")
    for late in (True, False):
        command = ["gcc", "-x", "c", "-", "-O2", "-D_FORTIFY_SOURCE=2", "-rdynamic", "-pthread"]
        command += ["-o", str(folder / str(late)), "-lm", f"-L{prefix}/lib"]
        if not late:
            command += ["-Wl,--no-as-needed", "-lmine"]
        subprocess.run(command, input=source, text=True, check=True)
    return {late: folder / str(late) for late in (True, False)}


def run(
    program: Path, environment: Path, context: str, record: Path, **more: str
) -> tuple[int, str]:
    variables = {"TRIMTAB_FALLBACK_RECORD": str(record), "LD_LIBRARY_PATH": f"{environment}/lib"}
    variables |= more
    done = subprocess.run(
        [program, context], env=variables, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_miss_in(
    context: str, programs: dict[bool, Path], prefix: Path, slim: Path, record: Path
) -> None:
    program = programs[context.startswith("late")]
    original = run(program, prefix, context, record)
    assert original[1] == "" or original[1].endswith(" 0\n")
    assert run(program, slim, context, record) == original
    assert original[0] or called(record)


def test_where_nothing_can_be_brought_back(
    programs: dict[bool, Path], prefix: Path, slim: Path, record: Path
) -> None:
    """A stack that the program told the kernel itself, and that only the kernel's frame fits on."""
    frame_bytes = ctypes.CDLL(None).getauxval(AT_MINSIGSTKSZ)
    if frame_bytes < SMALLEST_STACK:
        pytest.skip("a frame without AVX-512 leaves room on the smallest stack of the kernel")
    if frame_bytes > TILES:
        pytest.skip("the kernel reserves 8 KiB for AMX, which leaves room until a program uses it")
    assert run(programs[False], prefix, WITHOUT_ROOM, record) == (0, "0 0 0\n")
    status, said = run(programs[False], slim, WITHOUT_ROOM, record)
    printed, message = said.splitlines()
    assert (status, printed) == (0, f"{70 << 8} 0 0")
    assert message.startswith(
        "trimtab: a signal came on an alternate stack that has no room for it"
    )
    assert not record.exists()


GREENLETS = """
import faulthandler, greenlet
faulthandler.enable()
seen = []
def body(first, to):
    for i in range(first, first + 30, 10):
        seen.append(getattr(mine, f"work_{i}")(1)); to.switch()
def use(first):
    turns = [greenlet.greenlet(body) for i in range(10)]
    for _ in range(3):
        for i, turn in enumerate(turns): turn.switch(first + i, greenlet.getcurrent())
signal.signal(signal.SIGUSR1, lambda *_: seen.append(mine.work_55(1)))
use(0); signal.raise_signal(signal.SIGUSR1)
thread = threading.Thread(target=use, args=(20,)); thread.start(); thread.join()
print(seen)
"""


def test_in_greenlets(slim: Path, prefix: Path, record: Path) -> None:
    path = str(Path(pytest.importorskip("greenlet").__file__).parent.parent)
    done = run_python(slim, record, GREENLETS, PYTHONPATH=path)
    assert done.stderr == ""
    numbers = json.loads(done.stdout)
    assert len(called(record)) == len(set(called(record))) == 51
    whole = GREENLETS + f"\nassert seen == {numbers}"
    original = PRELUDE.replace("sys.prefix", repr(str(prefix)))
    subprocess.run(
        [sys.executable, "-c", original + whole],
        env={"PYTHONPATH": path},
        check=True,
        capture_output=True,
        timeout=60,
    )


def test_strictly_on_a_small_stack(programs: dict[bool, Path], slim: Path, record: Path) -> None:
    strict = {"TRIMTAB_FALLBACK": "strict"}
    done = run(programs[False], slim, "alternate_of_8_kib", record, **strict)
    assert done[0] == 70 and done[1].startswith("trimtab: work_0 in libmine.so (address ")


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_first_call_in_a_traced_run_in(
    context: str, programs: dict[bool, Path], prefix: Path, record: Path, tmp_path: Path
) -> None:
    program = programs[context.startswith("late")]
    traced = tracing_environment({}, tmp_path / "trace")
    original = run(program, prefix, context, record)
    assert run(program, prefix, context, record, **traced) == original


@pytest.mark.parametrize(
    "context",
    ["alternate_of_8_kib", "coroutine_of_4_kib", "fault_left_by_longjmp", "threads_at_once"],
)
def test_two_environments_in_one_program(
    context: str,
    programs: dict[bool, Path],
    prefix: Path,
    slim: Path,
    build: Callable[..., Path],
    record: Path,
) -> None:
    """The other's fallback comes first, and has no page to bring back."""
    other = str(build() / FALLBACK_LIBRARY)
    original = run(programs[False], prefix, context, record)
    assert run(programs[False], slim, context, record, LD_PRELOAD=other) == original
    assert called(record)


@pytest.mark.skipif(shutil.which("strace") is None, reason=missing("strace"))
def test_a_thread_costs_one_system_call(
    programs: dict[bool, Path], slim: Path, record: Path, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    program = [programs[False], "threads_one_after_the_other"]
    variables = [f"--env=LD_LIBRARY_PATH={slim}/lib", f"--env=TRIMTAB_FALLBACK_RECORD={record}"]
    trace = ["strace", "-f", "--trace=sigaltstack", "-o", calls, *variables, *program]
    subprocess.run(trace, check=True, capture_output=True, timeout=60)
    assert calls.read_text().count("sigaltstack(") == 1 + 200
