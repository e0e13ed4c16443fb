"""Print pip's settings of where packages come from as uv's variables, for a shell: uv reads none.

A variable that is set already is left as it is.
"""

import ast
import os
import shlex
import subprocess
import sys

_OF_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}
_WITH_COMMAS = {"UV_FIND_LINKS"}
_SECTIONS = ("global", "install", ":env:")  # later ones win, as in pip


def settings(listed: str) -> dict[str, str]:
    """Return uv's variables for what `pip config list` says."""
    found: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        key, is_set, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if is_set and section in _SECTIONS and name in _OF_UV:
            variable, rank = _OF_UV[name], _SECTIONS.index(section)
            separator = "," if variable in _WITH_COMMAS else " "
            words = separator.join(str(ast.literal_eval(value)).split())
            found[variable] = max(found.get(variable, (rank, words)), (rank, words))
    # pip takes the best version of all places, uv of the first that has the package.
    return {
        **{variable: words for variable, (_, words) in found.items() if words},
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


if __name__ == "__main__":
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    for variable, value in settings(listed).items():
        if variable not in os.environ:
            print(f"export {variable}={shlex.quote(value)}")
