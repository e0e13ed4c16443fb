"""Images as engines old and new save them, and archives that hold several."""

import gzip
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from handmade import Blobs, config_of, entry, hard_link, layer, link, oci_image, save, sha256

from trimtab.images.archives.opening import open_image
from trimtab.images.errors import ImageError
from trimtab.images.merging import merged_view

ONE, TWO = layer(entry("one", b"1")), layer(entry("two", b"22"))
PLATFORMS = {"amd64": {"os": "linux", "architecture": "amd64"},
             "arm64": {"os": "linux", "architecture": "arm64", "variant": "v8"},
             "arm": {"os": "linux", "architecture": "arm", "variant": "v6"}}  # fmt: skip
REF, ENGINE = "org.opencontainers.image.ref.name", "io.containerd.image.name"


def docker_files(*layers: bytes, tags: Any = ("demo:1",), **config: Any) -> dict[str, bytes]:
    """What `docker save` wrote before Docker 25."""
    made = json.dumps(config_of(layers, **config)).encode()
    name = sha256(made).removeprefix("sha256:") + ".json"
    files = {f"{number}/layer.tar": data for number, data in enumerate(layers)}
    manifest = [{"Config": name, "RepoTags": tags and list(tags), "Layers": list(files)}]
    return {name: made, **files, "manifest.json": json.dumps(manifest).encode()}


def names(path: Path) -> list[str]:
    return [found for found, _ in merged_view(open_image(path)).walk()]


@pytest.mark.parametrize("name", ["image.tar", "image"])
def test_docker_archives(tmp_path: Path, name: str) -> None:
    path = save(tmp_path / name, docker_files(ONE, TWO))
    assert names(path) == ["/", "/one", "/two"]
    assert open_image(path).names == ("demo:1",)


def test_a_layer_that_is_there_twice_is_a_link(tmp_path: Path) -> None:
    files = docker_files(ONE, TWO, ONE)
    entries = [entry(name, data) for name, data in files.items() if name != "2/layer.tar"]
    path = tmp_path / "image.tar"
    for twin in (link("./2/layer.tar", "../0/layer.tar"), hard_link("2/layer.tar", "0/layer.tar")):
        path.write_bytes(layer(*entries, twin))
        assert names(path) == ["/", "/one", "/two"]
    path.write_bytes(layer(*entries, link("2/layer.tar", "layer.tar")))
    with pytest.raises(ImageError, match="without end"):
        open_image(path)


@pytest.mark.parametrize("name", ["image.tar", "image"])
def test_oci_layouts(tmp_path: Path, name: str) -> None:
    run = {"Entrypoint": ["/e", "x"], "User": "5:6", "Labels": {"a": "b"}, "WorkingDir": "/w",
           "ExposedPorts": {"80/tcp": {}}, "Volumes": {"/v": {}}, "Env": None}  # fmt: skip
    path = oci_image(tmp_path / name, ONE, TWO, config=run)
    assert names(path) == ["/", "/one", "/two"]
    found = open_image(path).config.run()
    assert (found.entrypoint, found.user, found.labels) == (("/e", "x"), "5:6", {"a": "b"})
    assert (found.ports, found.volumes, found.working_folder) == (("80/tcp",), ("/v",), "/w")
    assert found.environment == found.command == ()


def test_a_layout_counts_before_a_docker_manifest(tmp_path: Path) -> None:
    """As Docker 25 saves both: the layout has digests of all parts."""
    blobs = Blobs()
    manifest = blobs.manifest([ONE], annotations={ENGINE: "docker.io/library/demo:1", REF: "1"})
    blobs.index(manifest)
    path = save(tmp_path / "i.tar", {**blobs.files, "manifest.json": b"[]"})
    assert names(path) == ["/", "/one"]
    assert {"docker.io/library/demo:1", "1"} & {*open_image(path).names}
    assert open_image(path).layers[0].digest


