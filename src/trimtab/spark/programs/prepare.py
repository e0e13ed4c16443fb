"""The programs that a trace's classes name, and their input."""

from collections.abc import Mapping
from pathlib import Path

from trimtab.config.groups.trace import JobClassConfig
from trimtab.spark.program import SparkProgram
from trimtab.spark.programs.made_input import (
    resize_posts,
    write_documentation_posts,
    write_web_graph,
)
from trimtab.spark.programs.triangles import TriangleCount, partition_edges
from trimtab.spark.programs.word_popularity import WordPopularity

_GRAPH_NODES = 5000


def prepare(classes: Mapping[str, JobClassConfig], folder: Path) -> dict[str, SparkProgram]:
    """Return the program of each class, its input made in `folder`.

    Posts without a file of their own are made of Python's documentation, a graph by the copying
    model.
    """
    programs: dict[str, SparkProgram] = {}
    for name, facts in classes.items():
        source = Path(facts.input) if facts.input else None
        if facts.program == "word_popularity":
            path, size_bytes = folder / f"{name}.xml", int(facts.input_mb * 1e6)
            if source:
                resize_posts(source, path, size_bytes)
            else:
                write_documentation_posts(path, size_bytes)
            rounds = facts.rounds
            programs[name] = WordPopularity(path, rounds.map_tasks, rounds.reduce_tasks)
        else:
            if source is None:
                source = folder / f"{name}.txt"
                write_web_graph(source, _GRAPH_NODES)
            partition_edges(source, folder / name, facts.rounds.map_tasks)
            programs[name] = TriangleCount(folder / name)
    return programs
