"""What ties a slim image to its original: labels, cold index, and whether the registry has all."""

from dataclasses import dataclass, replace

from trimtab.cold_store.registry import Registry
from trimtab.debloating.shipping.artifact import ARTIFACT_TYPE
from trimtab.debloating.shipping.labels import INDEX, ORIGINAL, VERSION
from trimtab.debloating.shipping.names import RegistryName
from trimtab.debloating.shipping.pulling import index_at
from trimtab.errors import UserError
from trimtab.images.archives.fields import Fields
from trimtab.images.archives.image import Config
from trimtab.images.errors import DamagedError

_MOST_CONFIG_BYTES = 4 << 20


@dataclass(frozen=True)
class Inspected:
    """The labels of a slim image, and the facts of its cold index; "" and 0 where there is none.

    `made_by` is the version of trimtab.
    `removed_bytes` are the bytes of the removed files; `missing_layers` are layers that the index
    leads to and the registry lacks. `referrers` are the digests of cold indexes found by the
    image's digest.
    """

    made_by: str
    original: str
    index: str
    index_bytes: int = 0
    files: int = 0
    removed_bytes: int = 0
    layers: int = 0
    missing_layers: tuple[str, ...] = ()
    referrers: tuple[str, ...] = ()


def inspected(labels: dict[str, str]) -> Inspected:
    """Return what the labels of an image say."""
    return Inspected(labels.get(VERSION, ""), labels.get(ORIGINAL, ""), labels.get(INDEX, ""))


def inspected_in(registry: Registry, name: RegistryName) -> Inspected:
    """Return what the registry has of the image `name`. Raises UserError for no image."""
    manifest, _, digest = registry.manifest(name.repository, name.reference)
    try:
        config_digest = Fields.parse(manifest).object("config").text("digest")
        config = Config.parse(registry.blob(name.repository, config_digest, _MOST_CONFIG_BYTES))
    except DamagedError as error:
        raise UserError(f"{name}: is no image of one platform: {error}") from None
    told = inspected(config.run().labels)
    if not told.index:
        return told
    place = RegistryName.parse(told.index)
    if place.host != registry.host:
        return told
    index = index_at(registry, told.index)
    found = registry.referrers(name.repository, digest, ARTIFACT_TYPE)
    layers = [layer.digest for layer in index.layers]
    return replace(
        told,
        index_bytes=len(index.to_bytes()),
        files=len(index.files),
        removed_bytes=sum(file.size_bytes for file in index.files.values()),
        layers=len(layers),
        missing_layers=tuple(
            each for each in layers if not registry.has_blob(place.repository, each)
        ),
        referrers=tuple(str(each["digest"]) for each in found),
    )
