"""Push a slim image with its cold index: nothing that the registry has is stored again."""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from trimtab.cold_store.index import MOST_INDEX_BYTES, ColdIndex, ColdLayer, DamagedIndexError
from trimtab.cold_store.registry import Registry
from trimtab.debloating.shipping.artifact import EMPTY, put_artifact
from trimtab.debloating.shipping.cold_blob import write_cold_blob
from trimtab.debloating.shipping.downloading import DownloadedImage
from trimtab.debloating.shipping.found_contents import found_in, missing_from
from trimtab.debloating.shipping.indexing import IndexBuilder
from trimtab.debloating.shipping.labels import REGISTRY_FILE, labels_of
from trimtab.debloating.shipping.names import RegistryName
from trimtab.debloating.shipping.removed_pieces import RemovedPieces, removed_pieces
from trimtab.errors import UserError
from trimtab.images.archives.descriptor import MANIFEST
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.digest import digest_of
from trimtab.images.layers import compression_at
from trimtab.images.writing.documents import described
from trimtab.images.writing.layout import blob_name
from trimtab.images.writing.repacking import repack

_COLD_BLOB, _REGISTRY_FILE, _LAYOUT = "cold.gz", "registry", "slim"


@dataclass(frozen=True)
class Original:
    """The original as the registry of the slim image has it."""

    repository: str
    downloaded: DownloadedImage

    @property
    def layer_bytes(self) -> int:
        """The bytes of its layers in the registry."""
        return sum(layer.region.size_bytes for layer in self.downloaded.image.layers)


@dataclass(frozen=True)
class Pushed:
    """What a push added to a registry; `index` is "" for an image that needs none."""

    image: str
    index: str
    files: int
    slim_bytes: int
    index_bytes: int
    cold_blob_bytes: int
    original_bytes: int


def push(
    slim: Image,
    target: RegistryName,
    registry: Registry,
    original: Original | None,
    store: Path | None,
    place: Path,
) -> Pushed:
    """Push the image `slim` as `target`, with a cold index for all that was removed from it.

    The index leads to the layers of `original`. What these lack comes from the folder `store`, and
    is pushed as one blob. `place` is a folder for files meanwhile. The image's name is set last.
    Raises UserError if something is in neither, and RegistryError if the registry fails.
    """
    index, blob = _index(removed_pieces(slim), original, store, place / _COLD_BLOB)
    data = _readable(index) if index.files else b""
    line = target.at(digest_of(data)) if data else ""
    labels = labels_of(_name_of(registry, original), line)
    files = {}
    if line:
        files = {REGISTRY_FILE: place / _REGISTRY_FILE}
        files[REGISTRY_FILE].write_text(f"{line}\n")
    image = _Layout.of(slim, place / _LAYOUT, labels, files)
    if data:
        for layer in index.layers:
            if layer is blob:
                _put_file(registry, target.repository, layer.digest, place / _COLD_BLOB)
            elif original:
                _put_layer(registry, target.repository, layer.digest, original)
        for each in (data, EMPTY):
            _put(registry, target.repository, each)
        found = blob.digest if blob else None
        put_artifact(registry, target.repository, image.described, index, data, found)
    image.put(registry, target)
    return Pushed(
        image=target.at(image.digest),
        index=line,
        files=len(index.files),
        slim_bytes=image.layer_bytes,
        index_bytes=len(data),
        cold_blob_bytes=blob.size_bytes if blob else 0,
        original_bytes=original.layer_bytes if original else 0,
    )


def _name_of(registry: Registry, original: Original | None) -> str:
    if original is None:
        return ""
    return f"{registry.host}/{original.repository}@{original.downloaded.manifest_digest}"


def _index(
    wanted: RemovedPieces, original: Original | None, store: Path | None, blob_file: Path
) -> tuple[ColdIndex, ColdLayer | None]:
    """Return the index, and its cold blob if it needs one."""
    builder, blob = IndexBuilder(), None
    left = wanted
    if original:
        found = found_in(original.downloaded.image, wanted)
        builder.add_image(original.downloaded.image, found)
        left = missing_from(found, left)
    if left.size_bytes and store:
        with blob_file.open("wb") as file:
            blob, found = write_cold_blob(file, left, store)
        if found:
            builder.add_blob(blob, found)
        left = missing_from(found, left)
    if left.size_bytes:
        raise _not_found(left, original, store)
    return builder.index(original.downloaded.manifest_digest if original else ""), blob


def _readable(index: ColdIndex) -> bytes:
    """Return an index as it is stored. Raises UserError if no node would read it."""
    data = index.to_bytes()
    try:
        if len(data) > MOST_INDEX_BYTES:
            raise DamagedIndexError(f"it has {len(data):,} bytes")
        ColdIndex.parse(data)
    except DamagedIndexError as error:
        raise UserError(
            f"the {len(index.files):,} removed files are too many for a cold index: {error}; give"
            " containers the folder `store` that is beside the slim image"
        ) from None
    return data


def _not_found(left: RemovedPieces, original: Original | None, store: Path | None) -> UserError:
    places = [f"the original in {original.repository}"] if original else []
    places += [str(store)] if store else []
    example = next(iter(left.paths.values()))
    return UserError(
        f"{len(left.size_bytes)} of the removed files, as {example}, are neither in"
        f" {' nor in '.join(places) or 'the registry'} nor elsewhere: push the image that it was"
        " made of to the same registry and name it with --original HOST/PATH:TAG, or name the"
        " folder `store` that is beside the slim image with --store"
    )


@dataclass(frozen=True)
class _Layout:
    """The image as it is pushed, in the folder of an OCI layout."""

    image: Image
    digest: str

    @classmethod
    def of(cls, image: Image, folder: Path, labels: dict[str, str], files: dict[str, Path]) -> Self:
        stored = {compression_at(layer) for layer in image.layers} - {Compression.NONE}
        compression = stored.pop() if len(stored) == 1 else Compression.GZIP
        digest = repack(image.labelled(labels), folder, compression, files=files)
        return cls(open_image(folder), digest)

    @property
    def layer_bytes(self) -> int:
        return sum(layer.region.size_bytes for layer in self.image.layers)

    @property
    def described(self) -> dict[str, Any]:
        return described(MANIFEST, self._manifest)

    @property
    def _manifest(self) -> bytes:
        return self._path(self.digest).read_bytes()

    def _path(self, digest: str) -> Path:
        return self.image.path / blob_name(digest)

    def put(self, registry: Registry, target: RegistryName) -> None:
        """Put all of it; its name last."""
        manifest = json.loads(self._manifest)
        for each in (*manifest["layers"], manifest["config"]):
            path = self._path(each["digest"])
            _put_file(registry, target.repository, each["digest"], path)
        registry.put_manifest(target.repository, target.reference, self._manifest, MANIFEST)


def _put_layer(registry: Registry, repository: str, digest: str, original: Original) -> None:
    if registry.has_blob(repository, digest):
        return
    elsewhere = original.repository != repository
    if elsewhere and registry.mount_blob(repository, digest, original.repository):
        return
    path = original.downloaded.image.path / blob_name(digest)
    _put_file(registry, repository, digest, path)


def _put_file(registry: Registry, repository: str, digest: str, path: Path) -> None:
    if not registry.has_blob(repository, digest):
        registry.put_blob(repository, digest, path.stat().st_size, lambda: path.open("rb"))


def _put(registry: Registry, repository: str, data: bytes) -> None:
    digest = digest_of(data)
    if not registry.has_blob(repository, digest):
        registry.put_blob(repository, digest, len(data), lambda: io.BytesIO(data))
