"""The labels that tie a slim image to its original, its cold index and the version of trimtab."""

from importlib.metadata import version

from trimtab.images.archives.image import Image

VERSION, ORIGINAL, INDEX = "dev.trimtab.version", "dev.trimtab.original", "dev.trimtab.index"
REGISTRY_FILE = "trimtab/registry"  # in the slim image: the line of INDEX


def labels_of(original: str, index: str = "") -> dict[str, str]:
    """Return the labels of a slim image.

    `original` is the original's name, or HOST/REPOSITORY@DIGEST in a registry. `index` is
    HOST/REPOSITORY@DIGEST of the cold index. Empty ones have no label.
    """
    labels = {VERSION: version("trimtab"), ORIGINAL: original, INDEX: index}
    return {key: value for key, value in labels.items() if value}


def label_of(image: Image, key: str) -> str:
    """Return a label of the image; "" if it has none."""
    return image.config.run().labels.get(key, "")
