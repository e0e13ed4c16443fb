"""Objects from a registry: equal to those of a store, once for many, read ahead, checked."""

import gzip
import hashlib
import itertools
import json
import os
import random
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import lz4.block
import pytest
import zran
from fake_registry import FakeRegistry, Handler, digest_of

from trimtab.cold_store.credentials import Credentials
from trimtab.cold_store.index import HEAD, OBJECT_BYTES, ColdFile, ColdIndex, DamagedIndexError
from trimtab.cold_store.node import indexes
from trimtab.cold_store.node import store as stores
from trimtab.cold_store.node.allowed import Allowed, IndexName
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.damaged import DamagedIndexes
from trimtab.cold_store.node.metrics import Metrics
from trimtab.cold_store.node.misses import MissesFile
from trimtab.cold_store.node.registries import Registries
from trimtab.cold_store.node.store import Request, Response, Store
from trimtab.debloating.store import add_to_store, digests_of
from trimtab.records.misses.cold_store_misses import write_record
from trimtab.records.misses.record_lines import CallLine, FileLine, lines_of_record

_SOURCE = random.Random(5)
LARGE = b"".join(_SOURCE.randbytes(600) + bytes(900) for _ in range(4000))  # 6 MB
SMALL = b"a small file" * 100
TEXT = bytes(512) + LARGE + bytes(1000) + SMALL + bytes(3000)
BLOB = gzip.compress(TEXT, 6, mtime=0)
FILES = {
    (0, 512, len(LARGE)): LARGE,
    (0, 512 + len(LARGE) + 1000, len(SMALL)): SMALL,
    (1, 5, 2000): TEXT[5:2005],
}
INDEX = zran.index_of([(BLOB, TEXT, 300_000), (TEXT, TEXT, 0)], FILES)
OBJECTS = -(-len(LARGE) // OBJECT_BYTES)
FILE = ColdFile(0, 512, 5, ("0" * 64,))


@contextmanager
def node(
    folder: Path,
    registry: FakeRegistry,
    index: ColdIndex | bytes = INDEX,
    cache_bytes: int = 1 << 30,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[Store, IndexName]]:
    registry.add("team/app", BLOB)
    registry.add("team/app", TEXT)
    data = index if isinstance(index, bytes) else index.to_bytes()
    digest = registry.add("team/app", data)
    with registry.serving() as host:
        cache = Cache(folder / "cache", cache_bytes)
        misses = MissesFile(folder / "misses.jsonl")
        allowed = Allowed([f"{host}/team"])
        store = Store(Registries(Credentials()), cache, allowed, misses, clock)
        yield store, IndexName(host, "team/app", digest)
        store.close()
        cache.close()


def name_of(content: bytes, number: int = 0) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}-{number:06d}"


def ask(store: Store, index: IndexName | str, name: str, **headers: str) -> Response:
    given = {"trimtab-index": str(index)} | headers
    return store.answer(Request(f"/{name[:2]}/{name}", given))


def body_of(response: Response) -> bytes:
    data = response.data
    return response.head + (data if isinstance(data, bytes) else data.read())


def content_of(response: Response) -> bytes:
    """Read an object as the runtimes do."""
    assert response.status == 200, response
    data = body_of(response)
    assert data[:8] == b"TRIMTABO"
    offsets = struct.unpack_from("<65I", data, 8)
    assert offsets[64] == len(data)
    return b"".join(data[a:b] for a, b in itertools.pairwise(offsets))


