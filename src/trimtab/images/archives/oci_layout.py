"""OCI image layouts: index.json refers to manifests, and these to config and layers.

OCI image specification v1.1: image-layout.md, image-index.md and manifest.md. Engines since Docker
25 save both this and a manifest.json; we read the layout, as it has all digests.
"""

from collections.abc import Iterable, Iterator, Sequence

from trimtab.images.archives.descriptor import CONFIGS, INDEXES, OciDescriptor
from trimtab.images.archives.fields import Fields
from trimtab.images.archives.image import Config, Image, Layer
from trimtab.images.archives.naming import MOST_DOCUMENT_BYTES, only_one
from trimtab.images.archives.platform import Platform
from trimtab.images.archives.store import Store
from trimtab.images.errors import DamagedError, ImageError, damage_of

INDEX_NAME, LAYOUT_NAME = "index.json", "oci-layout"
_MOST_MANIFESTS = 1000
_LAYER_TYPES = ("application/vnd.oci.image.layer.", "application/vnd.docker.image.rootfs.")
_ENCRYPTED = "+encrypted"


def open_oci_layout(store: Store) -> Image:
    """Return the only image; where it is for several platforms, that of this machine.

    Raises ImageError unless exactly one image matches, and for a missing or damaged part.
    """
    _check_version(store)
    with damage_of(store.path, INDEX_NAME):
        index = Fields.parse(store.get(INDEX_NAME).read(MOST_DOCUMENT_BYTES))
        found = _images_of(index)
    names_by_digest: dict[str, tuple[str, ...]] = {}
    for image in found:
        names_by_digest[image.digest] = names_by_digest.get(image.digest, ()) + image.names
    by_names: dict[tuple[str, ...], dict[str, OciDescriptor]] = {}
    for image in found:
        by_names.setdefault(names_by_digest[image.digest], {})[image.digest] = image
    names, images = only_one(
        store.path, [(names, (names, images)) for names, images in by_names.items()]
    )
    manifests = list(_manifests(store, images.values(), set()))
    return _image(store, names, _for_this_machine(store, manifests))


def _check_version(store: Store) -> None:
    with damage_of(store.path, LAYOUT_NAME):
        layout = Fields.parse(store.get(LAYOUT_NAME).read(MOST_DOCUMENT_BYTES))
        version = layout.text("imageLayoutVersion")
        if not version.startswith("1."):
            raise DamagedError(f"imageLayoutVersion: expected 1.0.0, found {version[:20]!r}")


def _images_of(index: Fields) -> list[OciDescriptor]:
    every = [OciDescriptor.of(fields) for fields in index.objects("manifests")]
    if len(every) > _MOST_MANIFESTS:
        raise DamagedError(f"has {len(every)} manifests; expected at most {_MOST_MANIFESTS}")
    return [descriptor for descriptor in every if descriptor.is_image]


def _manifests(
    store: Store, descriptors: Iterable[OciDescriptor], seen: set[str]
) -> Iterator[OciDescriptor]:
    """Yield the manifests of nested indexes, each once; `seen` are digests already visited."""
    for descriptor in descriptors:
        if descriptor.digest in seen:
            continue
        seen.add(descriptor.digest)
        if len(seen) > _MOST_MANIFESTS:
            raise ImageError(store.path, f"has more than {_MOST_MANIFESTS:,} manifests")
        if descriptor.media_type not in INDEXES:
            yield descriptor
        else:
            inner = Fields.parse(descriptor.read(store))
            with damage_of(store.path, descriptor.digest):
                images = _images_of(inner)
            yield from _manifests(store, images, seen)


def _for_this_machine(store: Store, manifests: Sequence[OciDescriptor]) -> OciDescriptor:
    if len(manifests) == 1:
        return manifests[0]
    asked = Platform.here()
    platforms = [manifest.platform or _platform(store, manifest) for manifest in manifests]
    for found, manifest in zip(platforms, manifests, strict=True):
        if found == asked:
            return manifest
    every = ", ".join(sorted({str(found) for found in platforms})) or "none at all"
    raise ImageError(store.path, f"has no image for {asked}, but for {every}")


def _platform(store: Store, manifest: OciDescriptor) -> Platform:
    return _config(store, _manifest(store, manifest)).platform()


def _manifest(store: Store, descriptor: OciDescriptor) -> Fields:
    with damage_of(store.path, descriptor.digest):
        return Fields.parse(descriptor.read(store))


def _config(store: Store, manifest: Fields) -> Config:
    with damage_of(store.path, "a manifest"):
        descriptor = OciDescriptor.of(manifest.object("config"))
        if descriptor.media_type not in CONFIGS:
            raise DamagedError(
                f"is no image, but an artifact: config.mediaType is {descriptor.media_type[:80]!r}"
            )
    with damage_of(store.path, descriptor.digest):
        return Config.parse(descriptor.read(store))


def _image(store: Store, names: tuple[str, ...], descriptor: OciDescriptor) -> Image:
    manifest = _manifest(store, descriptor)
    config = _config(store, manifest)
    with damage_of(store.path, descriptor.digest):
        layers = [OciDescriptor.of(fields) for fields in manifest.objects("layers")]
        if len(layers) != len(config.diff_ids):
            raise DamagedError(f"names {len(layers)} layers, but its config {len(config.diff_ids)}")
        for layer in layers:
            if not layer.media_type.startswith(_LAYER_TYPES) or _ENCRYPTED in layer.media_type:
                raise DamagedError(f"has a layer of the kind {layer.media_type[:80]!r}")
        annotations = manifest.text_by_key("annotations")
    return Image(
        store.path,
        names,
        config,
        tuple(
            Layer(layer.blob(store), diff_id, layer.digest)
            for layer, diff_id in zip(layers, config.diff_ids, strict=True)
        ),
        annotations,
    )
