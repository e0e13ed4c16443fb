import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark.programs.prepare import resize_posts, write_documentation_posts

REAL = """\ufeff<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="6" PostTypeId="1" Body="&lt;p&gt;first&lt;/p&gt;" />
  <row Id="13" PostTypeId="2" Body="&lt;p&gt;second&lt;/p&gt;" />
</posts>
"""


def test_documentation_becomes_posts(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    write_documentation_posts(path, 50_000)
    assert 50_000 <= path.stat().st_size < 70_000
    rows = list(ET.parse(path).getroot())
    assert all(row.tag == "row" and row.get("Body", "").startswith("<p>") for row in rows)
    assert len({row.get("Id") for row in rows}) == len(rows)
    again = tmp_path / "again.xml"
    write_documentation_posts(again, 50_000)
    assert again.read_bytes() == path.read_bytes()


def test_rows_are_repeated_up_to_the_size(tmp_path: Path) -> None:
    source, path = tmp_path / "source.xml", tmp_path / "Posts.xml"
    source.write_text(REAL, encoding="utf-8")
    resize_posts(source, path, 400)
    ids = [row.get("Id") for row in ET.parse(path).getroot()]
    assert ids == (["6", "13"] * 10)[: len(ids)] and len(ids) > 4
    resize_posts(source, path, 10)
    assert [row.get("Id") for row in ET.parse(path).getroot()] == ["6"]


def test_a_source_without_rows(tmp_path: Path) -> None:
    source = tmp_path / "source.xml"
    source.write_text("<posts>\n</posts>\n")
    with pytest.raises(UserError, match="no posts"):
        resize_posts(source, tmp_path / "Posts.xml", 100)
    assert not (tmp_path / "Posts.xml").exists()