def test_the_same_contents_as_in_a_store(tmp_path: Path) -> None:
    original = tmp_path / "original"
    original.write_bytes(LARGE)
    add_to_store(tmp_path / "store", original, digests_of(original))
    with node(tmp_path, FakeRegistry()) as (store, index):
        for number in range(OBJECTS):
            name = name_of(LARGE, number)
            kept = (tmp_path / "store" / name[:2] / name).read_bytes()
            offsets = struct.unpack_from("<65I", kept, 8)
            size = min(OBJECT_BYTES, len(LARGE) - number * OBJECT_BYTES)
            sizes = [min(16384, max(0, size - at)) for at in range(0, OBJECT_BYTES, 16384)]
            chunks = [kept[a:b] for a, b in itertools.pairwise(offsets)]
            expected = b"".join(
                chunk if len(chunk) == size else lz4.block.decompress(chunk, uncompressed_size=size)
                for chunk, size in zip(chunks, sizes, strict=True)
            )
            assert content_of(ask(store, index, name)) == expected
        assert content_of(ask(store, index, name_of(SMALL))) == SMALL
        assert content_of(ask(store, index, name_of(TEXT[5:2005]))) == TEXT[5:2005]
        assert ask(store, index, name_of(SMALL, 1)).status == 404
        assert ask(store, index, name_of(b"unknown")).status == 404
        assert ask(store, index, f"{name_of(SMALL)[:33]}{'0' * 5000}").status == 404


