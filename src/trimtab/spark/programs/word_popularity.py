"""Word popularity over posts in XML: the text analysis of DiAS' evaluation."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from trimtab.errors import UserError
from trimtab.spark.dropping import drop, kept_share
from trimtab.spark.program import input_name

if TYPE_CHECKING:
    from pyspark import SparkContext

_MARKUP = re.compile(r"<[^>]*>")
_WORD = re.compile(r"[^\W\d_]+")

FREQUENT = 10


@dataclass(frozen=True)
class WordPopularity:
    """A job that counts each word in the posts of the file at `path`.

    `path` has the format of StackExchange's `Posts.xml`. Its lines are split into `partitions`
    map tasks (50 in Rocha's thesis, section 4.4.2); `reduce_tasks` sum the counts.
    """

    path: Path
    partitions: int = 50
    reduce_tasks: int = 10

    def __call__(self, context: SparkContext, theta: float, seed: int) -> dict[str, int]:
        """Return the count of each word in the posts of the map tasks that run.

        Map tasks are dropped at the ratio `theta`. Raises UserError for a missing file.
        """
        if not self.path.is_file():
            raise UserError(f"{self.path}: no such file of posts")
        # Splits of about equal bytes, at lines; there may be one more than `partitions`.
        lines = context.textFile(input_name(self.path), self.partitions)
        words = drop(lines, theta, seed).flatMap(words_of)
        counts = words.map(lambda word: (word, 1)).reduceByKey(add, self.reduce_tasks)
        return dict(counts.collect())

    def error_pct(self, found: dict[str, int], exact: dict[str, int], theta: float) -> float:
        """Return the mean absolute relative error over the words of the exact answer.

        A count is scaled by the share of map tasks that ran. Only words with at least `FREQUENT`
        occurrences count, as a sample cannot estimate rare words.
        """
        share = kept_share(self.partitions, theta)
        frequent = {word: count for word, count in exact.items() if count >= FREQUENT}
        errors = [
            abs(found.get(word, 0) / share - count) / count for word, count in frequent.items()
        ]
        return 100 * sum(errors) / len(errors)


def words_of(line: str) -> Iterator[str]:
    """Yield the words of a post, in lower case and without markup; none for a line without one.

    `line` is one line of `Posts.xml`: a `<row .../>`, whose attribute `Body` holds HTML, or a line
    around the rows. Raises ElementTree.ParseError for an invalid row.
    """
    line = line.strip()
    if not line.startswith("<row"):
        return
    body = ElementTree.fromstring(line).get("Body", "")
    for match in _WORD.finditer(html.unescape(_MARKUP.sub(" ", body)).lower()):
        yield match.group()
