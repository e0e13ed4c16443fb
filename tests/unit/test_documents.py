"""What the pages link to and name is there."""

import re
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest

from trimtab.records import tables

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted((PROJECT / "benchmarks").glob("*.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# A path of the project in a code span; what begins with my_ is the reader's.
PATH = re.compile(r"(?:src|conf|rules|scripts|native|tests|benchmarks|docs|examples)/[\w./*-]+")
MODULE = re.compile(r"\btrimtab(?:\.[a-z]\w*)+(?![\w/])")
GUIDES = [
    PROJECT / "README.md",
    PROJECT / "docs/tutorial.md",
    PROJECT / "docs/tutorial-operators.md",
    *sorted((PROJECT / "docs/how-to").glob("*.md")),
]
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[*\"')]*\s+(?=[A-Z0-9`*\"'(\[])")
MOST_WORDS, MOST_LONG, MOST_LINES = 25, 0.05, 120


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def page(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


def test_relative_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        path, _, heading = unquote(link).partition("#")
        if "://" not in link:
            target = page.parent / path if path else page
            if not target.exists() or (heading and heading not in anchors(target)):
                broken.append(link)
    assert not broken


def test_named_paths_exist(page: Path) -> None:
    spans = CODE.findall(FENCED.sub("", page.read_text()))
    paths = [span for span in spans if PATH.fullmatch(span) and "/my_" not in span]
    assert [path for path in paths if not list(PROJECT.glob(path.rstrip("/")))] == []


def test_named_modules_exist(page: Path) -> None:
    assert [name for name in MODULE.findall(page.read_text()) if not is_module(name)] == []


def test_the_map_of_contributing_is_complete() -> None:
    text = (PROJECT / "CONTRIBUTING.md").read_text()
    layout = text.split("## Where things belong")[1].split("\n\n    ")[1].split("\n\n")[0]
    names = set(re.findall(r"\w+", layout))
    places = [*(PROJECT / "src/trimtab").iterdir(), *(PROJECT / "native").iterdir()]
    places = [place for place in places if place.is_dir() or place.suffix == ".py"]
    assert {place.stem for place in places} - names - {"__init__", "__pycache__"} == set()


def test_the_page_of_results_names_every_column() -> None:
    named = set(CODE.findall((PROJECT / "docs/reference/results.md").read_text()))
    schemas = [table for table in vars(tables).values() if isinstance(table, pa.Schema)]
    columns = {name for schema in schemas for name in schema.names}
    # Of percentiles the first and the last are named.
    wanted = {name for name in columns if not re.search(r"_p\d+$", name)}
    assert len(schemas) > 10
    assert sorted(wanted - named) == []


def test_readme_is_short() -> None:
    assert len((PROJECT / "README.md").read_text().splitlines()) <= MOST_LINES


def test_few_sentences_of_guides_are_long() -> None:
    every = [sentence for page in GUIDES for sentence in sentences(page.read_text())]
    long = [sentence for sentence in every if len(sentence.split()) > MOST_WORDS]
    assert len(every) > 300
    assert len(long) <= MOST_LONG * len(every), "\n".join(long)


def test_sentences_are_found() -> None:
    text = (
        "# A b.\n\nOne `a. B` two.\nThree:\n\n    $ command. Not.\n\n- [Four](x.md). Five.\n- six"
    )
    assert sentences(text) == ["One Code two.", "Three:", "[Four].", "Five.", "six"]


def sentences(text: str) -> list[str]:
    """The sentences of a page's paragraphs and items; tables, headings and code are left out."""
    paragraphs = [""]
    for line in FENCED.sub("\n", text).splitlines():
        if line.startswith(("#", "|", "    ", "<!--", "![")):
            paragraphs.append("")
        elif not line.strip() or ITEM.match(line):
            paragraphs.append(ITEM.sub("", line))
        else:
            paragraphs[-1] += " " + line.strip()
    plain = (CODE.sub("Code", LINK.sub("]", paragraph)).strip() for paragraph in paragraphs)
    return [sentence for one in plain if one for sentence in END_OF_SENTENCE.split(one)]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as the repository's view names them in links."""
    headings = HEADING.findall(FENCED.sub("", page.read_text()))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def is_module(name: str) -> bool:
    """Whether a dotted name is that of a package or a module, or of something in a module."""
    place = PROJECT / "src"
    for word in name.split("."):
        if (place / f"{word}.py").is_file():
            return True
        place /= word
    return place.is_dir()
