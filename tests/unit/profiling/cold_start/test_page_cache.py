"""What is in the page cache is what was read; what was taken out is not there."""

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trimtab.errors import TrimtabError
from trimtab.profiling.cold_start.page_cache import (
    CHUNK_BYTES,
    PAGE_BYTES,
    Chunk,
    InMemory,
    evict,
    files_below,
    in_memory,
)

NOTHING = InMemory(0, 0, 0, ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder on a disk: what lies in memory can be taken out of none."""
    (tmp_path / "probe").write_bytes(b"x")
    try:
        evict([tmp_path / "probe"])
    except TrimtabError:
        pytest.skip("temporary files lie in memory: set TMPDIR to a folder on a disk")
    (tmp_path / "probe").unlink()
    return tmp_path


def test_what_was_written_or_read_is_there_until_it_is_taken_out(folder: Path) -> None:
    small, large = folder / "small", folder / "large"
    small.write_bytes(b"x" * 10)
    large.write_bytes(bytes(3 * CHUNK_BYTES + 1))
    size_bytes = 3 * CHUNK_BYTES + 11
    found = in_memory([small, large])
    ends = [(chunk.path, chunk.first_byte + chunk.size_bytes) for chunk in found.chunks]
    assert ends == [(small, 10), *((large, min(number * CHUNK_BYTES, 3 * CHUNK_BYTES + 1))
                                   for number in range(1, 5))]  # fmt: skip
    assert found == InMemory(2, size_bytes, size_bytes, found.chunks)
    assert found.chunk_bytes == size_bytes
    evict([small, large])
    assert in_memory([small, large]) == NOTHING
    small.read_bytes()
    assert in_memory([small, large]) == InMemory(1, 10, 10, (Chunk(small, 0, 10),))


def test_a_page_counts_with_its_chunk(folder: Path) -> None:
    path = folder / "large"
    path.write_bytes(bytes(3 * CHUNK_BYTES + 5))
    evict([path])
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)  # nothing ahead of need
        os.pread(file.fileno(), 1, CHUNK_BYTES)
        os.pread(file.fileno(), 1, 3 * CHUNK_BYTES)
        found = in_memory([path])
    assert found.chunk_bytes == CHUNK_BYTES + 5
    assert 2 * PAGE_BYTES <= found.page_bytes + PAGE_BYTES - 5 <= CHUNK_BYTES


def test_what_was_sent_is_taken_out_whoever_received_it(folder: Path) -> None:
    path = folder / "page"
    path.write_bytes(b"x" * 700)
    processors = os.sched_getaffinity(0)
    for sender in processors:
        for receiver in processors:
            _send(path, sender, receiver)
            evict([path])
            assert in_memory([path]) == NOTHING
    assert os.sched_getaffinity(0) == processors


def _send(path: Path, sender: int, receiver: int) -> None:
    """Send a file by sendfile(2) between two processors."""

    def serve(server: socket.socket) -> None:
        os.sched_setaffinity(0, {sender})  # of this thread
        connection, _ = server.accept()
        with connection, path.open("rb") as file:
            os.sendfile(connection.fileno(), file.fileno(), 0, 700)

    def receive(address: tuple[str, int]) -> bytes:
        os.sched_setaffinity(0, {receiver})
        with socket.create_connection(address) as connection:
            return b"".join(iter(lambda: connection.recv(4096), b""))

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        served = pool.submit(serve, server)
        assert pool.submit(receive, server.getsockname()).result(30) == b"x" * 700
        served.result(30)


def test_files_come_once_and_links_not(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/file").write_bytes(b"x")
    (tmp_path / "empty").touch()
    os.link(tmp_path / "inner/file", tmp_path / "inner/other")
    (tmp_path / "link").symlink_to("inner/file")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    assert [path.parent.name for path in files_below(tmp_path)] == ["inner"]


def test_what_lies_in_memory_is_an_error() -> None:
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK):
        pytest.skip("no file system in memory")
    path = place / f"trimtab-test-{os.getpid()}"
    path.write_bytes(b"x")
    try:
        with pytest.raises(TrimtabError, match="stays in memory"):
            evict([path])
    finally:
        path.unlink()
