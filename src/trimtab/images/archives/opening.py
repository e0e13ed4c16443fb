"""Open an image in any storage format."""

from pathlib import Path

from trimtab.images.archives.docker_archive import MANIFEST, open_docker_archive
from trimtab.images.archives.image import Image
from trimtab.images.archives.oci_layout import INDEX_NAME, open_oci_layout
from trimtab.images.archives.store import open_store
from trimtab.images.errors import ImageError


def open_image(path: Path) -> Image:
    """Return the only image of the archive or folder at `path`.

    Of one image for several platforms it is that for this machine. Only documents are read. Raises
    ImageError where there is no such image, or several, or something is missing or damaged.
    """
    try:
        store = open_store(path)
        if store.find(INDEX_NAME):
            image = open_oci_layout(store)
        elif store.find(MANIFEST):
            image = open_docker_archive(store)
        else:
            raise ImageError(
                path,
                "neither an OCI image layout (index.json) nor an archive of `docker save` of Docker"
                " 1.10 or newer (manifest.json)",
            )
    except FileNotFoundError:
        raise ImageError(path, "no such file or folder") from None
    if image.config.platform().system != "linux":
        raise ImageError(path, f"is for {image.config.platform()}; expected an image for Linux")
    return image
