"""Configuration files for tests."""

from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[3]
# Aliases of aliases: a few hundred bytes that stand for billions of values.
BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


def workload(name: str = "lenet5_train", **changes: object) -> dict[str, object]:
    return {"name": name, "command": ["python", "-c", "1"], "python": "bin/python", **changes}


def write(conf: Path, file: str, document: object) -> None:
    path = conf / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
