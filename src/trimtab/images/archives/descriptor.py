"""Descriptors: references between OCI documents (image specification, descriptor.md)."""

from dataclasses import dataclass
from typing import Self

from trimtab.images.archives.fields import Fields
from trimtab.images.archives.naming import MOST_DOCUMENT_BYTES
from trimtab.images.archives.platform import Platform
from trimtab.images.archives.region import FileRegion
from trimtab.images.archives.store import Store
from trimtab.images.digest import check_data, check_digest
from trimtab.images.errors import DamagedError, damage_of

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
INDEXES = {INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"}
MANIFESTS = {MANIFEST, "application/vnd.docker.distribution.manifest.v2+json"}
CONFIGS = {CONFIG, "application/vnd.docker.container.image.v1+json"}
NAME, ENGINE_NAME = "org.opencontainers.image.ref.name", "io.containerd.image.name"
_ATTESTATION = ("vnd.docker.reference.type", "attestation-manifest")
_UNKNOWN = Platform("unknown", "unknown")  # the platform of attestations


@dataclass(frozen=True)
class OciDescriptor:
    """A reference to a document or layer, with kind, digest and size."""

    media_type: str
    digest: str
    size_bytes: int
    platform: Platform | None
    annotations: dict[str, str]
    is_elsewhere: bool

    @classmethod
    def of(cls, fields: Fields) -> Self:
        """Parse an object. Raises DamagedError if it is no descriptor."""
        platform = Platform.of(fields.object("platform")) if fields.has("platform") else None
        return cls(
            fields.text("mediaType"),
            check_digest(fields.text("digest")),
            fields.number("size"),
            platform,
            fields.text_by_key("annotations"),
            bool(fields.texts("urls")),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The image names in its annotations, in an index."""
        return tuple(
            self.annotations[key] for key in (ENGINE_NAME, NAME) if key in self.annotations
        )

    @property
    def is_image(self) -> bool:
        """Whether it may be an image or an index; attestations are neither."""
        key, value = _ATTESTATION
        return (
            self.media_type in INDEXES | MANIFESTS
            and self.platform != _UNKNOWN
            and self.annotations.get(key) != value
        )

    def blob(self, store: Store) -> FileRegion:
        """Return its content's place. Raises ImageError if it is missing or of another size."""
        name = f"blobs/{self.digest.replace(':', '/')}"
        with damage_of(store.path, name):
            region = store.find(name)
            if region is None and self.is_elsewhere:
                raise DamagedError("is to be got from elsewhere; save the image with all layers")
            region = region or store.get(name)
            if region.size_bytes != self.size_bytes:
                raise DamagedError(
                    f"has {region.size_bytes:,} bytes, but {self.size_bytes:,} were expected: it"
                    " was cut off or changed; save the image again"
                )
        return region

    def read(self, store: Store) -> bytes:
        """Return the document. Raises ImageError if its digest is wrong."""
        data = self.blob(store).read(MOST_DOCUMENT_BYTES)
        with damage_of(store.path, self.digest):
            return check_data(data, self.digest)