def several(tmp_path: Path) -> Path:
    blobs = Blobs()
    manifests = [
        blobs.manifest([layer(entry(name))], platform=platform, config=config_of(
            [layer(entry(name))], **platform))
        for name, platform in PLATFORMS.items()
    ]  # fmt: skip
    attested = blobs.add(
        {"no": "image"},
        manifests[0]["mediaType"],
        platform={"os": "unknown", "architecture": "unknown"},
        annotations={"vnd.docker.reference.type": "attestation-manifest"},
    )
    inner = {"schemaVersion": 2, "manifests": [*manifests, attested]}
    kind = "application/vnd.oci.image.index.v1+json"
    blobs.index(blobs.add(inner, kind, annotations={REF: "demo:1"}))
    return save(tmp_path / "several", blobs.files)


@pytest.mark.parametrize(
    ("machine", "found"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("s390x", "")]
)
def test_the_image_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, found: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    path = several(tmp_path)
    if found:
        assert names(path) == ["/", f"/{found}"]
    else:
        with pytest.raises(ImageError, match="for linux/s390x, but for linux/amd64, linux/arm/v6"):
            open_image(path)


def test_the_only_image_is_taken_whatever_it_is_for(tmp_path: Path) -> None:
    path = oci_image(tmp_path / "image", ONE, architecture="riscv64")
    docker = save(tmp_path / "docker", docker_files(ONE, architecture="riscv64"))
    assert names(path) == names(docker) == ["/", "/one"]


def test_several_images_are_refused(tmp_path: Path) -> None:
    blobs = Blobs()
    blobs.index(blobs.manifest([ONE], annotations={REF: "a:1"}),
                blobs.manifest([TWO], annotations={REF: "b:latest"}),
                blobs.manifest([TWO], annotations={REF: "c:1"}))  # fmt: skip
    path = save(tmp_path / "image", blobs.files)
    with pytest.raises(ImageError, match=r"has 2 images \(a:1, b:latest, c:1\); expected one"):
        open_image(path)


def changed(key: str, value: Any, of: str) -> dict[str, bytes]:
    """An OCI image with a key changed in the index, the manifest or the config."""
    blobs = Blobs()
    config = config_of([ONE])
    if of == "config":
        config[key] = value
    manifest = blobs.manifest([ONE], config=config)
    if of == "manifest":
        made = json.loads(blobs.files["blobs/" + manifest["digest"].replace(":", "/")])
        made[key] = value
        manifest = blobs.add(made, manifest["mediaType"])
    if of == "descriptor":
        manifest[key] = value
    blobs.index(manifest)
    if of == "file":
        blobs.files[key] = value
    return blobs.files


@pytest.mark.parametrize(
    ("key", "value", "of", "words"),
    [
        ("index.json", b"{", "file", "not JSON"),
        ("index.json", b"[]", "file", "not a JSON object"),
        ("index.json", b'{"manifests": {}}', "file", "manifests: expected a list"),
        ("index.json", b'{"manifests": [3]}', "file", r"manifests\[0\]: expected an object"),
        ("index.json", b'{"manifests": []}', "file", "has no image"),
        ("index.json", b"[" * 100_000, "file", "nested too deeply"),
        ("index.json", b" " * (9 << 20), "file", "expected at most"),
        ("oci-layout", b'{"imageLayoutVersion": "2.0"}', "file", "expected 1.0.0"),
        ("digest", "sha256:../../../etc/passwd", "descriptor", "is no digest"),
        ("digest", "md5:" + "0" * 32, "descriptor", "is no digest"),
        ("digest", "sha256:" + "0" * 64, "descriptor", "is missing"),
        ("size", 1, "descriptor", "but 1 were expected"),
        ("size", -1, "descriptor", "expected a number"),
        ("size", True, "descriptor", "expected a number"),
        ("mediaType", "application/vnd.cyclonedx+json", "descriptor", "has no image"),
        ("layers", [], "manifest", "names 0 layers"),
        ("config", {}, "manifest", "expected a text"),
        ("rootfs", {"diff_ids": ["sha256:" + "0" * 64] * 501}, "config", "501 layers"),
        ("rootfs", {"diff_ids": ["0"]}, "config", "is no digest"),
        ("config", {"Env": "PATH=/"}, "config", "config.Env: expected a list"),
        ("config", {"Labels": {"a": 1}}, "config", "config.Labels: expected"),
        ("history", ["text"], "config", r"history\[0\]: expected an object"),
        ("os", "windows", "config", "expected an image for Linux"),
    ],
)
def test_documents_that_are_wrong(
    tmp_path: Path, key: str, value: Any, of: str, words: str
) -> None:
    for name in ("image", "image.tar"):
        path = save(tmp_path / name, changed(key, value, of))
        with pytest.raises(ImageError, match=words) as caught:
            open_image(path)
        assert str(caught.value).startswith(str(path)) and len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("kind", "words"),
    [("application/vnd.oci.image.layer.v1.tar+gzip+encrypted", "encrypted"),
     ("application/vnd.in-toto+json", "in-toto")],
)  # fmt: skip
def test_layers_that_are_none(tmp_path: Path, kind: str, words: str) -> None:
    blobs = Blobs()
    packed = blobs.add(gzip.compress(ONE), kind)
    path = save(tmp_path / "image", changed("layers", [packed], "manifest") | blobs.files)
    index = changed("layers", [packed], "manifest")
    save(path, {"index.json": index["index.json"]})
    with pytest.raises(ImageError, match=words):
        open_image(path)


