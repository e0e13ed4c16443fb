"""What the checks cost: `trimtab debloat` of LeNet5, of this checkout and of an earlier one.

    python benchmarks/checks.py EARLIER [--pairs 3]

EARLIER is a checkout with its native parts built. Both debloat this one's environment, in turns.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import save, spread
from debloat import LENET5, PROJECT

PYTHON = (PROJECT / ".venv/bin").resolve() / "python"


def wall_s(checkout: Path) -> float:
    """Debloat with the trimtab of `checkout` in a folder of its own, and return the wall time."""
    start = "from trimtab.cli.main import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", start, "debloat", "--python", PYTHON,
             "--output", "metrics.json", "--", *LENET5],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(checkout / "src")}, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("earlier", type=Path)
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    earlier, now = given.earlier.resolve(), PROJECT
    times: dict[Path, list[float]] = {earlier: [], now: []}
    for pair in range(given.pairs):
        for checkout in (earlier, now) if pair % 2 else (now, earlier):
            times[checkout].append(wall_s(checkout))
    ratios = [after / before for before, after in zip(times[earlier], times[now], strict=True)]
    save(
        "checks",
        {
            "earlier_wall_s": spread(times[earlier]),
            "wall_s": spread(times[now]),
            "ratio": spread(ratios),
        },
    )


if __name__ == "__main__":
    main()
