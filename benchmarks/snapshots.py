"""Measure starts from snapshots: time to the first useful output, and the memory held then.

    python benchmarks/snapshots.py --data FOLDER [--programs NAME ...] [--pairs 20] [--again]

Programs are `corpus/starts/*.yaml`. Each runs in turns in its original environment, in its slim one
without the snapshot, and from the snapshot. The first useful output of a program is its end, and of
a server its first answer. Processor time is that of all processes until then.
"""

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "corpus")]

from common import load, save, spread  # noqa: E402
from programs import CorpusProgram, environment_of, read_programs  # noqa: E402

from trimtab.debloating.snapshots.making import Snapshot, make_snapshot  # noqa: E402
from trimtab.debloating.targets.registry import target_of  # noqa: E402
from trimtab.errors import TrimtabError  # noqa: E402
from trimtab.files import read_json, write_json  # noqa: E402
from trimtab.processes.drive import check_address  # noqa: E402
from trimtab.processes.program import Driver, Program  # noqa: E402
from trimtab.profiling.cold_start.page_cache import files_below  # noqa: E402

WAYS = ("original", "slim", "snapshot")
_WITHOUT = {"TRIMTAB_SNAPSHOT_FAILED": "1"}
_VARIABLES = ("HOME", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PATH")
_PATIENCE_S, _POLL_S = 120, 0.001
_WORKERS, _COLD_PAIRS, _SLIM_PAIRS = 8, 3, 5
_SLOT = 20  # ports that nothing else has
_WRITES = {"1", "20"}  # write(2) and writev(2) in /proc/PID/syscall
_KERNEL = "notebook_kernel"
_ADOPT = 36  # PR_SET_CHILD_SUBREAPER


def main() -> None:
    """Measure the programs that are named, or all, and keep their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="of environments and workspaces")
    parser.add_argument("--programs", nargs="*")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="neither cold starts nor workers")
    parser.add_argument("--again", action="store_true", help="make the snapshots anew")
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    for program in read_programs(_SLOT, HERE / "corpus" / "starts"):
        if given.programs is None or program.name in given.programs:
            row = measured(program, given)
            known: Any = load("snapshots") or {"programs": {}}
            save("snapshots", {"programs": {**known["programs"], program.name: row}})


def measured(program: CorpusProgram, given: argparse.Namespace) -> dict[str, Any]:
    """Return the row of `program`; its slim environment and snapshot are made where missing."""
    data = given.data.resolve()
    folder = data / "work" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    slim = data / "workspaces" / program.name / "env"
    ways = _programs(program, environment_of(program, data), slim, folder)
    _debloat(program, ways["original"], slim)
    state = slim.parent / "snapshot.json"
    if given.again or not state.exists():
        made = make_snapshot(slim, ways["snapshot"])
        medians = (
            {"before_s": made.before_s, "after_s": made.after_s}
            if isinstance(made, Snapshot)
            else {}
        )
        write_json(state, {**asdict(made), **medians})
    outcome = {
        name: _without_places(value, data) if isinstance(value, str) else value
        for name, value in read_json(state).items()
    }
    row: dict[str, Any] = {"description": program.description, **outcome}
    print(program.name, row, flush=True)
    starts: dict[str, list[Start]] = {way: [] for way in WAYS}
    for way in WAYS:
        first_output(ways[way])  # fills caches
    for pair in range(given.pairs):
        for way in _rotated(pair):
            if way != "slim" or pair < _SLIM_PAIRS:
                starts[way].append(first_output(ways[way]))
    row["equal"] = len({each.output for way in WAYS for each in starts[way]}) == 1
    for way, runs in starts.items():
        row[way] = {
            "wall_s": spread([round(run.wall_s, 4) for run in runs]),
            "cpu_s": spread([round(run.cpu_s, 4) for run in runs]),
        }
    for way in WAYS:
        row[way]["memory"] = memory([ways[way]])
    if not given.quick:
        for way in (
            ("original", "snapshot") if program.name != _KERNEL else ()
        ):  # its ports are in a file
            row[way]["memory_of_8"] = memory([ways[way]] * _WORKERS)
        for way, times in _cold(ways, environment_of(program, data).parents[1], slim).items():
            row[way]["cold_wall_s"] = spread(times)
    for way in WAYS:
        print(
            " ", way, row[way]["cpu_s"]["median"], row[way]["wall_s"]["median"], row[way]["memory"]
        )
    print(" ", "equal" if row["equal"] else "DIFFERS", flush=True)
    return row


def _without_places(text: str, data: Path) -> str:
    for folder in (data, HERE, Path.home()):
        text = text.replace(f"{folder}/", "")
    return text


def _cold(ways: Mapping[str, Program], original: Path, slim: Path) -> dict[str, list[float]]:
    """Return seconds until the first output where no file of the environment is in memory."""
    base = Path(os.path.realpath(original / "bin/python")).parents[1]
    files = {way: [*files_below(original if way == "original" else slim)] for way in WAYS}
    of_base = [*files_below(base / "lib"), *files_below(base / "bin")]
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for pair in range(_COLD_PAIRS):
        for way in _rotated(pair):
            for path in (*files[way], *of_base):
                _drop(path)
            times[way].append(round(first_output(ways[way]).wall_s, 4))
    return times


def _drop(path: Path) -> None:
    """Take a file out of the page cache, but for pages that others use."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _rotated(turn: int) -> Sequence[str]:
    first = turn % len(WAYS)
    return (*WAYS[first:], *WAYS[:first])


def _programs(program: CorpusProgram, python: Path, slim: Path, folder: Path) -> dict[str, Program]:
    """Return the program in each way, with few variables."""
    own = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    workload = program.workload_in(python, program.traced, folder)
    found = {}
    for way in WAYS:
        target = target_of(program.name, [workload])
        each = target.program(workload, folder / "output", None if way == "original" else slim)
        bin_folder = python.parent if way == "original" else slim / "bin"
        own["PATH"] = each.environment["PATH"]
        first = each.command[0]
        words = (first if "/" in first else str(bin_folder / first), *each.command[1:])
        variables = {**own, **(_WITHOUT if way == "slim" else {})}
        found[way] = replace(each, command=words, environment=variables, timeout_s=_PATIENCE_S)
    return found


def _debloat(program: CorpusProgram, original: Program, slim: Path) -> None:
    if slim.exists():
        return
    modules = f"import sys; sys.path[:0] = {sys.path!r}"
    code = f"{modules}; from trimtab.cli.main import main; main()"
    command = [
        sys.executable, "-c", code, "debloat", "--workspace", slim.parent, "--settle", "2",
        *program.options, "--", *original.command,
    ]  # fmt: skip
    subprocess.run(command, env=original.environment, check=True, stdout=subprocess.DEVNULL)


@dataclass(frozen=True)
class Start:
    """Seconds until the first useful output, processor seconds until then, and the output."""

    wall_s: float
    cpu_s: float
    output: bytes


def first_output(program: Program) -> Start:
    """Run `program` until its first useful output.

    Raises TrimtabError if it fails.
    """
    with ExitStack() as stack:
        asking = None if program.driver is None else stack.enter_context(_asking(program.driver))
        begun = time.monotonic()
        process = stack.enter_context(_running(program, subprocess.PIPE))
        if asking is not None:
            answer = asking(process)
            return Start(time.monotonic() - begun, _cpu_s(process.pid), answer)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise TrimtabError(f"{program.command}: {process.returncode}: {output[-500:]!r}")
        cpu_s = used.ru_utime + used.ru_stime
        with suppress(ChildProcessError):  # those that it left
            while True:
                _, _, used = os.wait4(-1, 0)
                cpu_s += used.ru_utime + used.ru_stime
        return Start(wall_s, cpu_s, output)


def memory(programs: Sequence[Program]) -> dict[str, int]:
    """Return the bytes that programs hold together which all wait with their first output.

    Each writes into a full pipe, or has answered as a server does. `own` is memory that no file
    has; `all` is that and its part of each page that processes share.
    """
    totals = {"Anonymous": 0, "Pss": 0}
    with ExitStack() as stack:
        processes = []
        for number, program in enumerate(programs):
            reading, writing = os.pipe()
            stack.callback(os.close, reading)
            os.set_blocking(writing, False)
            with suppress(BlockingIOError):
                while True:
                    os.write(writing, bytes(1 << 12))
            os.set_blocking(writing, True)
            each = _at_port(program, number)
            if each.driver is not None:
                asking = stack.enter_context(_asking(each.driver))
                process = stack.enter_context(_running(each, subprocess.DEVNULL))
                os.close(writing)
                asking(process)
            else:
                process = stack.enter_context(_running(each, writing))
                os.close(writing)
                _until_it_writes(process)
            processes.append(process)
        for process in processes:
            for pid in _family(process.pid):
                with suppress(ProcessLookupError):  # it has ended, and is not waited for
                    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
                        name, value = line.split()[:2]
                        if name[:-1] in totals:
                            totals[name[:-1]] += int(value) * 1024
    return {"own": totals["Anonymous"], "all": totals["Pss"]}


@contextmanager
def _running(program: Program, output: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run `program`, which is killed with its processes when the block ends."""
    with subprocess.Popen(
        program.command, env=dict(program.environment), cwd=program.workdir,
        stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


_Asking = Callable[[subprocess.Popen[bytes]], bytes]


@contextmanager
def _asking(driver: Driver) -> Iterator[_Asking]:
    """Return what waits for the first answer of a server that is started after this."""
    check_address(driver)
    address = driver.address
    assert address is not None
    if any(word.endswith("ask.py") for word in driver.command):
        yield lambda process: _page(address, process)
        return
    with subprocess.Popen(  # it waits for the server itself
        driver.command, env=dict(driver.environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asking:
        output, errors = asking.stdout, asking.stderr
        assert output is not None and errors is not None
        errors.readline()  # it has begun
        try:
            yield lambda _: output.read()
        finally:
            asking.kill()


def _page(address: str, process: subprocess.Popen[bytes]) -> bytes:
    """Return the page of an HTTP server, as soon as it has one."""
    host, port = address.split(":")
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((host, int(port))).close()
        except ConnectionRefusedError:
            time.sleep(_POLL_S)
            continue
        with urlopen(f"http://{address}/", timeout=_PATIENCE_S) as answer:
            body: bytes = answer.read()
            return body
    raise TrimtabError(f"{process.args!r}: no answer")


def _until_it_writes(process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            words = Path(f"/proc/{process.pid}/syscall").read_text().split()
            if words[0] in _WRITES and words[1] in ("0x1", "0x2"):
                return
        time.sleep(_POLL_S)
    raise TrimtabError(f"{process.args!r}: writes nothing")


def _at_port(program: Program, number: int) -> Program:
    """Return a server at another port, the `number`-th after its own."""
    if program.driver is None or program.driver.address is None or not number:
        return program
    host, port = program.driver.address.split(":")
    other = str(int(port) + number)
    words = tuple(other if word == port else word for word in program.command)
    return replace(
        program, command=words, driver=replace(program.driver, address=f"{host}:{other}")
    )


def _family(pid: int) -> list[int]:
    """Return the numbers of a process and all below it."""
    below: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has just ended
            below += map(int, (task / "children").read_text().split())
    return [pid, *(each for child in below for each in _family(child))]


def _cpu_s(pid: int) -> float:
    # A clock's number by the process (clock_getcpuclockid(3)): all its threads, also ended ones.
    return sum(time.clock_gettime((~each << 3) | 2) for each in _family(pid))


if __name__ == "__main__":
    main()
