"""A file of what machines learn, of which each one writes a part of its own: none waits for a lock.

So nothing is lost where machines do not see each other's locks. Whoever reads joins all parts.
"""

from pathlib import Path

_PART = ".part"


def part_of(path: Path, suffix: str) -> Path:
    """Return the part of the machine with this `suffix`; the file itself where it is alone."""
    return path.with_stem(f"{path.stem}{_PART}{suffix}") if suffix else path


def parts_of(path: Path) -> list[Path]:
    """Return what there is of the file that `path`, itself or a part, is of: the file first."""
    stem, _, _ = path.stem.partition(_PART)
    whole = path.with_stem(stem)
    parts = sorted(path.parent.glob(f"{stem}{_PART}_*{path.suffix}"))
    return [one for one in (whole, *parts) if one.exists()]
