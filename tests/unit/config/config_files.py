"""Configuration files for tests."""

from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[3]


def workload(name: str = "lenet5_train", **changes: object) -> dict[str, object]:
    return {"name": name, "command": ["python", "-c", "1"], "python": "bin/python", **changes}


def write(conf: Path, file: str, document: object) -> None:
    path = conf / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
