"""Misses of many nodes become one record, of the image that is meant."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.records.misses.cold_store_misses import format_skipped, write_record
from trimtab.records.misses.record_lines import FileLine, Line
from trimtab.records.misses.removed_files import read_missed_files

ONE, OTHER = (f"registry.example.com/{name}@sha256:{'0' * 64}" for name in ("one", "other"))


def line(index: str, path: str, pid: int = 7) -> str:
    piece = {"pid": pid, "time_s": 1.5, "file": path, "kind": "file"}
    return json.dumps({"index": index, "piece": piece}) + "\n"


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """The files of two nodes; the second ran another image, too, and was killed in a line."""
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    files[0].write_text(line(ONE, "usr/a") + line(ONE, "usr/b"))
    files[1].write_text(line(ONE, "usr/a", 8) + line(OTHER, "usr/c") + line(ONE, "usr/d")[:20])
    return files


def is_of_image(line: Line) -> bool:
    return isinstance(line, FileLine) and line.file in ("usr/a", "usr/b", "usr/d")


def test_all_nodes_of_one_image(nodes: list[Path], tmp_path: Path) -> None:
    assert not write_record(nodes, [ONE], is_of_image, tmp_path / "record")
    found = {file.path: file.processes for file in read_missed_files(tmp_path / "record")}
    assert found == {"usr/a": 2, "usr/b": 1}
    assert not write_record(nodes[:1], [], is_of_image, tmp_path / "record")
    assert [file.path for file in read_missed_files(tmp_path / "record")] == ["usr/a", "usr/b"]


def test_many_lines_of_a_container_hide_no_others(tmp_path: Path) -> None:
    """More than a record may have: of no sense, or the same ones at another time."""
    file = tmp_path / "misses"
    again = line(ONE, "usr/b")
    file.write_text("x\n" * 1_000_000 + again + again.replace("1.5", "2.5") + line(ONE, "usr/a"))
    skipped = write_record([file], [ONE], is_of_image, tmp_path / "record")
    assert skipped == {file: 1_000_000}
    assert [each.path for each in read_missed_files(tmp_path / "record")] == ["usr/b", "usr/a"]
    assert (tmp_path / "record").read_text().count("\n") == 2


def test_not_every_image_of_a_node_is_named(tmp_path: Path) -> None:
    file = tmp_path / "misses"
    file.write_text("".join(line(f"{ONE}{number}", "usr/a") for number in range(1000)))
    with pytest.raises(UserError, match=r"misses of several images.*--index") as caught:
        write_record([file], [], is_of_image, tmp_path / "record")
    assert len(str(caught.value)) < 2000


MADE_UP = [
    *(f'{{"index": "{ONE}", "piece": {piece}}}\n' for piece in (
        '{"x": 1}',
        "{}",
        '{"pid": 7, "time_s": 1.5, "file": "../a", "kind": "file"}',
        '{"pid": 7, "time_s": 1.5, "files": 3}',
    )),
    line(ONE, "usr/none"),
    '{"index": "x"}\n',
    "\n",
    "[" * 100_000 + "\n",
    "\x1b[31m\n",
]  # fmt: skip


@pytest.mark.parametrize("made_up", MADE_UP, ids=range(len(MADE_UP)))
def test_what_is_made_up_is_skipped(nodes: list[Path], tmp_path: Path, made_up: str) -> None:
    nodes[0].write_text(made_up + nodes[0].read_text() + made_up)
    skipped = write_record(nodes[:1], [ONE], is_of_image, tmp_path / "record")
    assert skipped == {nodes[0]: 2}
    assert [file.path for file in read_missed_files(tmp_path / "record")] == ["usr/a", "usr/b"]


@given(st.lists(st.binary(max_size=60).filter(lambda data: b"\n" not in data), max_size=9))
def test_no_line_hides_others(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("node")
    (folder / "misses").write_bytes(b"\n".join([*lines, line(ONE, "usr/a").encode()]))
    skipped = write_record([folder / "misses"], [], is_of_image, folder / "record")
    assert skipped.total() == len(lines)
    assert [file.path for file in read_missed_files(folder / "record")] == ["usr/a"]


@pytest.mark.parametrize(
    ("skipped", "said"),
    [
        ({"a": 1}, "1 line of a names nothing of this image: skipped"),
        ({"a": 2000}, "2,000 lines of a name nothing of this image: skipped"),
        ({"a": 2, "b": 1}, "2 lines of a, 1 line of b name nothing of this image: skipped"),
    ],
)
def test_skipped_lines_are_one_sentence(skipped: dict[str, int], said: str) -> None:
    assert format_skipped({Path(each): count for each, count in skipped.items()}) == said


@pytest.mark.parametrize(
    ("indexes", "text", "said"),
    [
        ([], "", f"misses of 2 images.*--index.*{ONE} or {OTHER}"),
        ([ONE.replace("one", "none")], "", "no misses of the image that was made here"),
        ([OTHER], '{"index": "x"}\n', r"1 line of .*b\.jsonl names nothing.*--misses"),
        ([OTHER], "[" * 100_000 + "\n", r"1 line of .*b\.jsonl names nothing"),
        ([OTHER], line(OTHER, "usr/none") * 3, r"3 lines of .*b\.jsonl name nothing"),
    ],
)
def test_what_is_wrong_is_said(
    nodes: list[Path], tmp_path: Path, indexes: list[str], text: str, said: str
) -> None:
    if text:
        nodes[1].write_text(text)
    with pytest.raises(UserError, match=said):
        write_record(nodes, indexes, is_of_image, tmp_path / "record")
    assert not (tmp_path / "record").exists()
