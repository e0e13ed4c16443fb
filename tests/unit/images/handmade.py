"""Archives of images made by hand from the specifications, by none of the code under test."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OCI = "application/vnd.oci.image"
Entry = tuple[tarfile.TarInfo, bytes]


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def entry(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, **facts: Any) -> Entry:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mtime = kind, len(data), 1_600_000_000
    info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    for key, value in facts.items():
        setattr(info, key, value)
    return info, data


def folder(name: str, **facts: Any) -> Entry:
    return entry(name, kind=tarfile.DIRTYPE, **facts)


def link(name: str, target: str) -> Entry:
    return entry(name, kind=tarfile.SYMTYPE, linkname=target)


def hard_link(name: str, target: str) -> Entry:
    return entry(name, kind=tarfile.LNKTYPE, linkname=target)


def layer(*entries: Entry, form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def config_of(layers: Sequence[bytes], **more: Any) -> dict[str, Any]:
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": "2024-05-06T07:08:09.123456789Z",
        "config": {"Env": ["PATH=/bin"], "Cmd": ["/bin/true"]},
        "rootfs": {"type": "layers", "diff_ids": [sha256(data) for data in layers]},
        "history": [{"created_by": f"step {number}"} for number in range(len(layers))],
        **more,
    }


class Blobs:
    """The blobs of an OCI layout, and descriptors of them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def add(self, data: bytes | dict[str, Any], kind: str, **more: Any) -> dict[str, Any]:
        if isinstance(data, dict):
            data = json.dumps(data).encode()
        digest = sha256(data)
        self.files["blobs/" + digest.replace(":", "/")] = data
        return {"mediaType": kind, "digest": digest, "size": len(data), **more}

    def manifest(
        self, layers: Sequence[bytes], packed: Sequence[bytes] | None = None,
        config: dict[str, Any] | None = None, **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Add an image of these layers, gzipped if not `packed` otherwise."""
        described = [
            self.add(data, f"{OCI}.layer.v1.tar+gzip")
            for data in packed or [gzip.compress(data, 1) for data in layers]
        ]
        made = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": self.add(config or config_of(layers), f"{OCI}.config.v1+json"),
            "layers": described,
            "annotations": {"org.opencontainers.image.base.name": "debian", "kept": "yes"},
        }
        return self.add(made, f"{OCI}.manifest.v1+json", **more)

    def index(self, *manifests: dict[str, Any]) -> None:
        self.files["index.json"] = json.dumps(
            {"schemaVersion": 2, "manifests": list(manifests)}
        ).encode()


def save(path: Path, files: dict[str, bytes]) -> Path:
    """Write files as a folder, or as a tar file where `path` ends so."""
    if path.suffix == ".tar":
        path.write_bytes(layer(*(entry(name, data) for name, data in files.items())))
        return path
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def oci_image(path: Path, *layers: bytes, **config: Any) -> Path:
    blobs = Blobs()
    blobs.index(blobs.manifest(layers, config=config_of(layers, **config)))
    return save(path, blobs.files)


def gnu_tar(*words: str | Path, data: bytes | None = None) -> bytes:
    """Run GNU tar; it is everywhere where the project is."""
    return subprocess.run(
        ["tar", *map(str, words)], input=data, check=True, stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, timeout=60,
    ).stdout  # fmt: skip
