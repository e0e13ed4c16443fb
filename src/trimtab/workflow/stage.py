"""A stage of the workflow: its cells, what it hands on, and what the report says of it."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, ClassVar

from snakemake.io import expand

from trimtab.config import Configurations

Given = Callable[[Any], list[str]]  # an input function of a rule: files, of wildcards


class Stage:
    """A stage of an experiment; its rules are in the file of `rules/` named like its module.

    A cell is a combination of the options of some groups: `cells` has for each group the key of
    the experiment that names them. Results of a cell are in `results/STAGE/OPTION/.../`. The report
    is made from the files `handed_on`, and describes the options of the groups `reported`. On those
    of `resolved` results depend. The rule `target` makes the files `wanted`, or all `handed_on`.
    """

    cells: ClassVar[Mapping[str, str]]
    handed_on: ClassVar[tuple[str, ...]]
    reported: ClassVar[tuple[str, ...]] = ()
    resolved: ClassVar[tuple[str, ...]] = ()
    target: ClassVar[str] = ""
    wanted: ClassVar[tuple[str, ...]] = ()
    folder: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Place the results."""
        name = cls.__module__.rpartition(".")[2]
        cls.folder = "/".join(["results", name, *(f"{{{group}}}" for group in cls.cells)])

    def __init__(self, config: Configurations) -> None:
        """Remember the configuration."""
        self.config, self.experiment = config, config.root.experiment

    def names(self) -> dict[str, list[str]]:
        """Return the options of each group of the cells."""
        return {group: list(attrgetter(key)(self.experiment)) for group, key in self.cells.items()}

    def options(self, whole: bool) -> dict[str, list[str]]:
        """Return the options that the report describes, or the `whole` of what counts, by group."""
        names = self.names()
        used = {group: names[group] if all(names.values()) else [] for group in self.resolved}
        return {group: names[group] for group in self.reported} | (used if whole else {})

    def results(self) -> list[str]:
        """Return the files that the report is made from."""
        return self.files(*self.handed_on)

    def targets(self) -> list[str]:
        """Return the files that the rule `target` makes."""
        return self.files(*self.wanted) if self.wanted else self.results()

    def files(self, *names: str) -> list[str]:
        """Return the files of these names of every cell."""
        return [path for name in names for path in self.paths(name, **self.names())]

    @classmethod
    def paths(cls, name: str, **options: Iterable[str]) -> list[str]:
        """Return the file `name` of the cells that combine `options`, in their order."""
        found: list[str] = expand(f"{cls.folder}/{name}", **options)
        return found
