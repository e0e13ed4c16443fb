"""The installed packages that a program imports, as pip's requirements."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.sources import imports_of

_TIMEOUT_S = 60.0
# Run by the program's own interpreter, 3.8 or later: a list of name, version, and top modules.
_LIST = """
import importlib.metadata as metadata, json
found = []
for one in metadata.distributions():
    top = (one.read_text("top_level.txt") or "").split()
    top = top or {file.parts[0].partition(".")[0] for file in one.files or []}
    found.append([one.metadata["Name"], one.version, sorted(top)])
print(json.dumps(found))
"""


def requirements_of(sources: Iterable[Path], python: Path) -> list[str]:
    """Return a line for each package that `sources` import and `python` has, with its version.

    What these packages depend on is left to pip. A local version, as 2.11.0+cpu, becomes a comment,
    as no index has it. Raises TrimtabError where the interpreter cannot list its packages.
    """
    wanted = {name.partition(".")[0] for path in sources for name in imports_of(path.read_bytes())}
    try:
        listed = subprocess.run(
            [python, "-c", _LIST], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        ).stdout
        installed = json.loads(listed)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise TrimtabError(f"{python}: cannot list its packages: {error}") from None
    lines = set()
    for name, version, modules in installed:
        if wanted & set(modules) and name != "trimtab":
            public, _, local = version.partition("+")
            lines.add(f"{name}=={public}" + (f"  # {version} was tuned" if local else ""))
    return sorted(lines, key=str.lower)