def test_a_file_of_equal_objects_and_a_log_of_refusals(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Objects that are equal are read ahead once; what a node is asked in a loop is said once."""
    zeros = bytes(3 * OBJECT_BYTES)
    index = zran.index_of([(zeros, zeros, 0)], {(0, 0, len(zeros)): zeros})
    registry = FakeRegistry()
    registry.add("team/app", zeros)
    with node(tmp_path, registry, index) as (store, name):
        for number in range(3):
            assert content_of(ask(store, name, name_of(zeros, number))) == bytes(OBJECT_BYTES)
        other = IndexName(name.host, "another/app", name.digest)
        for _ in range(3):
            assert ask(store, other, name_of(zeros)).status == 403
    assert capfd.readouterr().err.count("the node allows other repositories") == 1


def test_twenty_at_once_make_one_request(tmp_path: Path) -> None:
    registry = FakeRegistry(latency_s=0.02)
    with node(tmp_path, registry) as (store, index), ThreadPoolExecutor(20) as pool:
        answers = pool.map(lambda _: content_of(ask(store, index, name_of(SMALL))), range(20))
        assert set(answers) == {SMALL}
        assert content_of(ask(store, index, name_of(SMALL))) == SMALL
    assert [path.rpartition("/")[2] for _, path, _ in registry.requests] == [
        index.digest,
        INDEX.layers[0].digest,
    ]


def test_objects_in_order_are_read_ahead(tmp_path: Path) -> None:
    registry = FakeRegistry()
    with node(tmp_path, registry) as (store, index):
        parts = [content_of(ask(store, index, name_of(LARGE, each))) for each in range(OBJECTS)]
    assert b"".join(parts) == LARGE
    assert registry.count("GET", "/blobs/") - 1 < OBJECTS


def test_an_object_from_the_middle_brings_no_other(tmp_path: Path) -> None:
    registry = FakeRegistry()
    with node(tmp_path, registry) as (store, index):
        ask(store, index, name_of(LARGE, 3))
    sent = [each["Range"] for _, _, each in registry.requests if "Range" in each]
    [(start, end)] = [map(int, each.removeprefix("bytes=").split("-")) for each in sent]
    assert end - start < 2 * OBJECT_BYTES


def test_many_readers_of_one_file_get_all_of_it(tmp_path: Path) -> None:
    def read(_: int) -> bytes:
        return b"".join(
            content_of(ask(store, index, name_of(LARGE, each))) for each in range(OBJECTS)
        )

    registry = FakeRegistry(latency_s=0.002)
    with node(tmp_path, registry) as (store, index), ThreadPoolExecutor(8) as pool:
        assert set(pool.map(read, range(8))) == {LARGE}
    assert registry.count("GET", "/blobs/") - 1 <= OBJECTS


def test_a_cache_too_small_for_anything(tmp_path: Path) -> None:
    with node(tmp_path, FakeRegistry(), cache_bytes=0) as (store, index):
        parts = [content_of(ask(store, index, name_of(LARGE, each))) for each in range(OBJECTS)]
    assert b"".join(parts) == LARGE and not list((tmp_path / "cache").glob("??/*"))


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_other_bytes_are_neither_given_nor_kept(tmp_path: Path, first: float) -> None:
    """From a registry that sends them with the right length and range."""

    def lies(handler: Handler) -> bool:
        asked = handler.headers.get("Range", "").removeprefix("bytes=")
        if not asked:
            return False
        start, end = map(int, asked.split("-"))
        data = bytearray(BLOB[start : end + 1])
        for at in range(int(first * len(data)), len(data), 5000):
            data[at] ^= 64
        handler.send(206, bytes(data), Content_Range=f"bytes {start}-{end}/{len(BLOB)}")
        return True

    with node(tmp_path, FakeRegistry(answer=lies)) as (store, index):
        answers = [ask(store, index, name_of(LARGE, each)) for each in range(OBJECTS)]
    for number, answer in enumerate(answers):
        if answer.status == 200:
            start = number * OBJECT_BYTES
            assert content_of(answer) == LARGE[start : start + OBJECT_BYTES]
        else:
            assert answer.status == 502 and answer.head.count(b"\n") == 1
    assert 502 in {answer.status for answer in answers}
    for path in (tmp_path / "cache").glob("??/*"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.parent.name + path.name


def test_an_index_of_other_hashes_gives_nothing(tmp_path: Path) -> None:
    """Its layer is right, but it names a content that is elsewhere."""
    files = {
        sha256: replace(file, objects=tuple("0" * 64 for _ in file.objects))
        for sha256, file in INDEX.files.items()
        if len(file.objects) > 1
    }
    with node(tmp_path, FakeRegistry(), replace(INDEX, files=files)) as (store, index):
        assert ask(store, index, name_of(LARGE)).status == 502


def test_a_registry_that_is_down_is_left_alone_for_a_second(tmp_path: Path) -> None:
    down = []

    def fails(handler: Handler) -> bool:
        if down:
            handler.send(503)
        return bool(down)

    registry = FakeRegistry(answer=fails)
    times = [0.0]
    with node(tmp_path, registry) as (store, index):
        store._objects._registries._clock = lambda: times[0]
        down.append(True)
        for number in range(20):
            answer = ask(store, index, name_of(LARGE, number % OBJECTS))
            assert answer.status == 502 and b"503" in answer.head
        assert len(registry.requests) == 2  # and one more try
        down.clear()
        assert ask(store, index, name_of(SMALL)).status == 502
        times[0] = 1.5
        assert content_of(ask(store, index, name_of(SMALL))) == SMALL


def test_what_is_kept_is_served_without_a_registry(tmp_path: Path) -> None:
    with node(tmp_path, FakeRegistry()) as (store, index):
        ask(store, index, name_of(SMALL))
    cache = Cache(tmp_path / "cache", 1 << 30)
    later = Store(Registries(Credentials()), cache, Allowed([f"{index.host}/team"]))
    assert content_of(ask(later, index, name_of(SMALL))) == SMALL
    assert ask(later, index, name_of(LARGE)).status == 502
    cache.close()


@pytest.mark.parametrize(
    ("allowed", "named", "status"),
    [
        ("r.org/team", "r.org/team/app", 502),
        ("r.org/team", "r.org/team", 502),
        ("r.org/team/", "r.org/team/app", 502),
        ("r.org", "r.org/any/thing", 502),
        ("r.org/team", "r.org/teammate/app", 403),
        ("r.org/team/app", "r.org/team", 403),
        ("r.org/team", "r.org:5000/team/app", 403),
        ("r.org/team", "other.org/team", 403),
        ("r.org/team", "r.org/team/../secret", 400),
        ("r.org/team", "r.org/team/%2e%2e/x", 400),
        ("r.org/team", "user@r.org/team", 400),
        ("r.org/team", "r.org/team?x", 400),
        ("r.org/team", "r.org/TEAM", 400),
    ],
)
def test_what_a_container_may_name(
    tmp_path: Path, allowed: str, named: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(Registries, "ask", nothing)
    cache = Cache(tmp_path, 0)
    store = Store(Registries(Credentials()), cache, Allowed([allowed]))
    answer = ask(store, f"{named}@sha256:{'0' * 64}", name_of(SMALL))
    cache.close()
    assert answer.status == status


@pytest.mark.parametrize("rule", ["", "/", "r.org/a b", "r.org/../x", "https://r.org/x"])
def test_rules_that_are_none(rule: str) -> None:
    with pytest.raises(ValueError, match="expected HOST"):
        Allowed([rule])


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/ab/cd-000000", {}),
        ("/ab", {}),
        ("//", {}),
        ("/ab/ab/../x", {}),
        ("/ab/ab-0", {"trimtab-index": "no"}),
    ],
)
def test_malformed_requests(tmp_path: Path, path: str, headers: dict[str, str]) -> None:
    with node(tmp_path, FakeRegistry()) as (store, index):
        assert store.answer(Request(path, {"trimtab-index": str(index)} | headers)).status == 400
    assert (tmp_path / "misses.jsonl").read_text() == ""


@pytest.mark.parametrize(
    "piece",
    [
        "not json",
        "[1]",
        '{"a":NaN}',
        '{"a":1e999}',
        '{"a":"%00"}',
        '{"a":1}%0a{"b":1}',
        '{"a":"\\ud800"}',
        '{"a":{"b":1}}',
        '{"a":true}',
        '{"a":' + "[" * 900,
        '{"a":"' + "b" * 1000 + '"}',
    ],
)
def test_a_piece_that_is_none_is_not_written(tmp_path: Path, piece: str) -> None:
    """The object is given all the same: it is what the program waits for."""
    with node(tmp_path, FakeRegistry()) as (store, index):
        answer = ask(store, index, name_of(SMALL), **{"trimtab-piece": piece})
        assert content_of(answer) == SMALL
    assert (tmp_path / "misses.jsonl").read_text() == ""


def test_what_was_written_is_learnt(tmp_path: Path) -> None:
    pieces = [
        {"pid": 7, "time_s": 1.5, "file": "opt/a \u00a0b", "kind": "file"},
        {"pid": 7, "time_s": 1.5, "library": "lib/x.so", "address": 64, "function": "f"},
    ]
    given = [quote(json.dumps(each, ensure_ascii=False)) for each in pieces]
    given.append(given[0].replace("opt", "%ff"))
    with node(tmp_path, FakeRegistry()) as (store, index):
        for each in given:
            ask(store, index, name_of(SMALL), **{"trimtab-piece": each})
    misses, record = tmp_path / "misses.jsonl", tmp_path / "record.jsonl"
    assert not write_record([misses], [str(index)], lambda _: True, record)
    file, call, odd = lines_of_record(tmp_path / "record.jsonl")
    assert file == FileLine(**pieces[0]) and call == CallLine(**pieces[1])
    assert isinstance(odd, FileLine) and odd.file.startswith("\udcff/a")


def test_what_was_missed_is_counted_and_written(tmp_path: Path) -> None:
    piece = "%7B%22pid%22%3A1%2C%22file%22%3A%22a%C3%A4%22%7D"
    with node(tmp_path, FakeRegistry()) as (store, index):
        for _ in range(2):
            ask(store, index, name_of(SMALL), **{"trimtab-piece": piece})
        ask(store, "other.org/x@sha256:" + "0" * 64, name_of(SMALL), **{"trimtab-piece": piece})
        text = store.answer(Request("/metrics", {})).head.decode()
        assert store.answer(Request("/healthz", {})).status == 200
    line = f'{{"index":"{index}","piece":{{"pid":1,"file":"a\\u00e4"}}}}\n'
    assert (tmp_path / "misses.jsonl").read_text() == line
    for expected in (
        'requests_total{outcome="registry"} 1',
        'requests_total{outcome="cache"} 1',
        'requests_total{outcome="refused"} 1',
        f'misses_total{{index="{index}"}} 2',
        f'bytes_total{{source="cache"}} {len(SMALL)}',
        "seconds_count 3",
    ):
        assert f"\ntrimtab_cold_store_{expected}\n" in text


def test_labels_are_bounded(tmp_path: Path) -> None:
    with node(tmp_path, FakeRegistry()) as (store, index):
        down = time.monotonic() + 100, TimeoutError()
        store._objects._registries._down[index.host] = down  # type: ignore[assignment]
        for number in range(300):
            ask(store, replace(index, digest=f"sha256:{number:064d}"), name_of(SMALL))
        text = store.answer(Request("/metrics", {})).head.decode()
    assert text.count("misses_total{") == 201 and 'index="others"} 100\n' in text


def test_a_container_cannot_fill_a_disk_by_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with node(tmp_path, FakeRegistry()) as (store, name):
        for number in range(2000):
            other = IndexName(name.host, f"another/app{number}", name.digest)
            assert ask(store, other, name_of(SMALL)).status == 403
    assert capfd.readouterr().err.count("\n") < 500


def test_a_full_disk_loses_misses_alone(tmp_path: Path) -> None:
    registry = FakeRegistry()
    registry.add("team/app", TEXT)
    digest = registry.add("team/app", INDEX.to_bytes())
    with registry.serving() as host:
        cache, misses = Cache(tmp_path, 0), MissesFile(Path("/dev/full"))
        store = Store(Registries(Credentials()), cache, Allowed([host]), misses)
        name = IndexName(host, "team/app", digest)
        piece = {"trimtab-piece": quote('{"file": "a"}')}
        assert content_of(ask(store, name, name_of(TEXT[5:2005]), **piece)) == TEXT[5:2005]
        store.close()


def test_a_line_that_was_cut_off_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next one would follow it, and `learn` would refuse the file."""
    path, write = tmp_path / "misses", os.write
    misses, index = MissesFile(path), IndexName("r.org", "a", f"sha256:{'0' * 64}")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[:9]))
        misses.append(index, {"file": "a"})
    misses.append(index, {"file": "b"})
    assert [json.loads(line)["piece"] for line in path.open()] == [{"file": "b"}]


