"""Data sets out of Debian's packages: texts as Weka writes them, and errors that name the file."""

import gzip
from pathlib import Path

import pytest

from trimtab.characterization.debian import convert, texts_of_arff
from trimtab.errors import UserError


def test_texts_with_escapes(tmp_path: Path) -> None:
    path = tmp_path / "it.arff"
    head = "@relation it\n\n@attribute Text string\n@attribute class-att {0,1}\n\n@data\n\n"
    path.write_text(head + "'Africa\\'s \\\\ grain\\nrose',1\n'none',0\n")
    found = texts_of_arff(path)
    assert found.text.tolist() == ["Africa's \\ grain rose", "none"]
    assert found.label.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("line", ["no quotes,1", "'a class of three',2", "'cut sho", "\0'x',1"])
def test_what_is_no_text_and_class(tmp_path: Path, line: str) -> None:
    path = tmp_path / "it.arff"
    path.write_text(f"@data\n'good',1\n{line}\n")
    with pytest.raises(UserError, match=r"it\.arff: expected a text and its class"):
        texts_of_arff(path)


def test_packages_that_are_not_there(tmp_path: Path) -> None:
    changes = tmp_path / "usr/share/doc/r-cran-mlbench/changelog.Debian.gz"
    changes.parent.mkdir(parents=True)
    for line, said in (
        (None, "no changes of Debian's r-cran-mlbench"),
        (b"another (1) unstable\n", "no changes of Debian's r-cran-mlbench"),
        (b"r-cran-mlbench (2.1-3-1) unstable\n", r"LetterRecognition\.rda: missing; expected"),
    ):
        if line is not None:
            changes.write_bytes(gzip.compress(line))
        with pytest.raises(UserError, match=said):
            convert(tmp_path, tmp_path / "out")
        assert not list((tmp_path / "out").iterdir())
