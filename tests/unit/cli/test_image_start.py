"""`trimtab image start`: the steps add up, all of it is real, and what goes wrong is said."""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from handmade import oci_image
from machine_root import root_of_programs, tar_of_entered
from python_root import root_of_python

from trimtab.cli.verbs import command_line
from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.opening import open_image
from trimtab.records.images.cold_start import ColdSide, ColdStart

app = command_line()

HELLO = {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo hello; exec sleep 1000"]}
USE = """
import json, this_is_used, this_is_not
print(json.dumps(this_is_used.answer()), flush=True)
while True: pass
"""
Image = Callable[..., str]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    root = tmp_path_factory.mktemp("root") / "root"
    root_of_programs(root, ["sh", "sleep"])
    (root / "ballast").write_bytes(os.urandom(1 << 20))
    return tar_of_entered(root)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def image(shell: bytes) -> Image:
    def make(**config: Any) -> str:
        return str(oci_image(Path("demo.tar").absolute(), shell, config={**HELLO, **config}))

    return make


def start(*words: str) -> ColdStart:
    try:
        app(["image", "start", "--output", "start.json", *words], standalone_mode=False)
    except TrimtabError as error:
        if "stays in memory" in str(error):
            pytest.skip("temporary files lie in memory: set TMPDIR to a folder on a disk")
        raise
    return ColdStart.read(Path("start.json"))


def check(side: ColdSide, gbit_per_s: float) -> None:
    """What has to be so whatever the machine does."""
    assert side.transfer_s == pytest.approx(side.compressed_bytes * 8 / (gbit_per_s * 1e9))
    for took in side.rounds:
        assert took.total_s == pytest.approx(took.pull_s + took.unpack_s + took.start_s)
        assert min(took.pull_s, took.unpack_s, took.start_s, took.start_one_core_s) > 0
    parts, needed = side.parts, side.needed
    imports_s = parts.python.import_s if parts.python else 0.0
    assert parts.loader_s is not None and parts.loader_s > 0
    assert parts.loader_s + imports_s + parts.rest_s == pytest.approx(parts.start_s)
    assert 0 < needed.page_bytes <= needed.chunk_bytes <= needed.all_bytes
    assert 0 < needed.files <= needed.all_files
    assert needed.chunk_compressed_bytes is not None
    assert 0 < needed.chunk_compressed_bytes < needed.chunk_bytes


def test_two_images_of_a_shell(image: Image, shell: bytes, here: Path) -> None:
    before = image()
    original = Path(before).read_bytes()
    small = shell.replace(b"./ballast\0", b"./.wh.abc\0")  # a whiteout of nothing
    with pytest.raises(TrimtabError):
        start(before, str(here / "missing.tar"))
    measured = start(
        before, before, "--rounds", "2", "--gbit-per-s", "2", "--", "echo hi; exec sleep 9"
    )
    assert measured.command == ["echo hi; exec sleep 9"] and measured.gbit_per_s == 2
    assert len(measured.before.rounds) == len(measured.after.rounds) == 2
    for side in (measured.before, measured.after):
        check(side, 2)
        assert side.parts.python is None
        assert side.needed.all_bytes - side.needed.page_bytes >= 1 << 20  # nobody read the ballast
        blobs = [layer.region.size_bytes for layer in open_image(Path(before)).layers]
        assert side.compressed_bytes == sum(blobs)  # gzip, as they were
    assert len(small) == len(shell)
    assert Path(before).read_bytes() == original
    assert list((here.parent / "cache/trimtab/images").iterdir()) == []


def test_what_python_does(here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "root"
    interpreter = root_of_python(root)
    (root / "srv/main.py").write_text(USE)
    (root / "srv/this_is_used.py").write_text("def answer(): return 42\n")
    (root / "srv/this_is_not.py").write_text("def answer(): return 43\nanswer()\n")
    config = {"Cmd": [interpreter, "/srv/main.py"]}
    path = str(oci_image(here / "python.tar", tar_of_entered(root), config=config))
    options = ("--rounds", "1", "--compression", "zstd", "--first-output", "^42$")
    measured = start(path, path, *options)
    check(measured.after, 1)
    python = measured.after.parts.python
    assert python is not None and python.compiled_files and python.listed_folders
    called = {package.name: package.called for package in python.packages}
    assert called["this_is_used"] is called["json"] is True
    assert called["this_is_not"] is False  # but by itself, while it was imported
    assert sum(package.modules for package in python.packages) >= 10
    assert sum(package.import_s for package in python.packages) <= python.import_s * 1.001
    assert "Python's imports" in capsys.readouterr().out


def test_an_end_that_was_asked_for(image: Image) -> None:
    path = image()
    start(path, path, "--rounds", "1", "--ends-with", "3", "--", "echo hi; exit 3")


def test_a_server_starts_until_a_request_was_answered(image: Image) -> None:
    path = image(Cmd=["echo up; exec sleep 1000"])
    driver = f"{shlex.quote(sys.executable)} -c pass"
    measured = start(path, path, "--rounds", "1", "--drive", driver, "--ready", "^up")
    check(measured.after, 1)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("--gbit-per-s", "0"), "expected a bandwidth above 0"),
        (("--store", "missing"), "missing: no such folder"),
        (("--compression", "none"), "expected gzip or zstd"),
        (("--first-output", "["), "--first-output: .* expected a regular expression"),
        (("--timeout-s", "0.2", "--", "exec sleep 1000"), "still running after 0.2 s"),
        (("--", "echo why >&2; exit 3"), "(?s)exit code 3 before any line.*why"),
        (("--", "echo hi; exit 3"), "exit code 3 after its first output; `--ends-with 3`"),
        (("--", "echo hi; echo why >&2; kill -9 $$"), r"(?s)signal 9 \(SIGKILL\) after .*why"),
        (("--drive", "false", "--ready", "hello"), "driven by a command that .*exit code 1"),
        (("--drive", "true", "--ready", "("), r"--ready: '\(' given, expected a regular expr"),
        (("--first-output", "^never", "--", "echo other"), r"before a line that matches '\^never'"),
        (("--user", "nobody-there"), "there is no such user"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], match: str, image: Image, here: Path) -> None:
    path = image()
    with pytest.raises(UserError, match=match):
        start(path, path, "--rounds", "1", *words)
    assert not Path("start.json").exists()
    cache = here.parent / "cache/trimtab/images"
    assert not cache.exists() or list(cache.iterdir()) == []
