"""Squarified treemaps: rectangles with given areas (Bruls, Huizing and van Wijk, 2000)."""

from collections.abc import Sequence
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle: its corner, width and height."""

    x: float
    y: float
    width: float
    height: float


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """Return a rectangle in `box` for each of `sizes`, all above zero, the largest first."""
    placed: list[Box] = []
    scale = box.width * box.height / sum(sizes) if sizes else 0.0
    areas = [size * scale for size in sizes]
    while len(placed) < len(areas):
        rest = areas[len(placed) :]
        short = min(box.width, box.height)
        count = 1
        while count < len(rest) and _worst(rest[: count + 1], short) <= _worst(rest[:count], short):
            count += 1
        thick = sum(rest[:count]) / short
        offset = 0.0
        for area in rest[:count]:
            long = area / thick
            if box.width >= box.height:
                placed.append(Box(box.x, box.y + offset, thick, long))
            else:
                placed.append(Box(box.x + offset, box.y, long, thick))
            offset += long
        if box.width >= box.height:
            box = Box(box.x + thick, box.y, box.width - thick, box.height)
        else:
            box = Box(box.x, box.y + thick, box.width, box.height - thick)
    return placed


def _worst(areas: Sequence[float], side: float) -> float:
    """Return the worst aspect ratio of these rectangles along a side."""
    whole = sum(areas)
    return max(side**2 * max(areas) / whole**2, whole**2 / (side**2 * min(areas)))
