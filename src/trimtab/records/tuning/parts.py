"""A file of shared knowledge in parts: each machine writes its own part, without a lock.

So nothing is lost if machines do not see each other's locks. Readers join all parts.
"""

from pathlib import Path

_PART = ".part"


def part_of(path: Path, suffix: str) -> Path:
    """Return the part of the machine with this `suffix`; the file itself for a single machine."""
    return path.with_stem(f"{path.stem}{_PART}{suffix}") if suffix else path


def parts_of(path: Path) -> list[Path]:
    """Return the existing parts of the file at `path`, itself or a part: the file first."""
    stem, _, _ = path.stem.partition(_PART)
    whole = path.with_stem(stem)
    parts = sorted(path.parent.glob(f"{stem}{_PART}_*{path.suffix}"))
    return [one for one in (whole, *parts) if one.exists()]
