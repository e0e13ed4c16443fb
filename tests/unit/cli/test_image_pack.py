"""`trimtab image pack`: a folder becomes an image that engines and `image slim` read."""

import os
from pathlib import Path

import pytest
from handmade import entry, folder, layer, link, oci_image
from machine_root import root_of_programs
from test_image_commands import can_enter
from view_facts import facts

from trimtab.cli.verbs import command_line
from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.merging import merged_view

app = command_line()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def trimtab(*words: str) -> None:
    app(["image", *words], standalone_mode=False)


def test_a_root_is_packed_and_made_slim(tmp_path: Path) -> None:
    root_of_programs(tmp_path / "root", ["sh", "sort", "tar"])
    if problem := can_enter(tmp_path / "root"):
        pytest.skip(f"no root can be entered: {problem}")
    trimtab("pack", "root", "demo.tar", "--name", "demo:1", "--env", "LC_ALL=C", "--",
            "/bin/sh", "-c", "echo b | sort")  # fmt: skip
    image = open_image(tmp_path / "demo.tar")
    run = image.config.run()
    assert run.command == ("/bin/sh", "-c", "echo b | sort") and run.variables == {"LC_ALL": "C"}
    assert set(image.names) == {"docker.io/library/demo:1"}
    view = merged_view(image)
    for path in (tmp_path / "root").rglob("*"):
        found = view.find("/" + str(path.relative_to(tmp_path / "root")), follow=False)
        status = path.lstat()
        assert found is not None
        assert (found.node.uid, found.node.gid) == (status.st_uid, status.st_gid)
        assert path.is_symlink() or found.node.mode == status.st_mode & 0o7777
    trimtab("slim", "demo.tar", "--runs", "1", "--settle", "1")
    slim = merged_view(open_image(tmp_path / "trimtab_workspace/slim.tar"))
    assert slim.find("/bin/sort") and not slim.find("/bin/tar")


def test_a_folder_is_put_into_an_image(tmp_path: Path) -> None:
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to("/usr/bin/python3")
    (tmp_path / "venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    base = oci_image(
        tmp_path / "base.tar", layer(folder("usr"), folder("usr/bin"), entry("usr/bin/python3"))
    )
    trimtab("pack", "venv", "demo.tar", "--on", str(base), "--at", "/opt/venv", "--",
            "/opt/venv/bin/python")  # fmt: skip
    image = open_image(tmp_path / "demo.tar")
    run, before = image.config.run(), open_image(base).config.run()
    assert run.command == ("/opt/venv/bin/python",) and run.environment == before.environment
    packed = facts(image)
    assert packed.items() >= facts(open_image(base)).items()
    assert {path for path in packed if path.startswith("/opt")} == {
        "/opt", "/opt/venv", "/opt/venv/bin", "/opt/venv/bin/python", "/opt/venv/pyvenv.cfg"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing", "a.tar"), "nothing: no such folder"),
        (("venv", "a.zip"), r"a\.zip: expected a name that ends in \.tar"),
        (("venv", "a.tar", "--at", "opt"), "--at opt: expected a path from the image's root"),
        (("venv", "a.tar", "--env", "A"), "--env A: expected NAME=VALUE"),
        (("venv", "a.tar", "--on", "base.tar", "--at", "/usr/bin"), "choose another place"),
        (("venv", "a.tar", "--on", "base.tar", "--at", "/file/in"), "is no folder in the image"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "venv").mkdir()
    oci_image(tmp_path / "base.tar", layer(folder("usr"), link("usr/bin", "bin"), entry("file")))
    with pytest.raises(UserError, match=said):
        trimtab("pack", *words)
    assert not any(name.startswith("a.") for name in os.listdir(tmp_path))