def test_a_slow_registry_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do the containers that wait for it take all connections."""
    given_up = threading.Event()

    def stops(handler: Handler) -> bool:
        handler.close_connection = True
        return "Range" in handler.headers and given_up.wait(20)

    monkeypatch.setattr(stores, "_MOST_OF_A_HOST", 20)
    slow, other = FakeRegistry(answer=stops), FakeRegistry()
    for registry in (slow, other):
        registry.add("app", BLOB)
        registry.add("app", TEXT)
        digest = registry.add("app", INDEX.to_bytes())
    with slow.serving() as here, other.serving() as there, ThreadPoolExecutor(20) as pool:
        allowed, cache = Allowed([here, there]), Cache(tmp_path, 0)
        store = Store(Registries(Credentials()), cache, allowed)
        names = [IndexName(each, "app", digest) for each in (here, there)]
        for number in range(20):
            pool.submit(ask, store, names[0], name_of(LARGE, number % OBJECTS))
        while b"wait" not in (refused := ask(store, names[0], name_of(LARGE, OBJECTS))).head:
            time.sleep(0)
        assert refused.status == 502
        assert content_of(ask(store, names[1], name_of(SMALL))) == SMALL
        given_up.set()
        store.close()


def test_indexes_are_kept_by_what_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes, packed, may be hundreds of times as many in memory."""
    monkeypatch.setattr(indexes, "_MOST_KEPT_BYTES", 1 << 19)
    files = {f"{at:064x}": FILE for at in range(1500)}
    one = ColdIndex("", "", INDEX.layers[1:], files)
    registry = FakeRegistry()
    digests = [
        registry.add("app", replace(one, version=version).to_bytes()) for version in ("1", "2")
    ]
    with registry.serving() as host:
        registries, cache = Registries(Credentials()), Cache(tmp_path, 0)
        kept = indexes.Indexes(registries, cache, Metrics(), DamagedIndexes())
        for digest in (digests[0], *digests, digests[0]):
            kept.get(IndexName(host, "app", digest))
    asked = [path.rpartition("/")[2] for _, path, _ in registry.requests]
    assert asked == [*digests, digests[0]]