def test_layers_that_lie_elsewhere(tmp_path: Path) -> None:
    packed = {"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
              "digest": sha256(b""), "size": 5, "urls": ["https://example.org/layer"]}  # fmt: skip
    path = save(tmp_path / "image", changed("layers", [packed], "manifest"))
    with pytest.raises(ImageError, match="got from elsewhere"):
        open_image(path)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"repositories": b"{}"}, "neither an OCI image layout"),
        ({**docker_files(ONE), "manifest.json": b'[{"Config": "../../etc/passwd"}]'}, "leads out"),
        ({**docker_files(ONE), "manifest.json": b'[{"Config": "c", "RepoTags": 1}]'}, "RepoTags"),
        ({**docker_files(ONE), "manifest.json": b'[{"Config": "c"}]'}, "missing"),
        ({**docker_files(ONE), "manifest.json": b"[]"}, "has no image"),
        ({**docker_files(ONE), "manifest.json": b"[[]]"}, "list of objects"),
        ({name: data for name, data in docker_files(ONE).items() if "layer" not in name},
         "layer.tar' is missing"),
        (docker_files(ONE, rootfs={"diff_ids": []}), "names 1 layers, but the config 0"),
    ],
)  # fmt: skip
def test_docker_archives_that_are_wrong(
    tmp_path: Path, files: dict[str, bytes], words: str
) -> None:
    with pytest.raises(ImageError, match=words):
        open_image(save(tmp_path / "image.tar", files))
    with pytest.raises(ImageError, match=words):
        open_image(save(tmp_path / "image", files))


def test_no_image_at_all(tmp_path: Path) -> None:
    wrong = {
        b"": "neither",
        b"text" * 300: "not an image",
        bytes(100) + b"1" * 600: "checksum",
        b"short": "cut off",
        gzip.compress(b"x"): "decompress it first",
        b"\xfd7zXZ\0": "compressed with xz",
    }
    for data, words in wrong.items():
        path = tmp_path / "file"
        path.write_bytes(data)
        with pytest.raises(ImageError, match=words):
            open_image(path)
    with pytest.raises(ImageError, match="no such file"):
        open_image(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ImageError, match="a pipe"):
        open_image(tmp_path / "pipe")


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    files = docker_files(ONE)
    (tmp_path / "secret").write_bytes(files.pop("0/layer.tar"))
    path = save(tmp_path / "image", files)
    (path / "0").mkdir()
    (path / "0/layer.tar").symlink_to(tmp_path / "secret")
    with pytest.raises(ImageError, match="link out of the image"):
        open_image(path)
    (path / "0/layer.tar").unlink()
    (path / "0/layer.tar").symlink_to("layer.tar")
    with pytest.raises(ImageError, match="without end"):
        open_image(path)


def test_an_archive_that_is_cut_off(tmp_path: Path) -> None:
    data = save(tmp_path / "whole.tar", docker_files(ONE, TWO)).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        end = max(info.offset_data + info.size for info in archive)
    path = tmp_path / "cut.tar"
    for length in range(0, end, 307):
        path.write_bytes(data[:length])
        with pytest.raises(ImageError):
            merged_view(open_image(path))
