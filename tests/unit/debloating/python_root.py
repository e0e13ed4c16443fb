"""A root with this machine's Python in it, and as much of its library as starts it."""

import shutil
import sys
import sysconfig
from pathlib import Path

from machine_root import root_of_programs

PACKAGES = ("collections", "encodings", "importlib", "json", "re", "urllib")


def root_of_python(root: Path, *, byte_code: bool = False) -> str:
    """Make `root`, with a folder /srv for a program, and return the interpreter's path inside."""
    interpreter = Path(sys.executable).resolve()
    root_of_programs(root, ["sh", str(interpreter)])
    (root / "srv").mkdir()
    library = Path(sysconfig.get_paths()["stdlib"])
    inside = root / library.relative_to("/")
    inside.mkdir(parents=True, exist_ok=True)
    left_out = None if byte_code else shutil.ignore_patterns("__pycache__")
    for path in [*library.glob("*.py"), *(library / name for name in PACKAGES)]:
        if path.is_dir():
            shutil.copytree(path, inside / path.name, ignore=left_out)
        else:
            shutil.copy2(path, inside / path.name)
    if byte_code:
        shutil.copytree(library / "__pycache__", inside / "__pycache__")
    (inside / "lib-dynload").mkdir()
    return str(interpreter)
