"""uv is told from where pip takes packages."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SET = """[global]
index-url = https://example.org/global
extra-index-url =
    https://example.org/one
    https://example.org/two
find-links = /a /b
timeout = 7
[install]
index-url = https://example.org/install
[download]
constraint = /nobody/asked
"""


def test_places_of_packages_are_those_of_pip(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(SET)
    others = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    variables = {
        **others,
        "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
        "PIP_FIND_LINKS": "/of/the environment",
        "HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path),
        "UV_HTTP_TIMEOUT": "9",
    }
    done = subprocess.run(
        [sys.executable, PROJECT / "scripts/uv_settings.py"],
        env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = [shlex.split(line)[1] for line in done.stdout.splitlines()]
    assert set(said) == {
        "UV_DEFAULT_INDEX=https://example.org/install",
        "UV_INDEX=https://example.org/one https://example.org/two",
        "UV_FIND_LINKS=/of/the,environment",
        "UV_INDEX_STRATEGY=unsafe-best-match",
    }
