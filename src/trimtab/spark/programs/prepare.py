"""The programs of a trace's classes, and their input, generated where none is given."""

import ast
import html
import sysconfig
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from trimtab.config.groups.trace import JobClassConfig
from trimtab.errors import UserError
from trimtab.files import atomic_write
from trimtab.spark.program import SparkProgram
from trimtab.spark.programs.triangles import TriangleCount, partition_edges
from trimtab.spark.programs.word_popularity import WordPopularity

_GRAPH_NODES = 5000


def prepare(classes: Mapping[str, JobClassConfig], folder: Path) -> dict[str, SparkProgram]:
    """Return the program of each class, its input made in `folder`.

    Without a file, posts are generated from Python's documentation, and a graph by the copying
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


def write_documentation_posts(path: Path, size_bytes: int) -> None:
    """Write a file of posts of about `size_bytes` with the documentation of Python's library.

    Each documented module, class or function is a post, with paragraphs in `<p>` and its module as
    tag, in the format of StackExchange's `Posts.xml`. So words have real frequencies.
    """
    write_rows(path, documentation_rows(), size_bytes)


def resize_posts(source: Path, path: Path, size_bytes: int) -> None:
    """Write a file of posts of about `size_bytes` with the rows of the file `source`.

    Raises UserError when `source` has no rows.
    """
    with source.open(encoding="utf-8") as lines:
        write_rows(path, (line for line in lines if line.lstrip().startswith("<row")), size_bytes)


def write_rows(path: Path, rows: Iterator[str], size_bytes: int) -> None:
    """Write rows, repeated if needed, until the file has `size_bytes`.

    Raises UserError without rows.
    """
    seen: list[str] = []
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        written_bytes = 0
        again = chain.from_iterable(repeat(seen)) if size_bytes else ()
        for row in chain(_remembered(rows, seen), again):
            if written_bytes >= size_bytes:
                break
            written_bytes += file.write(row)
        file.write("</posts>\n")


def _remembered(rows: Iterator[str], seen: list[str]) -> Iterator[str]:
    for row in rows:
        seen.append(row)
        yield row
    if not seen:
        raise UserError("no posts to write: the source has no line that begins with <row")


def documentation_rows() -> Iterator[str]:
    """Yield one row for each docstring of Python's standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    number = 0
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library)
        if name.parts[0] in ("site-packages", "dist-packages", "test", "idlelib", "lib2to3"):
            continue
        for text in _docstrings(path):
            number += 1
            body = "".join(f"<p>{html.escape(each)}</p>\n" for each in text.split("\n\n"))
            tag = quoteattr(f"|{name.parts[0].removesuffix('.py')}|")
            yield f'  <row Id="{number}" PostTypeId="1" Body={quoteattr(body)} Tags={tag} />\n'


def _docstrings(path: Path) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old escapes in foreign strings
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return  # intentionally invalid files
    for node in ast.walk(tree):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield text


def write_web_graph(
    path: Path, nodes: int, links: int = 5, copied: float = 0.6, seed: int = 0
) -> None:
    """Write a synthetic web-like graph as an edge list in the format of SNAP's `web-Google.txt`.

    The copying model of Kumar et al. (Stochastic models for the web graph, 2000): every new page
    links to an older one, its model, and to `links` - 1 further pages. Each of these is, with
    probability `copied`, a page that its model links to, else any older page. In-degrees follow a
    power law, and a copied link closes a triangle with the model. The same `seed` gives the same
    file.
    """
    random = np.random.default_rng(seed)
    targets: list[list[int]] = [[]]
    for node in range(1, nodes):
        model = int(random.integers(node))
        linked = {model}
        for copies in random.random(links - 1) < copied:
            of_model = targets[model]
            if copies and of_model:
                linked.add(of_model[int(random.integers(len(of_model)))])
            else:
                linked.add(int(random.integers(node)))
        targets.append(sorted(linked))
    with atomic_write(path) as temporary, temporary.open("w") as file:
        file.write("# Directed graph: synthetic, the copying model\n# FromNodeId\tToNodeId\n")
        for node, linked_to in enumerate(targets):
            file.writelines(f"{node}\t{target}\n" for target in linked_to)