def metric(store: Store, name: str) -> str:
    text = body_of(store.answer_about_itself(Request("/metrics", {}))).decode()
    [line] = [each for each in text.splitlines() if each.startswith(f"trimtab_cold_store_{name} ")]
    return line.split()[1]


@pytest.mark.parametrize("lies", [False, True])
def test_a_damaged_index_is_read_once_a_minute(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], lies: bool
) -> None:
    """What was pushed is none, or the registry sends other bytes than it was asked for."""
    now_s = [0.0]

    def other(handler: Handler) -> bool:
        if lies and digest in handler.path:
            handler.send(200, b"other bytes")
            return True
        return False

    data = INDEX.to_bytes() if lies else b"TRIMTABI" + bytes(5000)
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    registry = FakeRegistry(answer=other)
    with node(tmp_path, registry, data, clock=lambda: now_s[0]) as (store, name):
        for now_s[0] in (0.0, 1.0, 59.9):
            answer = ask(store, name, name_of(SMALL))
            assert answer.status == 502
            assert f"{name}: the index cannot be used".encode() in answer.head
        assert registry.count("GET", "/blobs/") == 1
        assert metric(store, "damaged_indexes_total") == "1"
        for now_s[0] in (60.0, 61.0):
            assert ask(store, name, name_of(SMALL)).status == 502
        assert registry.count("GET", "/blobs/") == 2
        assert metric(store, "damaged_indexes_total") == "2"
        if lies:  # the registry was mended
            lies = False
            now_s[0] = 200.0
            assert content_of(ask(store, name, name_of(SMALL))) == SMALL
    assert capfd.readouterr().err.count("the index cannot be used") == 1


