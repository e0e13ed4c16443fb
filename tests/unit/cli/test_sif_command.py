"""`trimtab image` with images of Apptainer: a SIF in, a smaller SIF out that runs as it did."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from handmade_sif import SIGNATURE, needs_squashfs, partition, sif, squashfs
from machine_root import root_of_programs

from trimtab.cli.verbs import command_line
from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.merging import merged_view
from trimtab.images.sif.container import Sif
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.images.unpacked import image_at, unpacked_image
from trimtab.records.images.comparison import ImageComparison

app = command_line()

pytestmark = needs_squashfs
RUNSCRIPT = '#!/bin/sh\necho "$GREETING" "$@" | sort\n'
ONCE = ("--runs", "1", "--settle", "1")


@pytest.fixture
def original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "root"
    root_of_programs(root, ["sh", "sort", "tar"])
    try:
        RootFileSystem(root).start(["/bin/sh", "-c", ":"], Path("/"), None).wait()
    except UserError as error:
        pytest.skip(f"no root can be entered: {error}")
    own = root / ".singularity.d"
    (own / "env").mkdir(parents=True)
    (own / "env/90-environment.sh").write_text("export GREETING=hello\n")
    (own / "Singularity").write_text("Bootstrap: scratch\n")
    (own / "runscript").write_text(RUNSCRIPT)
    (own / "runscript").chmod(0o755)
    (root / "singularity").symlink_to(".singularity.d/runscript")
    tar = ["tar", "--create", "--directory", root, "."]
    archive = subprocess.run(tar, check=True, stdout=subprocess.PIPE).stdout
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = here / "demo.sif"
    path.write_bytes(sif(partition(squashfs(archive, tmp_path)), (SIGNATURE, b"", b"signed")))
    return path


def trimtab(*words: str) -> None:
    app(list(words), standalone_mode=False)


def test_a_sif_made_slim(original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = hashlib.sha256(original.read_bytes()).hexdigest()
    trimtab("image", "slim", "demo.sif", *ONCE, "--", "world")
    said = " ".join(capsys.readouterr().err.split())
    assert "sign it with `apptainer sign`" in said
    assert hashlib.sha256(original.read_bytes()).hexdigest() == before
    slim = Path("trimtab_workspace/slim.sif")
    assert not Sif.open(slim).is_signed
    image = image_at(str(slim))
    paths = {path for path, _ in merged_view(image).walk()}
    assert "/usr/bin/sort" in paths and "/usr/bin/tar" not in paths
    assert {"/.singularity.d/Singularity", "/.singularity.d/runscript", "/singularity"} <= paths
    assert paths == {path for path, _ in merged_view(open_image(slim.with_suffix(".tar"))).walk()}
    trimtab("image", "compare", "demo.sif", str(slim), "--output", "both.json")
    both = ImageComparison.read(Path("both.json"))
    assert "/usr/bin/tar" in {file.path for file in both.removed}
    unpacked = unpacked_image(str(slim))
    command = [*unpacked.image.config.run().entrypoint, "again"]
    started = RootFileSystem(unpacked.root).start(command, Path("/"), None, stdout=subprocess.PIPE)
    assert started.communicate()[0] == b"hello again\n"


def test_the_slim_one_in_the_place_of_the_original(original: Path) -> None:
    Path("trimtab_workspace").mkdir()
    taken = original.rename("trimtab_workspace/slim.sif")
    with pytest.raises(UserError, match="would take the place of the original"):
        trimtab("image", "slim", str(taken), *ONCE)
    assert taken.exists()


def test_a_sif_that_was_cut_off(original: Path) -> None:
    original.write_bytes(original.read_bytes()[:100_000])
    with pytest.raises(UserError, match=r"demo\.sif: SIF: its object 1 has .* it was cut off"):
        trimtab("image", "slim", "demo.sif", *ONCE)
    with pytest.raises(UserError, match=r"other\.sif: no such file"):
        trimtab("image", "slim", "other.sif", *ONCE)
