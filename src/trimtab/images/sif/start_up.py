"""How Apptainer starts a container of a SIF, told as an image's config tells it.

It reads the scripts of /.singularity.d/env in their order, and becomes the runscript with the words
that `apptainer run` was given; images without one run these words.
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
# What it mounts there: into an image that has no such file or folder it cannot everywhere.
_MOUNTED = ("/dev", "/proc", "/sys", "/tmp", "/var/tmp", "/home", "/root", "/etc/passwd",
            "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/localtime")  # fmt: skip


def run_config(labels: bytes | None) -> dict[str, Any]:
    """Return the `config` part of an image's config; `labels` are those of labels.json.

    What is no JSON object of texts is passed over, as by Apptainer.
    """
    return {
        "Entrypoint": ["/bin/sh", "-c", _START, "apptainer"],
        "WorkingDir": "/",
        "Labels": _labels(labels or b"{}"),
    }


def paths_of_apptainer(view: View) -> set[str]:
    """Return the paths of `view` that Apptainer needs itself, whatever a program does."""
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
