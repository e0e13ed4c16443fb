"""Misses of many nodes become one record, of the image that is meant."""

import json
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.records.misses.cold_store_misses import write_record
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


def test_all_nodes_of_one_image(nodes: list[Path], tmp_path: Path) -> None:
    write_record(nodes, [ONE], tmp_path / "record")
    found = {file.path: file.processes for file in read_missed_files(tmp_path / "record")}
    assert found == {"usr/a": 2, "usr/b": 1}
    write_record(nodes[:1], [], tmp_path / "record")
    assert [file.path for file in read_missed_files(tmp_path / "record")] == ["usr/a", "usr/b"]


def test_what_a_container_makes_up_is_left_out(nodes: list[Path], tmp_path: Path) -> None:
    made_up = ['{"x": 1}', "{}", '{"pid": 7, "time_s": 1.5, "file": "../a", "kind": "file"}']
    with nodes[0].open("a") as file:
        file.writelines(f'{{"index": "{ONE}", "piece": {piece}}}\n' for piece in made_up)
    assert write_record(nodes[:1], [ONE], tmp_path / "record") == 3
    assert [file.path for file in read_missed_files(tmp_path / "record")] == ["usr/a", "usr/b"]


@pytest.mark.parametrize(
    ("indexes", "text", "said"),
    [
        ([], "", f"misses of 2 images.*--index.*{ONE} or {OTHER}"),
        ([ONE.replace("one", "none")], "", "no misses of the image that was made here"),
        ([ONE], '{"index": "x"}\n', r"b\.jsonl: line 1 is no miss: .*--misses"),
        ([ONE], "[" * 100_000 + "\n", r"b\.jsonl: line 1 is no miss"),
    ],
)
def test_what_is_wrong_is_said(
    nodes: list[Path], tmp_path: Path, indexes: list[str], text: str, said: str
) -> None:
    if text:
        nodes[1].write_text(text)
    with pytest.raises(UserError, match=said):
        write_record(nodes, indexes, tmp_path / "record")
    assert not (tmp_path / "record").exists()
