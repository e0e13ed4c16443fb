"""The name of a local file or folder, as Hadoop's input formats take it."""

from pathlib import Path

from trimtab.errors import UserError

_PATTERNS = set(",*?[]{}\\")  # of several inputs; a comma cannot be escaped


def input_name(path: Path) -> str:
    """Return the name; not a URI, whose escapes Hadoop does not undo.

    Raises UserError for a path that Hadoop would take for a pattern of several.
    """
    absolute = str(path.absolute())
    if found := _PATTERNS & set(absolute):
        raise UserError(f"{path}: Spark reads no path with {' or '.join(sorted(found))} in it")
    return f"file://{absolute}"
