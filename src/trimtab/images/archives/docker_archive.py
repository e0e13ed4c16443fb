"""Archives of `docker save`: manifest.json names config and layers of each image.

Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format". Layers have no
digest there; the config's diff_ids are the digests of their content.
"""

from trimtab.images.archives.fields import Fields, parse_objects
from trimtab.images.archives.image import Config, Image, Layer
from trimtab.images.archives.naming import MOST_DOCUMENT_BYTES, only_one
from trimtab.images.archives.store import Store
from trimtab.images.errors import DamagedError, damage_of

MANIFEST = "manifest.json"


def open_docker_archive(store: Store) -> Image:
    """Return the only image.

    Raises ImageError where there is none, or several, and where something is missing or damaged.
    """
    with damage_of(store.path, MANIFEST):
        entries = parse_objects(store.get(MANIFEST).read(MOST_DOCUMENT_BYTES))
        entry = only_one(store.path, [(entry.texts("RepoTags"), entry) for entry in entries])
        config_name = entry.text("Config")
    with damage_of(store.path, config_name):
        config = Config.parse(store.get(config_name).read(MOST_DOCUMENT_BYTES))
    with damage_of(store.path, MANIFEST):
        return Image(store.path, tuple(entry.texts("RepoTags")), config, _layers(store, entry,
                     config))  # fmt: skip


def _layers(store: Store, entry: Fields, config: Config) -> tuple[Layer, ...]:
    names = entry.texts("Layers")
    if len(names) != len(config.diff_ids):
        raise DamagedError(
            f"names {len(names)} layers, but the config {len(config.diff_ids)}; save it again"
        )
    return tuple(
        Layer(store.get(name), diff_id)
        for name, diff_id in zip(names, config.diff_ids, strict=True)
    )
