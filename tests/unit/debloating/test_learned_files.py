"""Removed files that were asked for are learned as code is, once and for the next build."""

from pathlib import Path

import pytest

from trimtab.debloating.misses import learn, learned_files
from trimtab.errors import UserError
from trimtab.records.misses.learned import LearnedCode
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.misses.removed_files import MissedFile, read_missed_files

FILE = '{"pid": 3, "time_s": 1.5, "file": "lib/x.py", "kind": "file"}\n'
CALL = '{"pid": 1, "time_s": 1.5, "library": "lib/x.so", "address": 16, "function": "f"}\n'
COUNTS = '{"pid": 9, "time_s": 2.1, "files": 3}\n{"pid": 9, "time_s": 2.1, "functions": 3}\n'


def test_a_record_has_both(tmp_path: Path) -> None:
    record = tmp_path / "fallback.jsonl"
    other = FILE.replace("lib/x.py", r"lib/\\\\xff").replace('"file"}', '"folder"}')
    record.write_text(FILE + CALL + other + FILE.replace(": 3,", ": 4,") + FILE + COUNTS + FILE[:9])
    assert read_missed_files(record) == [
        MissedFile("lib/x.py", "file", 2),
        MissedFile("lib/\\xff", "folder", 1),
    ]
    assert [call.name for call in read_removed_calls(record)] == ["f"]


@pytest.mark.parametrize(
    "line", [FILE.replace("lib/x", "../x"), FILE.replace('"file"}', '"device"}'),
             FILE.replace('"lib/x.py"', "7"), COUNTS.split("\n")[0].replace("3", "-3")]
)  # fmt: skip
def test_a_foreign_line_is_refused(tmp_path: Path, line: str) -> None:
    record = tmp_path / "fallback.jsonl"
    record.write_text(FILE + line.strip() + "\n")
    with pytest.raises(UserError, match="line 2 is no record"):
        read_missed_files(record)


def test_files_are_learned_once_and_of_this_environment(tmp_path: Path) -> None:
    root, path = tmp_path / "root", tmp_path / "learned.json"
    root.mkdir()
    (root / "a").write_text("a")
    (root / "b").symlink_to("nowhere")
    assert learned_files(path, root) == []
    assert learn(path, "t", root, [], [MissedFile("a", "file", 1)]) == 1
    assert learn(path, "t", root, [], [MissedFile(name, "file", 1) for name in "ba"]) == 1
    assert [file.path for file in LearnedCode.read(path).files] == ["a", "b"]
    assert learned_files(path, root) == ["a", "b"]
    (root / "a").unlink()
    assert learned_files(path, root) == ["b"]
    with pytest.raises(UserError, match="missing; was this recorded in another environment"):
        learn(path, "t", root, [], [MissedFile("c", "file", 1)])
