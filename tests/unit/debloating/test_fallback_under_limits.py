"""The fallback in programs that may have no more files, memory or bytes in a file."""

import os
import subprocess
from pathlib import Path

from slim_example import called, run

FULL = """
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))
taken = []
try:
    while True: taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError: pass
print(mine.far(7), flush=True)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def test_with_as_many_open_files_as_the_program_may_have(slim: Path, record: Path) -> None:
    done = run(slim, record, FULL.format(hard="hard"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n64\n", "")
    assert called(record) == ["far"]


def test_with_no_more_open_files_at_all(slim: Path, record: Path) -> None:
    program = f"import ctypes, os; mine = ctypes.CDLL('{slim}/lib/libmine.so')"
    command = [slim / "bin/python", "-c", program + FULL.format(hard=64)]
    if os.geteuid() == 0:  # who may raise any limit
        command = ["setpriv", "--bounding-set=-sys_resource", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (70, "")
    assert "cannot be read: Too many open files" in done.stderr


def test_with_no_more_address_space(slim: Path, record: Path) -> None:
    """A program that may go on where it gets no more memory does so."""
    done = run(slim, record, """
import mmap, resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
taken, size = [], 1 << 29
while size >= mmap.PAGESIZE:
    try: taken.append(mmap.mmap(-1, size))
    except OSError: size //= 2
for i in range(20): getattr(mine, "work_%d" % i)(1)
print(len(taken) > 0, mine.far(7))
""")  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 9\n", "")
    assert called(record)[-1] == "far"


def test_with_no_more_memory_for_data(slim: Path, record: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (0, 0)); mine.far(7)"
    done = run(slim, record, limit)
    assert done.returncode == 70
    assert "Cannot allocate memory" in done.stderr, done.stderr


def test_with_files_that_may_not_grow(slim: Path, record: Path) -> None:
    """The signal for writing more (SIGXFSZ) is Python's to ignore, not every program's."""
    done = run(slim, record, """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
os._exit(mine.far(7))
""")  # fmt: skip
    assert (done.returncode, done.stderr) == (9, "")
    assert record.read_text() == ""
