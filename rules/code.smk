import os
import shlex
from pathlib import Path

from trimtab.profiling.runs.from_workload import command_line
from trimtab.sources import sources_of
from trimtab.workflow.read_files import changed_files

# Every path that `code` has returned: files that are told by their number alone.
OF_THE_PROJECT = set()


def here(paths):
    """Files of the checkout, which jobs have wherever they run: no objects of a bucket."""
    return [local(path) for path in paths]


def code(*patterns):
    """The files matching `patterns` and the modules that they import, tracked by content.

    Where trimtab is installed its native code is there as built, not as sources.
    """
    named = []
    for pattern in patterns:
        kind, _, rest = pattern.partition("/")
        if kind == "src":
            named += SOURCES.glob(rest)
        elif kind == "native" and not (PARTS / "src").is_dir():
            named += PARTS.glob("native/*")
        else:
            named += PARTS.glob(pattern)
    files = [path for path in named if path.is_file()]
    paths = [os.path.relpath(path) for path in sources_of(files, SOURCES)]
    OF_THE_PROJECT.update(paths)
    return here(paths)


def python(script, as_the_user=False):
    """How a shell runs a program of `scripts/`; `as_the_user` as in production."""
    folder = shlex.quote(os.path.relpath(PARTS / "scripts"))
    folder = folder.replace("{", "{{").replace("}", "}}")
    before = f"{folder}/as_the_user.sh " if as_the_user else ""
    return f"exec {before}python {folder}/{script}"


def programs(wildcards):
    """The files that a workload's command names, and the modules of ours that they import."""
    workload = CONFIG.option("workload", wildcards.workload)
    written = workload.output.path  # by every run, though the command names it
    words = [word for word in command_line(workload) if word != written]
    return named_programs(words, workload.workdir)


def named_programs(words, folder="."):
    """The files that a command names, and the modules of ours that they import."""
    named = [Path(folder, word) for word in words]
    files = [path for path in named if os.path.isfile(path)]
    return here(os.path.relpath(path) for path in sources_of(files, SOURCES))


def read_files(wildcards):
    """A file that tells which files that a profile read are others now."""
    cell = f"{wildcards.workload}/{wildcards.hardware}"
    return here([changed_files(f"results/profile/{cell}", cell)])
