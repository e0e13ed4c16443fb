"""Slim images in a registry: nothing is stored twice, and all that was removed is found."""

import filecmp
import gzip
import hashlib
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fake_registry import FakeRegistry, Handler, digest_of
from handmade import config_of, entry, layer, oci_image
from handmade_zstd import chunked
from machine_root import root_of_programs, tar_of_entered

from trimtab.cli.verbs import command_line
from trimtab.cold_store import index as cold_index
from trimtab.cold_store.credentials import Credentials
from trimtab.cold_store.index import ColdIndex
from trimtab.cold_store.node.allowed import Allowed
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.registries import Registries
from trimtab.cold_store.node.store import Request, Store
from trimtab.debloating.shipping import zstd_frames
from trimtab.debloating.shipping.artifact import ARTIFACT_TYPE
from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.zstd import zstd

app = command_line()

OCI = "application/vnd.oci.image"
CONFIG = {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo b | sort"], "WorkingDir": "/tmp"}
RANDOM = random.Random(35)
LARGE = RANDOM.randbytes(3 << 20) + b"pressed well " * 300_000  # of seven objects
UPPER = layer(*(entry(f"srv/{name}", data) for name, data in (("large", LARGE), ("small", b"s"))))


@pytest.fixture(scope="module")
def lower(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    root = tmp_path_factory.mktemp("root") / "root"
    root_of_programs(root, ["sh", "sort", "tar"])
    return tar_of_entered(root)


@pytest.fixture(scope="module")
def workspace(lower: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace with the slim image of two layers; tests do not change it."""
    folder = tmp_path_factory.mktemp("slim")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        original = oci_image(folder / "demo.tar", lower, UPPER, config=CONFIG)
        trimtab("image", "slim", str(original), "--workspace", str(folder / "work"),
                "--runs", "1", "--settle", "1")  # fmt: skip
    yield folder / "work"


def trimtab(*words: str) -> None:
    app(list(words), standalone_mode=False)


@cache
def pressed(data: bytes, packed: Any) -> bytes:
    compressed: bytes = packed(data)
    return compressed


def hold(registry: FakeRegistry, repository: str, *layers: bytes, packed: Any = None) -> None:
    """Hold the original as other tools push it: its layers compressed by zlib, or as `packed`."""
    compressed = [pressed(data, packed or gzip.compress) for data in layers]
    kind = {None: "tar+gzip", bytes: "tar"}.get(packed, "tar+zstd")
    config = json.dumps(config_of(layers, config=CONFIG)).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": described(f"{OCI}.config.v1+json", config),
        "layers": [described(f"{OCI}.layer.v1.{kind}", data) for data in compressed],
    }
    for blob in (config, *compressed):
        registry.add(repository, blob)
    data = json.dumps(manifest).encode()
    for name in ("1", digest_of(data)):
        registry.manifests[repository, name] = f"{OCI}.manifest.v1+json", data


def described(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": digest_of(data), "size": len(data)}


def index_in(registry: FakeRegistry, repository: str) -> tuple[ColdIndex, bytes]:
    (manifest,) = [
        json.loads(data)
        for (name, reference), (_, data) in registry.manifests.items()
        if name == repository
        and reference == digest_of(data)
        and json.loads(data).get("artifactType") == ARTIFACT_TYPE
    ]
    data = registry.blobs[repository, manifest["layers"][0]["digest"]]
    assert manifest["subject"]["digest"] == digest_of(registry.manifests[repository, "slim"][1])
    for each in (*manifest["layers"], manifest["config"]):
        assert (repository, each["digest"]) in registry.blobs
    return ColdIndex.parse(data), data


def assert_served(registry: FakeRegistry, index: ColdIndex, line: str, folder: Path) -> None:
    """Assert that a node has all that was removed, the last object of each file first."""
    cache = Cache(folder / "cache", 0)
    host = line.partition("/")[0]
    node = Store(Registries(Credentials()), cache, Allowed([f"{host}/team"]))
    for sha256, file in index.files.items():
        for number in range(len(file.objects) - 1, -1, -1):
            name = f"{sha256[:32]}-{number:06d}"
            asked = Request(f"/{name[:2]}/{name}", {"trimtab-index": line})
            answer = node.answer(asked)
            assert answer.status == 200 and isinstance(answer.data, bytes)
            assert hashlib.sha256(answer.data).hexdigest() == file.objects[number]
    node.close()
    cache.close()


def same(one: Path, other: Path) -> bool:
    files = {path.relative_to(one) for path in one.rglob("*") if path.is_file()}
    assert files == {path.relative_to(other) for path in other.rglob("*") if path.is_file()}
    return not filecmp.cmpfiles(one, other, map(str, files), shallow=False)[1]


@pytest.mark.parametrize("subjects", [True, False], ids=["referrers", "fallback tag"])
@pytest.mark.parametrize(
    "packed",
    [None, bytes, chunked, zstd.compress],
    ids=["gzip", "uncompressed", "zstd:chunked", "zstd of one frame"],
)
def test_only_the_slim_image_and_its_index_are_stored(
    workspace: Path, lower: bytes, tmp_path: Path, packed: Any, subjects: bool
) -> None:
    registry = FakeRegistry(subjects=subjects)
    hold(registry, "team/demo", lower, UPPER, packed=packed)
    before = set(registry.blobs)
    with registry.serving() as host:
        name = f"{host}/team/demo:slim"
        push = ("image", "push", str(workspace / "slim.tar"), "--to", name)
        trimtab(*push, "--original", f"{host}/team/demo:1")
        index, data = index_in(registry, "team/demo")
        added = {key: registry.blobs[key] for key in registry.blobs.keys() - before}
        slim = json.loads(registry.manifests["team/demo", "slim"][1])
        ours = {each["digest"] for each in (*slim["layers"], slim["config"])}
        assert {digest for _, digest in added} == ours | {digest_of(data), digest_of(b"{}")}
        assert len(index.layers) == 2
        assert_served(registry, index, f"{host}/team/demo@{digest_of(data)}", tmp_path)
        trimtab(*push, "--original", f"{host}/team/demo:1")  # again: the same
        assert index_in(registry, "team/demo")[1] == data
        tags = {tag for _, tag in registry.manifests if not tag.startswith("sha256:")}
        assert tags == {"1", "slim"} | (
            {tag for tag in tags if "-" in tag} if not subjects else set()
        )
        store, archive = tmp_path / "store", tmp_path / "pulled.tar"
        trimtab("image", "pull", name, "--output", str(archive), "--store", str(store))
        pulled = open_image(archive)
        trimtab("image", "inspect", name)
    assert same(store, workspace / "store")
    labels = pulled.config.run().labels
    assert labels["dev.trimtab.index"] == f"{host}/team/demo@{digest_of(data)}"
    manifest = registry.manifests["team/demo", "1"][1]
    assert labels["dev.trimtab.original"] == f"{host}/team/demo@{digest_of(manifest)}"
    assert index.original == digest_of(manifest)


def test_layers_of_another_repository_are_mounted(workspace: Path, lower: bytes) -> None:
    registry = FakeRegistry()
    hold(registry, "base/demo", lower, UPPER)
    with registry.serving() as host:
        trimtab("image", "push", str(workspace / "slim.tar"), "--to", f"{host}/slim/demo:slim",
                "--original", f"{host}/base/demo:1")  # fmt: skip
    index, _ = index_in(registry, "slim/demo")
    assert all(("slim/demo", layer.digest) in registry.blobs for layer in index.layers)
    uploads = registry.count("PUT", "/blobs/uploads")
    assert uploads == 5  # two layers and config of the slim image, the index, the empty config


def test_layers_are_copied_where_they_cannot_be_mounted(workspace: Path, lower: bytes) -> None:
    def refuses(handler: Handler) -> bool:
        if "mount=" in handler.path:
            handler.send(405)
        return "mount=" in handler.path

    registry = FakeRegistry(answer=refuses)
    hold(registry, "base/demo", lower, UPPER)
    with registry.serving() as host:
        trimtab("image", "push", str(workspace / "slim.tar"), "--to", f"{host}/slim/demo:slim",
                "--original", f"{host}/base/demo:1")  # fmt: skip
    index, _ = index_in(registry, "slim/demo")
    assert all(("slim/demo", layer.digest) in registry.blobs for layer in index.layers)


@pytest.mark.parametrize("listed", [b"x", b'{"manifests": [5]}'])
def test_a_damaged_list_of_referrers_is_said(workspace: Path, lower: bytes, listed: bytes) -> None:
    def lies(handler: Handler) -> bool:
        is_list = handler.command != "PUT" and "/manifests/sha256-" in handler.path
        if is_list:
            handler.send(200, listed, Content_Type=f"{OCI}.index.v1+json")
        return is_list

    registry = FakeRegistry(answer=lies, subjects=False)
    hold(registry, "demo", lower, UPPER)
    with registry.serving() as host, pytest.raises(UserError, match="referrers is damaged"):
        trimtab("image", "push", str(workspace / "slim.tar"), "--to", f"{host}/demo:slim",
                "--original", f"{host}/demo:1")  # fmt: skip
    assert ("demo", "slim") not in registry.manifests


def test_an_index_that_no_node_reads_is_not_pushed(
    workspace: Path, lower: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold_index, "_MOST_VALUES", 5)
    registry = FakeRegistry()
    hold(registry, "demo", lower, UPPER)
    with registry.serving() as host, pytest.raises(UserError, match="too many for a cold index"):
        trimtab("image", "push", str(workspace / "slim.tar"), "--to", f"{host}/demo:slim",
                "--original", f"{host}/demo:1")  # fmt: skip
    assert registry.count("PUT", "/") == 0


@pytest.mark.parametrize("held", ["nothing", "zstd", "a layer"])
def test_what_the_registry_lacks_is_one_blob(
    workspace: Path,
    lower: bytes,
    tmp_path: Path,
    held: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As are layers of zstd of which no part can be read: here their frames are too long."""
    monkeypatch.setattr(zstd_frames, "MOST_SKIPPED_BYTES", 1 << 20)
    registry = FakeRegistry()
    asked: tuple[str, ...] = ()
    with registry.serving() as host:
        if held != "nothing":
            layers = (lower,) if held == "a layer" else (lower, UPPER)
            packed = zstd.compress if held == "zstd" else None
            hold(registry, "demo", *layers, packed=packed)
            asked = ("--original", f"{host}/demo:1")
        name = f"{host}/demo:slim"
        trimtab("image", "push", str(workspace / "slim.tar"), "--to", name, *asked)
        index, _ = index_in(registry, "demo")
        assert len(index.layers) == (2 if held == "a layer" else 1)
        store = tmp_path / "store"
        trimtab("image", "pull", name, "--output", str(tmp_path / "p.tar"), "--store", str(store))
    assert same(store, workspace / "store")


def test_what_is_nowhere_is_said_before_anything_is_named(
    workspace: Path, lower: bytes, tmp_path: Path
) -> None:
    registry = FakeRegistry()
    hold(registry, "demo", lower)
    alone = tmp_path / "slim.tar"
    alone.write_bytes((workspace / "slim.tar").read_bytes())
    with registry.serving() as host:
        push = ("image", "push", str(alone), "--to", f"{host}/demo:slim")
        for words, said in (
            ((), r"are neither in the registry nor elsewhere: push the image.*--original"),
            (("--original", f"{host}/demo:2"), "push it there first"),
            (("--original", f"{host}/demo:1", "--to", f"{host}/demo:1"), "is the original, which"),
            (
                ("--original", f"{host}/demo:1"),
                r"^2 of the removed files, as srv/.*in the original in demo.*--store",
            ),
        ):
            with pytest.raises(UserError, match=said):
                trimtab(*push, *words)
    assert {reference for _, reference in registry.manifests} == {
        "1", digest_of(registry.manifests["demo", "1"][1])
    }  # fmt: skip


def test_a_name_without_a_registry(workspace: Path) -> None:
    with pytest.raises(UserError, match="names no registry; expected HOST/REPOSITORY:TAG"):
        trimtab("image", "push", str(workspace / "slim.tar"), "--to", "demo:slim")


def test_an_image_that_is_not_slim(lower: bytes, tmp_path: Path) -> None:
    original = oci_image(tmp_path / "demo.tar", lower, config=CONFIG)
    with pytest.raises(UserError, match=r"no slim image: it has no label dev\.trimtab\.version"):
        trimtab("image", "inspect", str(original))
