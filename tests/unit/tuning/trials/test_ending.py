"""How an end is told that has no program here: a machine without memory, a hostile log."""

from pathlib import Path

import pytest

from trimtab.processes.memory_limit import kills_for_memory
from trimtab.tuning.trials.ending import ending
from trimtab.tuning.trials.events import EndReason


def told(tmp_path: Path, exit_code: int, log: bytes, **struck: bool) -> tuple[EndReason, str]:
    (tmp_path / "stderr").write_bytes(log)
    struck = {"limit_struck": False, "machine_struck": False} | struck
    return ending(exit_code, frozenset({0}), tmp_path / "stderr", **struck)


def test_a_machine_without_memory(tmp_path: Path) -> None:
    reason, message = told(tmp_path, -9, b"", machine_struck=True)
    assert reason == EndReason.OUT_OF_MEMORY and "the machine ran out of memory" in message
    assert told(tmp_path, -9, b"")[0] == EndReason.CRASHED
    assert told(tmp_path, 1, b"", machine_struck=True)[0] == EndReason.FAILED  # another's
    assert told(tmp_path, 0, b"", machine_struck=True, limit_struck=True)[0] == EndReason.FINISHED
    assert kills_for_memory() >= 0


@pytest.mark.parametrize(
    "log",
    [
        b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
        b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  x\n",
        b"RuntimeError: [enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: can't allocate"
        b" memory: you tried to allocate 4000000000000 bytes. Error code 12\n",
        b"numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array\n",
        b"OSError: [Errno 12] Cannot allocate memory\n",
        b"MemoryError\n",
    ],
)
def test_what_programs_say_that_are_refused_memory(tmp_path: Path, log: bytes) -> None:
    reason, message = told(tmp_path, 1, b"Traceback\n" + log)
    assert reason == EndReason.OUT_OF_MEMORY
    assert message.endswith(log.decode().splitlines()[-1].strip()[:300])


def test_a_log_is_no_way_to_steer_a_terminal(tmp_path: Path) -> None:
    log = b"\x1b[2J\xff" * 50_000 + b"\r" + "\u202e".encode() + b"a" * 10_000 + b"\n\n \n"
    reason, message = told(tmp_path, 3, log)
    assert reason == EndReason.FAILED
    assert message.isprintable() and len(message) < 400
    (tmp_path / "stderr").unlink()
    (tmp_path / "stderr").mkdir()
    struck = {"limit_struck": False, "machine_struck": False}
    assert ending(3, frozenset({0}), tmp_path / "stderr", **struck) == (
        EndReason.FAILED, "ended with exit code 3"
    )  # fmt: skip
