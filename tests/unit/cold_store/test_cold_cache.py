"""The node's cache: bounded, whole after a kill, and never a wrong content."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.cold_store.node.cache import Cache, CacheInUseError


def content(number: int, size: int = 4096) -> tuple[str, bytes]:
    data = number.to_bytes(4, "big") * (size // 4)
    return hashlib.sha256(data).hexdigest(), data


def get(cache: Cache, sha256: str) -> bytes | None:
    file = cache.opened(sha256)
    return None if file is None else file.read()


def path_of(folder: Path, sha256: str) -> Path:
    return folder / sha256[:2] / sha256[2:]


def test_the_least_recently_used_goes(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 3 * 4096)
    for number in range(3):
        cache.put(*content(number))
    assert get(cache, content(0)[0]) == content(0)[1]
    cache.put(*content(3))
    assert [cache.has(content(each)[0]) for each in range(4)] == [True, False, True, True]
    assert get(cache, content(1)[0]) is None
    assert len(list(tmp_path.glob("??/*"))) == 3
    cache.close()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=40), st.integers(0, 6))
def test_it_never_exceeds_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, int]], room: int
) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"), room * 4096)
    for is_put, number in steps:
        sha256, data = content(number, 4096 if number % 2 else 8192)
        if is_put:
            cache.put(sha256, data)
        else:
            assert get(cache, sha256) in (None, data)
        kept = [each.stat().st_size for each in cache._folder.glob("??/*")]
        assert sum(kept) == cache.used_bytes <= room * 4096
    cache.close()


def test_the_next_process_goes_on_in_the_same_order(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1 << 20)
    for number in range(3):
        cache.put(*content(number))
        os.utime(path_of(tmp_path, content(number)[0]), ns=(number, number))
    cache.close()
    partial = path_of(tmp_path, content(0)[0]).with_name(".partial1")
    partial.write_bytes(b"killed")
    cache = Cache(tmp_path, 2 * 4096)
    assert [cache.has(content(each)[0]) for each in range(3)] == [False, True, True]
    assert not partial.exists() and cache.used_bytes == 2 * 4096
    cache.close()


@pytest.mark.parametrize("change", [b"", b"other", b"x" * 4096])
def test_a_changed_content_is_not_given(tmp_path: Path, change: bytes) -> None:
    sha256, data = content(1)
    cache = Cache(tmp_path, 1 << 20)
    cache.put(sha256, data)
    cache.close()
    path_of(tmp_path, sha256).write_bytes(change)
    cache = Cache(tmp_path, 1 << 20)
    assert get(cache, sha256) is None and not cache.has(sha256) and cache.used_bytes == 0
    cache.put(sha256, data)
    path_of(tmp_path, sha256).write_bytes(change[:4000])
    assert get(cache, sha256) is None
    cache.close()


def test_a_content_that_a_disk_damages_is_given_for_minutes_at_most(tmp_path: Path) -> None:
    now_s = [0.0]
    sha256, data = content(1)
    cache = Cache(tmp_path, 1 << 20, lambda: now_s[0])
    cache.put(sha256, data)
    for now_s[0] in (599.0, 600.0, 1199.0):  # checked at 600
        assert get(cache, sha256) == data
    path_of(tmp_path, sha256).write_bytes(bytes(len(data)))
    now_s[0] = 1200.0
    assert get(cache, sha256) is None and not cache.has(sha256)
    cache.put(sha256, data)
    assert get(cache, sha256) == data
    path_of(tmp_path, sha256).write_bytes(bytes(len(data)))
    now_s[0] = 1800.0
    assert get(cache, sha256) is None
    cache.close()


def test_a_content_that_was_removed_is_unknown(tmp_path: Path) -> None:
    sha256, data = content(1)
    cache = Cache(tmp_path, 1 << 20)
    cache.put(sha256, data)
    path_of(tmp_path, sha256).unlink()
    assert get(cache, sha256) is None
    cache.close()


def test_two_servers_do_not_share_a_folder(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 1)
    with pytest.raises(CacheInUseError, match="another server"):
        Cache(tmp_path, 1)
    cache.close()
    Cache(tmp_path, 1).close()


def test_a_full_disk_keeps_nothing_and_harms_nothing(tmp_path: Path) -> None:
    sha256, data = content(1)
    cache = Cache(tmp_path, 1 << 20)
    path_of(tmp_path, sha256).parent.write_bytes(b"no folder")
    cache.put(sha256, data)
    assert not cache.has(sha256) and cache.used_bytes == 0
    cache.close()


def test_threads_see_whole_contents(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 5 * 4096)
    wrong: list[int] = []

    def work(first: int) -> None:
        for number in range(200):
            sha256, data = content((first + number * 7) % 12)
            cache.put(sha256, data)
            if get(cache, sha256) not in (None, data):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and cache.used_bytes <= 5 * 4096
    assert sum(path.stat().st_size for path in tmp_path.glob("??/*")) == cache.used_bytes
    cache.close()


_WRITER = """
import hashlib, sys
from pathlib import Path
from trimtab.cold_store.node.cache import Cache
cache = Cache(Path(sys.argv[1]), 40 << 20)
print("begun", flush=True)
for number in range(100_000):
    data = number.to_bytes(4, "big") * 50_000
    cache.put(hashlib.sha256(data).hexdigest(), data)
"""


def test_a_kill_leaves_whole_contents_only(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert writer.stdout and writer.stdout.readline() == b"begun\n"
    while len(list(tmp_path.glob("??/*"))) < 30:
        pass
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    cache = Cache(tmp_path, 40 << 20)
    names = [path.parent.name + path.name for path in tmp_path.glob("??/*")]
    assert len(names) >= 25 and all(get(cache, name) for name in names)
    cache.close()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.timeout(20)
def test_what_is_no_file_is_left(tmp_path: Path, kind: str) -> None:
    data = b"contents"
    sha256 = hashlib.sha256(data).hexdigest()
    path = tmp_path / sha256[:2] / sha256[2:]
    path.parent.mkdir()
    make = {"link": lambda: path.symlink_to("gone"), "pipe": lambda: os.mkfifo(path)}
    make.get(kind, path.mkdir)()
    cache = Cache(tmp_path, 1 << 20)
    assert cache.opened(sha256) is None
    cache.put(sha256, data)  # in the place of a link or a pipe, and not of a folder
    file = cache.opened(sha256)
    assert (file is None) == (kind == "folder")
    if file:
        assert file.read() == data
        file.close()
    cache.close()
