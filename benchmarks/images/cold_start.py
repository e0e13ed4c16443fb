"""From the pull of an image to its program's first output, original against slim.

    python benchmarks/images/cold_start.py [--case NAME]... [--rounds N] [--folder FOLDER]

Needs root, debootstrap and an engine (`make deps-docker`), and 6 GB on a disk. Images are built as
`run.py` builds them and made slim; `trimtab image start` measures both in turns. The image of
PyTorch inference is there with the byte code that pip makes and without, and once more with its
layers compressed by zstd.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from building import Builder
from cases import SMALLEST, Case
from commands import run
from common import load, save
from slimming import TRIMTAB

_PROJECT = Path(__file__).parents[2]

_INFERENCE = """
import sys, torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Conv2d(32, 64, 3, stride=2), nn.BatchNorm2d(64), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 1000), nn.Softmax(1),
).eval()
with torch.inference_mode():
    for batch in range(int(sys.argv[1])):
        answer = net(torch.rand(4, 3, 224, 224))
        print(answer.argmax(1).tolist(), flush=True)
"""
_TORCH = Case(
    "torch", ("python3",), ("python3", "/srv/infer.py", "1"), wheels=("torch==2.13.0", "numpy"),
    byte_code=True, files={"srv/infer.py": _INFERENCE},
)  # fmt: skip
_STARTED: dict[str, Case] = {
    "torch": _TORCH,
    "torch_without_byte_code": replace(_TORCH, byte_code=False),
    "nginx": SMALLEST["nginx"],
}
_COMPRESSIONS = ("gzip", "zstd")


def measured(
    address: str, name: str, case: Case, builder: Builder, folder: Path, rounds: int
) -> dict[str, Any]:
    """Build and slim one image, and return the documents of its starts by compression."""
    image = f"trimtab-start-{name.replace('_', '-')}:1"
    builder.build(case, image, folder)
    environment = {**os.environ, "DOCKER_HOST": address, "XDG_CACHE_HOME": str(folder / "cache")}
    served: list[str] = []
    if case.port is not None:
        drive = " ".join(case.drive())
        served = ["--drive", drive, "--address", f"127.0.0.1:{case.port}"]
    options: dict[str, Any] = {"env": environment, "cwd": folder, "timeout": 3000}
    slim = [*TRIMTAB, "image", "slim", image, "--runs", "2", "--settle", "2", *served]
    run([*slim, "--", *case.command], **options)
    figures = {}
    for compression in _COMPRESSIONS if name == "torch" else _COMPRESSIONS[:1]:
        words = ["image", "start", image, "trimtab_workspace/slim.tar", *served]
        words += ["--rounds", str(rounds), "--compression", compression]
        words += ["--store", "trimtab_workspace/store", "--output", "start.json"]
        run([*TRIMTAB, *words, "--", *case.command], **options)
        figures[compression] = json.loads((folder / "start.json").read_text())
    for engine_name in (image, image.replace(":1", ":slim")):
        run(["docker", "-H", address, "rmi", engine_name])
    return figures


def main() -> None:
    """Measure the cases and add them to benchmarks/results/cold_start.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=list(_STARTED))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None, help="where images are built")
    given = parser.parse_args()
    engine = _PROJECT / "scripts/engine.sh"
    address = os.environ.get("DOCKER_HOST") or run([engine, "start"]).strip()
    before: Any = load("cold_start") or {}
    cases: dict[str, Any] = dict(before.get("cases", {}))
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        builder = Builder(address, given.folder or Path(place))
        for name in given.case or _STARTED:
            folder = Path(place, name)
            folder.mkdir()
            cases[name] = measured(address, name, _STARTED[name], builder, folder, given.rounds)
            shutil.rmtree(folder, ignore_errors=True)
            save("cold_start", {"cases": cases})


if __name__ == "__main__":
    main()
