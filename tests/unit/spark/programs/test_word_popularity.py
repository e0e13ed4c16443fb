import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark.dropping import kept_partitions
from trimtab.spark.programs.prepare import write_documentation_posts
from trimtab.spark.programs.word_popularity import WordPopularity, words_of
from trimtab.spark.session import Session


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            '  <row Id="1" Body="&lt;p&gt;To be, or not to be&lt;/p&gt;&#xA;" />\n',
            "to be or not to be",
        ),
        (
            '<row Body="&lt;b&gt;a&lt;/b&gt;&lt;i&gt;b&lt;/i&gt;" />',
            "a b",
        ),  # no word joins two tags
        ('<row Body="1 &amp;lt; x2y &amp;amp; Größe" />', "x y größe"),  # entities twice escaped
        ('<row Body="&lt;a href=&quot;http://x.y/z&quot;&gt;link&lt;/a&gt;" />', "link"),
        ('<row Id="7" />', ""),
        ('<?xml version="1.0" encoding="utf-8"?>', ""),
        ("<posts>", ""),
        ("", ""),
    ],
)
def test_the_words_of_a_line(line: str, words: str) -> None:
    assert list(words_of(line)) == words.split()


def test_a_broken_row_is_no_row_without_words() -> None:
    with pytest.raises(ET.ParseError):
        list(words_of('<row Body="&lt;p&gt;cut of'))


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def counted(path: Path) -> Counter[str]:
    """A second implementation: XML as one document, HTML by a parser, words by their letters."""
    counts: Counter[str] = Counter()
    for row in ET.parse(path).getroot():
        parser = _Text()
        parser.feed(row.get("Body", ""))
        parser.close()
        text = " ".join(parser.parts).lower()
        counts.update("".join(c if c.isalpha() else " " for c in text).split())
    return counts


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("posts") / "of a topic%20.xml"
    write_documentation_posts(path, 200_000)
    return path


def test_counts_are_those_of_a_plain_count(spark: Session, posts: Path) -> None:
    counts = WordPopularity(posts, partitions=7, reduce_tasks=3)(spark.context, 0.0, 0)
    assert counts == counted(posts)
    assert sum(counts.values()) > 10_000


def test_what_is_found_with_dropped_tasks_is_in_the_kept_splits(
    spark: Session, posts: Path
) -> None:
    program = WordPopularity(posts, partitions=8, reduce_tasks=2)
    found, exact = program(spark.context, 0.5, 5), program(spark.context, 0.0, 0)
    lines = spark.context.textFile(f"file://{posts}", 8).glom().collect()
    kept = kept_partitions(8, 0.5, seed=5)
    expected = Counter(word for i in kept for line in lines[i] for word in words_of(line))
    assert found == expected
    assert program.error_pct(found, exact, 0.5) < 60


def test_the_error_is_the_mean_over_frequent_words() -> None:
    program = WordPopularity(Path("unread"), partitions=10)
    exact = {"often": 100, "never": 50, "rare": 3}
    found = {"often": 55, "rare": 3}  # of half the tasks: estimates 110, 0 and 6
    assert program.error_pct(found, exact, 0.5) == pytest.approx((10 + 100) / 2)
    assert program.error_pct(exact, exact, 0.0) == 0


@pytest.mark.parametrize("name", ["a,b.xml", "a*.xml", "{a,b}.xml", "[a].xml"])
def test_a_name_that_spark_takes_for_several(spark: Session, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("<posts>\n</posts>\n")
    with pytest.raises(UserError, match="Spark reads no path"):
        WordPopularity(tmp_path / name)(spark.context, 0.0, 0)


def test_a_missing_file(spark: Session, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.xml"):
        WordPopularity(tmp_path / "none.xml")(spark.context, 0.0, 0)
