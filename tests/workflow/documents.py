"""The commands that the pages show, as a reader would type them, one after the other."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
]
NOT_RUN = Path(__file__).with_name("documents_not_run.yaml")
# A line of an indented block, or behind a prompt; what it begins with says whether it is a command.
_LINE = re.compile(r"^(?: {4,}|\$ )(?:\$ )?(?=\S)(.*)$")
_COMMAND = re.compile(
    r"(?:trimtab|snakemake|make|dvc|git|pip|uv|python3?|docker|podman|apptainer|kubectl|sudo|curl"
    r"|cd|cp|source|export|wc|rsync|scp)\s(?![=:])"
    r"|for \w+ in [^:]+; do$"
    r"|[A-Z_]+=\S* \w|(?:trimtab_workspace|\.venv\S*|env|ENV|scripts)/\S+ "
)
_COMMENT = re.compile(r" {2,}#.*$| # .*$")


class Shown(NamedTuple):
    """A command of a page, and the lines that the page shows below it."""

    page: str
    text: str
    output: tuple[str, ...]


def shown() -> Iterator[Shown]:
    """Yield the commands of all pages in their order, with continued lines as one."""
    for page in PAGES:
        yield from of_page(page)


def of_page(page: Path) -> Iterator[Shown]:
    """Yield the commands of one page."""
    lines = page.read_text().splitlines()
    number, fence = 0, ""
    while number < len(lines):
        line, number = lines[number], number + 1
        if line.startswith("```"):
            fence = "" if fence else line
        found = _LINE.match(line) if fence in ("", "```console") else None
        if found is None or not _COMMAND.match(found.group(1)):
            continue
        text = found.group(1)
        # A quotation that is open, a loop and a backslash go on.
        while text.endswith("\\") or (text.startswith("for ") and not text.endswith("done")):
            glue = "" if text.endswith("\\") else "\n"
            text, number = f"{text.rstrip(chr(92))}{glue}{lines[number].strip()}", number + 1
        output = []
        prompt = "$ " in found.group(0)[:6]
        while prompt and number < len(lines) and lines[number].startswith("    "):
            if lines[number].lstrip().startswith("$ "):
                break
            output.append(lines[number].strip())
            number += 1
        yield Shown(str(page.relative_to(PROJECT)), _COMMENT.sub("", text), tuple(output))


@cache
def not_run() -> dict[str, dict[str, Any]]:
    """Return what is not run as it stands: by page and command, why, or what does it instead."""
    listed: dict[str, dict[str, Any]] = yaml.safe_load(NOT_RUN.read_text())
    return listed
