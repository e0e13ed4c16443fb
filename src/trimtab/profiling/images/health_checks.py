"""The commands by which engines check whether a program is well."""

from trimtab.config.groups.workload import Workload
from trimtab.images.archives.image import RunConfig
from trimtab.profiling.images.unpacked import unpacked_image


def words_of(run: RunConfig) -> tuple[str, ...]:
    """Return the words of the command that engines run as the health check; () without one."""
    form, command = run.health_check[:1], run.health_check[1:]
    if form == ("CMD-SHELL",):
        return (*run.shell, *command)
    return command if form == ("CMD",) else ()


def health_checks_of(workload: Workload) -> list[tuple[str, ...]]:
    """Return the commands of a workload and of its image; raises as `unpacked_image` does."""
    given = [tuple(words) for words in workload.health_checks]
    if workload.target.kind == "image":
        run = unpacked_image(workload.target.location or "").image.config.run()
        given.append(words_of(run))
    return [words for words in dict.fromkeys(given) if words]
