"""Files that appear whole or not at all."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its name when the block ends well.

    When the block raises, the temporary file is removed and `path` is as it was. `mode` is
    the permission of the new file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Any) -> None:
    """Write `document` as readable JSON with a stable order of keys."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_json(path: Path) -> Any:
    """Return the JSON document in `path`."""
    return json.loads(path.read_text())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
