"""Images as folders: each is extracted once, into the user's cache for all workspaces.

The cache is `trimtab/images` in XDG_CACHE_HOME, `~/.cache` by default. The name of a folder in it
identifies its content, so nothing becomes outdated; anything may be removed at any time.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.errors import UserError
from trimtab.files import remove_partial, sha256_of, user_cache
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.engine import ContainerEngine
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
from trimtab.images.sif.container import Sif, is_sif
from trimtab.images.sif.conversion import write_archive_of
from trimtab.images.writing.reference import Reference
from trimtab.locks import file_lock

_PATIENCE_S = 600.0  # for another process that unpacks the same image
_Name = tuple[str, str, Path]  # an image's, in the engine at an address, with this cache
_archives: dict[_Name, Path] = {}  # a name keeps its meaning during a command


@dataclass(frozen=True)
class Unpacked:
    """An image, the folder `root` with its file system, and its name in an engine, if any."""

    image: Image
    root: Path
    engine_name: str | None = None


def unpacked_image(location: str) -> Unpacked:
    """Return the image at `location`: an archive, an OCI folder, a SIF, or a name in an engine.

    An existing file or folder has priority. Raises UserError if there is no such image, and OSError
    if it cannot be read or unpacked.
    """
    image = image_at(location)
    root = (
        image_cache()
        / hashlib.sha256("\n".join(image.config.diff_ids).encode()).hexdigest()
        / "root"
    )
    if not root.is_dir():
        with _alone_in(root.parent, location):
            if not root.is_dir():
                extract(image, merged_view(image), root)
    named = None if os.path.lexists(Path(location).expanduser()) else location
    return Unpacked(image, root, named)


def image_at(location: str) -> Image:
    """Return the image at `location` as an archive or folder.

    An engine's image is saved to the cache, and a SIF is converted there. Raises as
    `unpacked_image` does.
    """
    if not location:
        raise UserError(
            "target.location: missing, expected an image: its archive, folder, SIF or name"
        )
    path = Path(location).expanduser()
    if is_sif(path):
        return replace(open_image(_converted(path, location)), path=path)
    if os.path.lexists(path):
        return open_image(path)
    if path.suffix in (".tar", ".gz", ".zst", ".sif") or location.startswith(("/", ".", "~")):
        raise UserError(f"{location}: no such file or folder")
    return open_image(_saved(_name_here(location)))


def use_saved(name: str, archive: Path) -> None:
    """Use `archive`, if it is there, as the image `name` for the rest of this command.

    No engine is asked then.
    """
    if archive.is_file():
        _archives[_name_here(name)] = archive


def _converted(path: Path, location: str) -> Path:
    """Return the archive, in the cache, of the SIF at `path`."""
    sif = Sif.open(path)
    sif.root()  # reports an unsupported SIF before reading it all
    place = image_cache() / sha256_of(path)
    archive = place / "image.tar"
    if not archive.is_file():
        with _alone_in(place, location):
            if not archive.is_file():
                write_archive_of(sif, archive)
    return archive


def _name_here(name: str) -> _Name:
    return name, os.environ.get("DOCKER_HOST", ""), image_cache()


def _saved(name_here: _Name) -> Path:
    """Return the archive of an engine's image."""
    if name_here not in _archives:
        name, _, folder = name_here
        _archives[name_here] = _saved_now(name, folder)
    return _archives[name_here]


def _saved_now(name: str, folder: Path) -> Path:
    """Save the image `name` in the cache `folder`, unless it is there; return its archive."""
    if "@" not in name and not name.startswith("sha256:"):
        Reference.parse(name)
    with ContainerEngine.connect() as engine:
        place = folder / engine.inspect(name).image_id.rpartition(":")[2]
        archive = place / "image.tar"
        if not archive.is_file():
            with _alone_in(place, name):
                if not archive.is_file():
                    engine.save(name, archive)
        return archive


def image_cache() -> Path:
    """Return the folder for unpacked images; anything in it may be removed at any time."""
    try:
        return user_cache() / "images"
    except RuntimeError:
        raise UserError("no home folder to unpack images in: set XDG_CACHE_HOME") from None


@contextmanager
def _alone_in(place: Path, location: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock(place / "lock", f"{location}: it is being unpacked", _PATIENCE_S):
        remove_partial(place)
        yield
