"""The base of the sections about container images."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.report.section import Chapter, TargetSection

IMAGES = Chapter("images", "Container images", "Images")


class ImageSection(TargetSection):
    """A section about targets that are images."""

    chapter = IMAGES

    @property
    def applies(self) -> bool:
        """Whether any target is an image."""
        return any(images_of(self.measurements))


def images_of(measurements: Measurements) -> Iterator[DebloatedTarget]:
    """Yield the targets that are images."""
    for target in measurements.targets:
        if target.is_image:
            yield target