def test_an_index_that_a_disk_damages_is_read_again(tmp_path: Path) -> None:
    registry = FakeRegistry()
    registry.add("team/app", TEXT)
    digest = registry.add("team/app", data := INDEX.to_bytes())
    cache = Cache(tmp_path, 1 << 20)
    with registry.serving() as host:
        name, given = IndexName(host, "team/app", digest), Registries(Credentials())
        for damage in (b"", b"\xff"):
            cold = indexes.Indexes(given, cache, Metrics(), DamagedIndexes())
            assert cold.get(name).layers == INDEX.layers
            sha256 = digest.removeprefix("sha256:")
            path = tmp_path / sha256[:2] / sha256[2:]
            assert path.read_bytes() == data
            path.write_bytes(data[: -len(damage)] + damage if damage else data)
        cold = indexes.Indexes(given, cache, Metrics(), DamagedIndexes())
        assert cold.get(name).layers == INDEX.layers and path.read_bytes() == data
    assert registry.count("GET", "/blobs/") == 2
    cache.close()


def test_damaged_indexes_are_remembered_within_bounds() -> None:
    damaged = DamagedIndexes(lambda: 0.0)
    names = [IndexName("r.org", f"app{each}", digest_of(b"")) for each in range(2000)]
    for each in names:
        damaged.add(each, "why")
    damaged.check(names[0])
    with pytest.raises(DamagedIndexError, match=r"r\.org/app1999@.*why"):
        damaged.check(names[-1])


@pytest.mark.parametrize("files", [[], None, "", {"0" * 64: {}}])
def test_an_index_whose_files_are_none(files: object) -> None:
    table = gzip.compress(
        json.dumps({"original": "", "trimtab": "", "layers": [], "files": files}).encode()
    )
    with pytest.raises(DamagedIndexError):
        ColdIndex.parse(HEAD.pack(b"TRIMTABI", 1, len(table)) + table)
