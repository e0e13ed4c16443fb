"""Convert a SIF to an image archive with one layer, which all other modules read."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from trimtab.files import naming
from trimtab.images.archives import docker_archive
from trimtab.images.archives.region import FileRegion
from trimtab.images.digest import digest_of
from trimtab.images.errors import damage_of
from trimtab.images.limits import ImageLimit
from trimtab.images.sif.container import Sif
from trimtab.images.sif.squashfs import file_in, tar_of
from trimtab.images.sif.start_up import LABELS, MOST_LABEL_BYTES, run_config
from trimtab.images.writing.layout import ImageWriter, new_layout

_LAYER = "layer.tar"


def write_archive_of(sif: Sif, destination: Path) -> None:
    """Write the root file system of `sif` as the image archive `destination`, atomically.

    Its layer is not compressed, and its containers run the runscript. Raises ImageError for a
    damaged or excessively growing file system, UserError if the program that reads it is missing,
    and OSError as writing does.
    """
    _, region = sif.root()
    destination.parent.mkdir(parents=True, exist_ok=True)
    with (
        damage_of(sif.path, "SIF"),
        tempfile.TemporaryDirectory(prefix=".trimtab-", dir=destination.parent) as folder,
        new_layout(destination) as layout,
    ):
        squashfs = Path(folder, "squashfs")
        _copy(region, squashfs)
        diff_id = _add_layer(layout, ImageLimit(region.size_bytes).bounded(tar_of(squashfs)))
        labels = file_in(squashfs, LABELS, MOST_LABEL_BYTES)
        config = json.dumps(_config(sif, diff_id, labels), sort_keys=True).encode()
        name = f"{digest_of(config).partition(':')[2]}.json"
        layout.add_data(name, config)
        entry = {"Config": name, "RepoTags": [], "Layers": [_LAYER]}
        layout.add_data(docker_archive.MANIFEST, json.dumps([entry]).encode())


def _copy(region: FileRegion, destination: Path) -> None:
    """Copy the partition: the programs need a file that begins with the file system."""
    with naming(destination), destination.open("wb") as copy:
        for chunk in region.chunks():
            copy.write(chunk)


def _add_layer(layout: ImageWriter, pieces: Iterator[bytes]) -> str:
    sha256 = hashlib.sha256()

    def write(file: IO[bytes]) -> str:
        for piece in pieces:
            sha256.update(piece)
            file.write(piece)
        return _LAYER

    layout.add(write)
    return f"sha256:{sha256.hexdigest()}"


def _config(sif: Sif, diff_id: str, labels: bytes | None) -> dict[str, Any]:
    document = {
        "architecture": sif.header.architecture,
        "os": "linux",
        "config": run_config(labels),
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created_by": "apptainer build"}],
    }
    try:
        created = datetime.fromtimestamp(sif.header.created_s, UTC)
    except (OverflowError, OSError, ValueError):  # a year outside the calendar
        return document
    return {**document, "created": f"{created:%Y-%m-%dT%H:%M:%SZ}"}
