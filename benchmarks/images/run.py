"""Images of ordinary software from Debian's packages, made slim: sizes, and whether they run.

    python benchmarks/images/run.py [--case NAME]... [--folder FOLDER]

Needs root, debootstrap, strace and an engine: that of DOCKER_HOST, or the project's own (`make
deps-docker`). Each image is built from packages alone, its command traced by `trimtab image slim`
without the engine, and the slim one loaded there: the same command, or the same requests to its
server, have to have the same output in both, with files restored from the store and, once more,
where nothing may come back (`strict`). So have they with a command or requests that were not
traced. Sizes are those of all layers, uncompressed and compressed anew, as `trimtab image compare`
has them. Times are of whatever else the machine does. Beside it, other methods go over the same
image (`methods.py`).
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from building import Builder
from cases import SMALLEST
from commands import docker, run
from recording import recorded
from registries import REGISTRIES
from slimming import measured

PROJECT = Path(__file__).parents[2]
CASES = SMALLEST | REGISTRIES


def main() -> None:
    """Measure cases and put them into benchmarks/results/images.json, each with the machine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument(
        "--folder",
        type=Path,
        default=None,
        help="where images are built: what they are built on stays there, for a next time",
    )
    given = parser.parse_args()
    engine = PROJECT / "scripts/engine.sh"
    address = os.environ.get("DOCKER_HOST") or run([engine, "start"]).strip()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        builder = Builder(address, given.folder or Path(place))
        for name in given.case or CASES:
            folder, image = Path(place, name), f"trimtab-case-{name}:1"
            folder.mkdir()
            with recorded("images", name) as figures:
                builder.build(CASES[name], image, folder)
                figures.update(measured(address, CASES[name], image, folder))
                docker(address, "rmi", image)
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
