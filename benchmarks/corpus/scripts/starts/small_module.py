"""A module for formatters and checkers."""

from dataclasses import dataclass


@dataclass
class Point:
    """A point in a plane."""

    x: float
    y: float

    def moved(self, by: "Point") -> "Point":
        """Return the point that is `by` away."""
        return Point(self.x + by.x, self.y + by.y)
