"""The rows of benchmarks/README.md on the first seed's images."""

from typing import Any

from common import load

RESULTS = ("thesis_images",)
# Per cent by which the published images became smaller, files alone.
_PUBLISHED = {
    "python_image": 97.0,
    "lstm_mnist_image": 52.5,
    "dla_cifar10_image": 51.6,
    "botorch_image": 46.5,
    "diffusion_image": 42.7,
    "yolov3_image": 44.0,
}
_BARS_PCT = {"python_image": 95.0}
_OTHERS_PCT = 75.0  # files and libraries, as of the image of a training in PyTorch


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each image."""
    figures: Any = load("thesis_images") or {"targets": {}}
    return [_row(name, of_it) for name, of_it in figures["targets"].items()]


def _row(name: str, of_it: Any) -> tuple[str, str, str, str]:
    before, after = of_it["before_bytes"], of_it["after_bytes"]
    smaller, bar = 100 * (1 - after / before), _BARS_PCT.get(name, _OTHERS_PCT)
    ratio, equal = of_it["cpu_ratio"], of_it["equal_runs"]
    measured = (
        f"{before / 1e6:,.0f} to {after / 1e6:,.0f} MB on disk ({-smaller:+.1f} %); outputs equal"
        f" {equal} of {of_it['repeats']}, without a miss {of_it['clean_runs']} of"
        f" {of_it['slim_runs']}; CPU time {ratio['median']:.2f}x ({ratio['low']:.2f} to"
        f" {ratio['high']:.2f})"
    )
    met = smaller >= bar and equal == of_it["repeats"]
    return (
        f"`{name}` (`thesis_images.py`)",
        f"-{bar:g} % (published: -{_PUBLISHED[name]:g} %), all outputs equal",
        measured,
        "met" if met else "**missed**",
    )
