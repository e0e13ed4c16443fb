"""What every document has in common: it is read whole, of its version, or refused with a word."""

import json
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.errors import TrimtabError, UserError
from trimtab.records.document import PART, Document


@dataclass(frozen=True, config=PART)
class Part:
    """A part of the document."""

    count: int
    share: float = 0.5


class Example(Document):
    """A document of parts."""

    stage: ClassVar[str] = "profile"
    most_bytes: ClassVar[int] = 1 << 12
    version: Literal[2] = 2
    parts: list[Part]
    note: str | None = None


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "example.json"
    example = Example(parts=[Part(1), Part(2, 1)], note="ä")
    example.write(path)
    assert Example.read(path) == example
    assert json.loads(path.read_text())["version"] == 2


def test_a_missing_file_names_the_stage_to_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"example\.json: missing; run the stage `profile` first"):
        Example.read(tmp_path / "example.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("\xff", "not JSON"),
        ("[]", "expected an object"),
        ('{"parts": []}', "has no version, this trimtab reads 2"),
        ('{"version": 1, "parts": []}', "has version 1, this trimtab reads 2"),
        ('{"version": [2], "parts": []}', r"has version \[2\], this trimtab reads 2"),
        ('{"version": 2}', "parts: Field required"),
        ('{"version": 2, "parts": [], "more": 1}', "more: Extra inputs"),
        ('{"version": 2, "parts": [{"count": 1}, {"count": "1"}]}', r"parts\[1\]\.count: Input"),
        ('{"version": 2, "parts": [{"count": true}]}', r"parts\[0\]\.count: Input"),
        ('{"version": 2, "parts": [{"count": 1, "share": NaN}]}', r"parts\[0\]\.share: Input"),
        ('{"version": 2, "parts": [{"count": 1, "colour": 2}]}', r"parts\[0\]\.colour"),
    ],
)
def test_damage_is_refused_with_the_file_and_the_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "example.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TrimtabError, match=rf"example\.json: .*{said}.*; run the stage") as caught:
        Example.read(path)
    assert "\n" not in str(caught.value)


class Lenient(Document):
    """A document whose version 3 added a key."""

    stage: ClassVar[str] = "profile"
    reads_too: ClassVar[tuple[int, ...]] = (2,)
    version: Literal[2, 3] = 3
    added: list[int] = Field(default_factory=list)


def test_an_older_version_is_read_where_the_class_says_so(tmp_path: Path) -> None:
    path = tmp_path / "lenient.json"
    path.write_text('{"version": 2}')
    assert Lenient.read(path) == Lenient(version=2)
    for version in ("1", "4", "true", "[3]", "null"):
        path.write_text(f'{{"version": {version}}}')
        with pytest.raises(TrimtabError, match=r"version.* this trimtab reads 3"):
            Lenient.read(path)


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "example.json"
    Example(parts=[Part(1)]).write(path)
    with pytest.raises(TrimtabError, match=r"example\.json: not written: [\d,]+ bytes, .* 4,096"):
        Example(parts=[Part(1)] * 1000).write(path)
    assert Example.read(path).parts == [Part(1)]
    assert list(tmp_path.iterdir()) == [path]
