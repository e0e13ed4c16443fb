"""Where the native tools and libraries lie that `make native` builds."""

from pathlib import Path

from trimtab.errors import UserError

PROJECT = Path(__file__).resolve().parents[2]
BUILD = PROJECT / "build" / "native"


def native_path(name: str) -> Path:
    """Return the absolute path of a built native file, e.g. `libtrimtab-guard.so`.

    Raises UserError when it was not built.
    """
    path = BUILD / name
    if not path.is_file():
        raise UserError(f"{path}: not built yet; run `make native` in {PROJECT}")
    return path
