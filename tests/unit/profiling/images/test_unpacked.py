"""Images are extracted once, by one at a time, and whole."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from handmade import entry, folder, layer, link, oci_image

from trimtab.errors import UserError
from trimtab.images.errors import ImageError
from trimtab.profiling.images.unpacked import image_at, unpacked_image, use_saved

ROOT = layer(folder("etc"), entry("etc/file", b"text"), link("etc/link", "/etc/file"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path / "cache"


def test_the_same_layers_are_extracted_once(tmp_path: Path, cache: Path) -> None:
    archive = oci_image(tmp_path / "image.tar", ROOT)
    other = oci_image(tmp_path / "other", ROOT, config={"Cmd": ["/bin/other"]})
    first = unpacked_image(str(archive))
    assert first.engine_name is None
    assert (first.root / "etc/link").readlink() == Path("/etc/file")
    assert first.root.is_relative_to(cache) and not first.root.parent.stat().st_mode & 0o077
    before = first.root.stat().st_ino
    assert unpacked_image(str(other)).root == first.root
    assert first.root.stat().st_ino == before
    changed = oci_image(tmp_path / "changed.tar", ROOT, layer(entry("etc/file", b"new")))
    assert unpacked_image(str(changed)).root != first.root
    assert (first.root / "etc/file").read_text() == "text"


def test_several_at_once(tmp_path: Path, cache: Path) -> None:
    data = layer(*(entry(f"{number}/file", bytes(3000)) for number in range(500)))
    archive = oci_image(tmp_path / "image.tar", data)
    code = (
        "import sys; from trimtab.profiling.images.unpacked import unpacked_image;"
        "root = unpacked_image(sys.argv[1]).root; print(root, len(list(root.iterdir())))"
    )
    command = [sys.executable, "-c", code, str(archive)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate(timeout=60)[0] for process in running}
    assert len(said) == 1 and said.pop().endswith(" 500\n")
    [place] = (cache / "trimtab/images").iterdir()
    assert {path.name for path in place.iterdir()} <= {"root", "lock"}


def test_what_a_killed_one_left_goes(tmp_path: Path, cache: Path) -> None:
    archive = oci_image(tmp_path / "image.tar", ROOT)
    root = unpacked_image(str(archive)).root
    root.rename(root.parent / ".trimtab-x.partial")
    assert unpacked_image(str(archive)).root == root
    assert not (root.parent / ".trimtab-x.partial").exists()


def test_a_damaged_image_leaves_no_root(tmp_path: Path, cache: Path) -> None:
    image = oci_image(tmp_path / "image", ROOT)
    largest = max((image / "blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    with pytest.raises(ImageError):
        unpacked_image(str(image))
    assert not list(cache.rglob("root"))


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("", "target.location: missing"),
        ("/no/such/image", "no such file or folder"),
        ("./image", "no such file or folder"),
        ("missing.tar", "no such file or folder"),
        ("No Name", "no name of an image"),
        ("demo:1", "no engine answers at"),
    ],
)
def test_no_image(location: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        image_at(location)


def test_a_name_that_was_saved_before_needs_no_engine(tmp_path: Path) -> None:
    use_saved("demo:1", tmp_path / "removed.tar")
    with pytest.raises(UserError, match="no engine answers at"):
        image_at("demo:1")
    use_saved("demo:1", archive := oci_image(tmp_path / "image.tar", ROOT))
    found = unpacked_image("demo:1")
    assert (found.image.path, found.engine_name) == (archive, "demo:1")
    assert (found.root / "etc/file").read_text() == "text"
    with pytest.raises(UserError, match="no engine answers at"):
        image_at("demo:2")


def test_a_file_that_is_no_image(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(UserError, match=f"{tmp_path}/file"):
        unpacked_image(str(tmp_path / "file"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match=f"{tmp_path}/pipe"):
        unpacked_image(str(tmp_path / "pipe"))


FULL = """
mount -t tmpfs -o size=100k none "$1" && XDG_CACHE_HOME="$1" exec "$2" -c '
import sys
from trimtab.errors import exit_on_error
from trimtab.profiling.images.unpacked import unpacked_image
with exit_on_error():
    unpacked_image(sys.argv[1])
' "$3"; ls -A "$1"/trimtab/images/*
"""


def test_no_space(tmp_path: Path) -> None:
    archive = oci_image(tmp_path / "image.tar", layer(entry("file", os.urandom(200_000))))
    (tmp_path / "small").mkdir()
    script = FULL.replace('exec "$2"', '"$2"').replace('"$3"; ls', '"$3"; ended=$?; ls')
    words = [tmp_path / "small", sys.executable, archive]
    ran = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{script}exit $ended", "sh", *words],
        capture_output=True, text=True,
    )  # fmt: skip
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no file system can be mounted: {ran.stderr.strip()}")
    assert os.strerror(errno.ENOSPC) in ran.stderr and "/root" in ran.stderr
    assert (ran.returncode, ran.stdout) == (1, "")
