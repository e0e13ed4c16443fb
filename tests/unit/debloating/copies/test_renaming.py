"""An environment's path is replaced where it is meant, whole, however a file spells it."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import hypothesis
import pytest
from hypothesis import strategies as st

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.copies.renaming import Renaming, rename_in

OLD, NEW = Path("/x/e10"), Path("/new place/é'\"")
# What a component may hold that is longer than the environment's and begins like it.
CONTINUES = [*"b0_-+~@%.^#*?${é\u4e2d", "%20", ".old", "\\ b", "\udc80"]
ENDS = [
    "",
    "/",
    "/bin/python",
    "\n",
    " ",
    '"',
    "'",
    ":/usr",
    ";",
    ",",
    ")",
    "]",
    "}",
    ">",
    "|",
    "\t",
]
PRECEDES = ["", "\n", "#!", "#! ", "=", ":", "'", '"', " ", "\t", "(", "[", ",", ";"]
NOT_OURS = [*"ab0_-+~@%.é/", "\\ ", "/y", "$HOME", "${HOME}"]


def renamed(text: str, old: Path = OLD, new: Path = NEW, *, in_json: bool = False) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return Renaming([old], new, in_json=in_json)(data).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("before", PRECEDES)
@pytest.mark.parametrize("after", ENDS)
def test_the_whole_path_is_replaced(before: str, after: str) -> None:
    got = renamed(f"{before}{OLD}{after}", new=Path("/new"))
    assert got == f"{before}/new{after}"


@pytest.mark.parametrize("more", CONTINUES)
def test_a_longer_component_is_another(more: str) -> None:
    for text in (f"{OLD}{more}", f"PATH={OLD}{more}/bin:/usr", f"'{OLD}{more}'"):
        assert renamed(text) == text


@pytest.mark.parametrize("before", NOT_OURS)
def test_the_end_of_another_path_is_not_ours(before: str) -> None:
    assert renamed(f"{before}{OLD}/bin") == f"{before}{OLD}/bin"


COMPONENT = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=6
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)
SPELLED: list[tuple[Callable[[str], str], bool]] = [
    (lambda path: f"#!{path}/bin/python\n", False),
    (lambda path: f"file://{quote(path)}/src", False),
    (lambda path: f'x="{path}"\n', False),
    (lambda path: json.dumps({"argv": [f"{path}/bin/python", path]}), True),
    (lambda path: json.dumps({"argv": [path]}, ensure_ascii=False), True),
    (lambda path: json.dumps({"url": f"file://{quote(path)}/src"}), True),
]


@hypothesis.given(COMPONENT, COMPONENT, st.sampled_from(SPELLED))
def test_what_a_reader_of_the_file_reads_is_the_new_path(
    old: str, new: str, spelled: tuple[Callable[[str], str], bool]
) -> None:
    spell, in_json = spelled
    text = renamed(spell(f"/x/{old}"), Path(f"/x/{old}"), Path(f"/y/{new}"), in_json=in_json)
    if in_json:
        assert json.loads(text) == json.loads(spell(f"/y/{new}"))
    else:
        assert text == spell(f"/y/{new}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside")


@hypothesis.settings(max_examples=60)
@hypothesis.given(COMPONENT, COMPONENT, st.sampled_from(SPELLED))
@hypothesis.example("0", ":\x7f", SPELLED[3])
@hypothesis.example("0", ": x", SPELLED[0])
def test_a_folder_beside_it_is_never_renamed(
    folder: Path, name: str, more: str, spelled: tuple[Callable[[str], str], bool]
) -> None:
    """Also where a reader could take the rest of its name for what follows a path."""
    place = folder / str(len(list(folder.iterdir())))
    beside = place / (name + more)
    beside.mkdir(parents=True)
    spell, in_json = spelled
    text = spell(str(beside))
    assert renamed(text, place / name, NEW, in_json=in_json) == text


def test_a_word_of_a_shell_stays_one(tmp_path: Path) -> None:
    """As `activate` has it where nothing in the path had to be quoted."""
    (tmp_path / "bin").mkdir()
    quoted = "A='/x/e10'\nB=/x/e10\nC=\"/x/e10\"\nD=/x/e10/bin:/x/e10b\nexport E=/x/e10\n"
    (tmp_path / "bin/activate").write_text(quoted)
    new = Path("/new place/a$b&c")
    with DirectoryHandle.at(tmp_path) as copy:
        rename_in(copy, ["bin/*"], [OLD], new)
    script = f'. {shlex.quote(str(tmp_path / "bin/activate"))}; printf \'%s|\' "$A" "$B" "$E"'
    printed = subprocess.check_output(["sh", "-c", script], text=True)
    assert printed == f"{new}|" * 3
    assert "/x/e10b" in (tmp_path / "bin/activate").read_text()


def test_only_the_files_that_name_it_are_written(tmp_path: Path) -> None:
    for name, data in {
        "script": b"#!/x/e10/bin/python\n", "other": b"#!/x/e10b/bin/python\n",
        "binary": b"/x/e10\0", "large": b"/x/e10\n" * 200_000,
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "script").chmod(0o555)
    original = tmp_path / "one_file"
    original.hardlink_to(tmp_path / "script")
    before = {path.name: path.stat() for path in tmp_path.iterdir()}
    with DirectoryHandle.at(tmp_path) as copy:
        rename_in(copy, ["*r*"], [OLD], Path("/new"))
    assert original.read_bytes() == b"#!/x/e10/bin/python\n"
    assert (tmp_path / "script").read_bytes() == b"#!/new/bin/python\n"
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o555
    for name in ("other", "binary", "large"):
        assert (tmp_path / name).stat().st_ino == before[name].st_ino
