"""A root with this machine's Python in it, and as much of its library as starts it."""

import shutil
import subprocess
import sys
from pathlib import Path

from machine_root import root_of_programs

_LOADED = """
import encodings.idna, importlib.util, json, py_compile, site, sys
print(*(module.__file__ for module in sys.modules.values() if getattr(module, '__file__', None)))
"""


def root_of_python(root: Path, *, byte_code: bool = False) -> str:
    """Make `root`, with a folder /srv for a program, and return the interpreter's path inside."""
    interpreter = Path(sys.executable).resolve()
    root_of_programs(root, ["sh", str(interpreter)])
    (root / "srv").mkdir()
    loaded = subprocess.run(
        [interpreter, "-I", "-S", "-c", _LOADED], check=True, capture_output=True, text=True
    )
    for path in map(Path, loaded.stdout.split()):
        if path.suffix in (".py", ".so"):
            inside = root / path.relative_to("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, inside)
            cached = path.parent / f"__pycache__/{path.stem}.{sys.implementation.cache_tag}.pyc"
            if byte_code and cached.is_file():
                (inside.parent / "__pycache__").mkdir(exist_ok=True)
                shutil.copy2(cached, inside.parent / "__pycache__")
    return str(interpreter)
