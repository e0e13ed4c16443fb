"""Download an image from a registry, as an OCI layout."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from trimtab.cold_store.registry import Registry
from trimtab.errors import UserError
from trimtab.images.archives.descriptor import INDEXES, MANIFESTS, OciDescriptor
from trimtab.images.archives.fields import Fields
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.archives.platform import Platform
from trimtab.images.errors import DamagedError
from trimtab.images.writing.image import add_index
from trimtab.images.writing.layout import blob_name, new_layout
from trimtab.images.writing.reference import Reference

_UNNAMED = "pulled"  # the tag of what was named by its digest


@dataclass(frozen=True)
class DownloadedImage:
    """An image of a registry in a local folder, and the digest of its manifest there."""

    image: Image
    manifest_digest: str


def download(
    registry: Registry, repository: str, reference: str, destination: Path, platform: Platform
) -> DownloadedImage:
    """Write the image into the OCI layout `destination`, a folder or a tar file.

    `reference` is a tag or a digest; of an image for several platforms it is the one for
    `platform`. Raises UserError if there is none, and RegistryError if the registry fails.
    """
    name = f"{registry.host}/{repository}:{reference}"
    try:
        manifest, media_type, digest = _manifest(registry, repository, reference, platform, name)
        fields = Fields.parse(manifest)
        blobs = [OciDescriptor.of(each) for each in fields.objects("layers")]
        config = OciDescriptor.of(fields.object("config"))
    except DamagedError as error:
        raise UserError(f"{name}: {error}") from None
    described = {"mediaType": media_type, "digest": digest, "size": len(manifest)}
    tag = reference if ":" not in reference else _UNNAMED
    with new_layout(destination) as layout:
        layout.add_blob(manifest)
        for blob in {each.digest: each for each in (config, *blobs)}.values():
            layout.add(_writing(registry, repository, blob))
        layers = [blob.digest for blob in blobs]
        named = Reference(registry.host, repository, tag)
        add_index(layout, described, platform, named, config.digest, layers)
    return DownloadedImage(open_image(destination), digest)


def _manifest(
    registry: Registry, repository: str, reference: str, platform: Platform, name: str
) -> tuple[bytes, str, str]:
    """Return the manifest of one image, its media type and digest."""
    data, media_type, digest = registry.manifest(repository, reference)
    if media_type in MANIFESTS:
        return data, media_type, digest
    if media_type not in INDEXES:
        raise UserError(f"{name}: is no image, but {media_type[:80]!r}")
    listed = [OciDescriptor.of(each) for each in Fields.parse(data).objects("manifests")]
    images = [each for each in listed if each.is_image]
    for each in images:
        if each.platform == platform or len(images) == 1:
            return registry.manifest(repository, each.digest)
    every = ", ".join(sorted({str(each.platform) for each in images})) or "none at all"
    raise UserError(f"{name}: has no image for {platform}, but for {every}")


def _writing(
    registry: Registry, repository: str, blob: OciDescriptor
) -> Callable[[IO[bytes]], str]:
    def write(file: IO[bytes]) -> str:
        for piece in registry.blob_chunks(repository, blob.digest, blob.size_bytes):
            file.write(piece)
        return blob_name(blob.digest)

    return write
