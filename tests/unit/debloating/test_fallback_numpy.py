"""Operations of NumPy that no traced run used, in a slim environment with the real library."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trimtab.config.groups.debloat import Debloat, Fallback, Remove, Share
from trimtab.config.groups.workload import Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.profiling.profile import trace_workload
from trimtab.records.misses.removed_calls import read_removed_calls

PROGRAM = """
import json, sys
import numpy as np

matrix = np.arange(1.0, 10.0).reshape(3, 3) % 7
OPERATIONS = {
    "multiply": lambda: matrix @ matrix,
    "svd": lambda: np.linalg.svd(matrix).S,
    "eigenvalues": lambda: np.linalg.eigvals(matrix).real,
    "fft": lambda: np.fft.rfft(matrix).real,
    "argpartition": lambda: np.argpartition(matrix, 1),
}
np.fft  # its library is loaded, and so debloated, though no function of it is called
result = {}
for name in sys.argv[1:]:
    result[name] = OPERATIONS[name]().tolist()
print(json.dumps(result))
"""
LIBRARY = {
    "svd": "libscipy_openblas",
    "eigenvalues": "_umath_linalg",
    "fft": "_pocketfft_umath",
    "argpartition": "_multiarray_umath",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with NumPy, `original`, and `env`, its slim one for a product of matrices.

    `files/env` also lost files.
    """
    folder = tmp_path_factory.mktemp("numpy")
    original = folder / "original"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", original], check=True)
    (packages,) = original.glob("lib/python3*/site-packages")
    for source in Path(np.__file__).parents[1].glob("numpy*"):
        if source.name in ("numpy", "numpy.libs"):
            shutil.copytree(source, packages / source.name)
    (folder / "program.py").write_text(PROGRAM)
    product = Workload(
        name="product", command=["python", str(folder / "program.py"), "multiply"],
        python=str(original / "bin/python"), workdir=str(folder),
        env={"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    usage = trace_workload(product, folder / "trace", 1)
    assert usage.complete, usage.incomplete_because
    usage.write(folder / "usage.json")
    for remove, place in ((Remove.CODE, folder), (Remove.FILES, folder / "files")):
        place.mkdir(exist_ok=True)
        stage = DebloatStage("product", "here", [], [product], Debloat(name="x", remove=remove))
        debloat_target(stage, [folder / "usage.json"], place)
        PythonPrefix(original).build(place, Share.AUTO, Source(Fallback.ORIGINAL), place / "env")
    return folder


def start(
    folder: Path, environment: str, *operations: str, behaviour: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / environment / "bin/python", folder / "program.py", *operations],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "TRIMTAB_FALLBACK": behaviour,
             "TRIMTAB_FALLBACK_RECORD": str(folder / "calls.jsonl")},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def run(folder: Path, environment: str, *operations: str) -> tuple[dict[str, object], str]:
    """Return the results by operation, and standard error."""
    done = start(folder, environment, *operations)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def readable(names: list[str]) -> list[str]:
    return subprocess.run(
        ["c++filt", *names], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_what_was_profiled_calls_nothing_that_was_removed(folder: Path) -> None:
    assert run(folder, "env", "multiply") == run(folder, "original", "multiply")
    assert not (folder / "calls.jsonl").exists()


@pytest.mark.parametrize("operation", LIBRARY)
def test_an_operation_that_was_not_profiled(folder: Path, operation: str) -> None:
    """By default the original's result; with `strict` the end, and a word that says why."""
    record = folder / "calls.jsonl"
    both = ("multiply", operation)
    assert run(folder, "env", *both) == run(folder, "original", *both)
    called = read_removed_calls(record)
    assert any(LIBRARY[operation] in event.library for event in called)
    record.unlink()
    ended = start(folder, "env", operation, behaviour="strict")
    assert (ended.returncode, ended.stdout) == (70, "")
    (first,) = read_removed_calls(record)
    (function,) = readable([first.name])
    assert ended.stderr.startswith(f"trimtab: {function} in {Path(first.library).name} (address 0x")
    record.unlink()


FIRST_THREAD = """
import ctypes, threading
{before}
def is_there():
    return "libtrimtab-fallback.so" in open("/proc/self/maps").read()
def ask():
    sigaltstack, stack = 131, (ctypes.c_long * 3)()
    ctypes.CDLL(None).syscall(sigaltstack, None, stack)
    sizes.append(stack[2])
sizes, found = [], [is_there()]
for _ in range(3):
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
ask()
print(*found, is_there(), sizes)
"""


@pytest.mark.parametrize("before", ["", "import numpy"])
def test_the_fallback_is_there_before_the_first_thread(folder: Path, before: str) -> None:
    """Each thread has a stack of it, whether a slim library was loaded before it or not."""
    command: list[str | Path] = [
        folder / "files/env/bin/python",
        "-c",
        FIRST_THREAD.format(before=before),
    ]
    found = subprocess.check_output(command, text=True)
    assert found == f"{bool(before)} True {[1 << 16] * 4}\n"


# The kernel's answer in a handler is 1 if it runs on the alternate stack that the kernel knows.
SET_BEFORE = """
import ctypes, signal, threading
libc, stack, found = ctypes.CDLL(None), (ctypes.c_long * 3)(), []
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_long * 16), ("flags", ctypes.c_int)]
@ctypes.CFUNCTYPE(None, ctypes.c_int)
def handler(number):
    libc.syscall(131, None, stack)
    found.append(stack[1])
action = Action(ctypes.cast(handler, ctypes.c_void_p), flags=0x08000000)
libc.sigaction(signal.SIGUSR1, ctypes.byref(action), None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
thread = threading.Thread(target=int)
thread.start()
thread.join()
signal.raise_signal(signal.SIGUSR1)
print(signal.SIGTRAP in signal.pthread_sigmask(signal.SIG_BLOCK, []), found[0] & 1)
"""
# PR_SET_MDWE, from Linux 6.3 on.
FORBIDS_CHANGES = """
import ctypes, threading
ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)
threading.Thread(target=print, args=["ran"]).start()
"""


@pytest.mark.parametrize(
    ("program", "prints"),
    [
        pytest.param(SET_BEFORE, "True 0\n", id="handler and mask"),
        pytest.param(FORBIDS_CHANGES, "ran\n", id="no changed code"),
    ],
)
def test_what_a_program_set_before_its_first_thread(
    folder: Path, program: str, prints: str
) -> None:
    command: list[str | Path] = [folder / "files/env/bin/python", "-c", program]
    assert subprocess.check_output(command, text=True, timeout=60) == prints
