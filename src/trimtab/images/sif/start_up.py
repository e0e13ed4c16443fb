"""Apptainer's start of a SIF's container, in the form of an image's config.

It reads the scripts of /.singularity.d/env in order, and executes the runscript with the arguments
of `apptainer run`; images without one execute the arguments.
"""

from typing import Any

from trimtab.files import parse_json
from trimtab.images.view import View

METADATA = "/.singularity.d"
LABELS = f"{METADATA}/labels.json"
MOST_LABEL_BYTES = 1 << 20
_START = (
    f'for script in {METADATA}/env/*.sh; do [ -f "$script" ] && . "$script"; done; '
    f'if [ -x {METADATA}/runscript ]; then exec {METADATA}/runscript "$@"; fi; '
    ': "${1:?the image has no runscript; give the command}"; exec "$@"'
)
# Apptainer mounts these; on some systems it cannot if the image lacks the file or folder.
_MOUNTED = ("/dev", "/proc", "/sys", "/tmp", "/var/tmp", "/home", "/root", "/etc/passwd",
            "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/localtime")  # fmt: skip


def run_config(labels: bytes | None) -> dict[str, Any]:
    """Return the `config` part of an image's config; `labels` are from labels.json.

    Labels other than a JSON object of strings are ignored, as in Apptainer.
    """
    return {
        "Entrypoint": ["/bin/sh", "-c", _START, "apptainer"],
        "WorkingDir": "/",
        "Labels": _labels(labels or b"{}"),
    }


def paths_of_apptainer(view: View) -> set[str]:
    """Return the paths of `view` that Apptainer itself needs for any program."""
    own = {path for path, _ in view.walk() if f"{path}/".startswith(f"{METADATA}/")}
    leading = {
        f"/{name}"
        for name in view.root.children
        if (found := view.find(f"/{name}")) is not None and found.path in own
    }
    return own | leading | {path for path in _MOUNTED if view.find(path, follow=False)}


def _labels(data: bytes) -> dict[str, str]:
    try:
        found = parse_json(data)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}
