"""What the experiment `images_thesis` left, or some of its targets: sizes, runs, verdicts.

    snakemake --cores 2 all --config overrides='["experiment=images_thesis"]'
    python benchmarks/thesis_images.py

Each target found is added to benchmarks/results/thesis_images.json.
"""

import statistics
from pathlib import Path
from typing import Any

import pandas as pd
from common import load, save, spread

from trimtab.files import read_json

_FOLDER = Path("results/debloat")
_QUANTITIES = ("wall_s", "cpu_s", "peak_rss_bytes", "energy_j")


def figures_of(folder: Path) -> dict[str, Any]:
    """Return the figures of one target."""
    verdict, weight = (read_json(folder / f"{name}.json") for name in ("verify", "environment"))
    runs = pd.read_parquet(folder / "verify_runs.parquet")
    sides: dict[str, Any] = {
        condition: {key: statistics.median(of_it[key]) for key in _QUANTITIES}
        for condition, of_it in runs.groupby("condition")
    }
    wide = runs.pivot(index="repeat", columns="condition", values="cpu_s")
    [workload] = verdict["workloads"]
    return {
        "before_bytes": weight["before_bytes"],
        "after_bytes": weight["after_bytes"],
        **{key: workload[key] for key in ("repeats", "equal_runs", "slim_runs", "clean_runs")},
        "outputs": int(runs["output_digest"].nunique()),
        "cpu_ratio": spread((wide["debloated"] / wide["original"]).tolist()),
        **sides,
    }


def main() -> None:
    """Collect what is there."""
    earlier: Any = load("thesis_images") or {"targets": {}}
    targets = dict(earlier["targets"])
    for path in sorted(_FOLDER.glob("*_image/*/verify.json")):
        targets[path.parent.parent.name] = figures_of(path.parent)
    save("thesis_images", {"targets": targets})


if __name__ == "__main__":
    main()
