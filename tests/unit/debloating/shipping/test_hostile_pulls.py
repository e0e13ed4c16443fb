"""What is pulled from a registry, or named by an image, that lies: one line, and no end of time."""

import gzip
import hashlib
import json
from contextlib import suppress
from pathlib import Path

import pytest
from fake_registry import FakeRegistry, Handler, digest_of
from handmade import config_of, entry, layer

from trimtab.cli.verbs import command_line
from trimtab.cold_store.index import OBJECT_BYTES, ColdFile, ColdIndex, ColdLayer
from trimtab.errors import UserError

app = command_line()

OCI = "application/vnd.oci.image"
LAYER = layer(entry("a", b"a file"))
TEXT = bytes(range(256)) * 100


def hold(registry: FakeRegistry, index: str = "") -> None:
    """Hold an image whose label names an index."""
    blob = gzip.compress(LAYER)
    labels = {"dev.trimtab.version": "1", "dev.trimtab.index": index}
    config = json.dumps(config_of([LAYER], config={"Labels": labels})).encode()
    described = [
        {"mediaType": f"{OCI}.{kind}", "digest": digest_of(data), "size": len(data)}
        for kind, data in (("config.v1+json", config), ("layer.v1.tar+gzip", blob))
    ]
    registry.add("demo", config)
    registry.add("demo", blob)
    data = json.dumps({"schemaVersion": 2, "config": described[0], "layers": described[1:]})
    registry.manifests["demo", "1"] = f"{OCI}.manifest.v1+json", data.encode()


def pull(host: str, folder: Path) -> None:
    words = ["image", "pull", f"{host}/demo:1", "--output", str(folder / "image.tar")]
    app([*words, "--store", str(folder / "store")], standalone_mode=False)


def named(*spans: tuple[int, int]) -> bytes:
    """An index of a layer, the TEXT, with files at these places."""
    files = {}
    for start, end in spans:
        assert end - start <= OBJECT_BYTES
        sha256 = hashlib.sha256(TEXT[start:end]).hexdigest()
        files[sha256] = ColdFile(0, start, end - start, (sha256,))
    text = ColdLayer(digest_of(TEXT), len(TEXT), len(TEXT), "none")
    return ColdIndex("", "1", (text,), files).to_bytes()


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (named((0, 9000), (5000, 9001)), "overlap"),
        (named((0, 9000), (0, 50)), "overlap"),
        (b"no index", "no cold index"),
        (b"", "no cold index"),
    ],
)
@pytest.mark.timeout(20)
def test_an_index_that_lies(tmp_path: Path, index: bytes, said: str) -> None:
    registry = FakeRegistry()
    registry.add("demo", TEXT)
    digest = registry.add("demo", index)
    with registry.serving() as host:
        hold(registry, f"{host}/demo@{digest}")
        with pytest.raises(UserError, match=said):
            pull(host, tmp_path)


def test_an_index_in_another_registry(tmp_path: Path) -> None:
    """Copies of an image keep the label."""
    registry = FakeRegistry()
    with registry.serving() as host:
        hold(registry, f"r.org/demo@{digest_of(TEXT)}")
        with pytest.raises(UserError, match=r"is not in 127.*; pull the image from r\.org"):
            pull(host, tmp_path)


def test_a_busy_registry_delays_a_pull(tmp_path: Path) -> None:
    """Each kind of request fails once: a manifest, a layer, the index, and the removed files."""
    failed: set[str] = set()

    def fails_once(handler: Handler) -> bool:
        if handler.path in failed:
            return False
        failed.add(handler.path)
        handler.send(503)
        return True

    registry = FakeRegistry(answer=fails_once)
    registry.add("demo", TEXT)
    digest = registry.add("demo", named((0, 9000)))
    with registry.serving() as host:
        hold(registry, f"{host}/demo@{digest}")
        pull(host, tmp_path)
    [blob] = [each for each in registry.blobs.values() if each.startswith(b"\x1f\x8b")]
    assert blob in (tmp_path / "image.tar").read_bytes()
    assert len(failed) == 5 and any((tmp_path / "store").rglob("*-000000"))


@pytest.mark.timeout(20)
def test_a_layer_without_end_does_not_fill_the_disk(tmp_path: Path) -> None:
    def endless(handler: Handler) -> bool:
        if "/blobs/" not in handler.path:
            return False
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        handler.close_connection = True
        with suppress(OSError):
            while True:
                handler.wfile.write(bytes(1 << 16))
        return True

    registry = FakeRegistry(answer=endless)
    hold(registry)
    with registry.serving() as host, pytest.raises(UserError, match="expected sha256"):
        pull(host, tmp_path)
    assert not (tmp_path / "image.tar").exists()
