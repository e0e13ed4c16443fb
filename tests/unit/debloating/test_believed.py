"""What lies in a workspace is believed only where its digest, its name and its rights say so."""

import json
import os
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, Remove, Share
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.libraries.reconstruct import reconstruct as rebuild
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.debloating.verification.environment_digests import check_intact
from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_json, sha256_of, write_json
from trimtab.records.usage import Usage, UsedLibrary

NAME = "lib/libmine.so"
SPANS = "lib__libmine.so.json"
C = "__attribute__((aligned(4096))) int used(int x) { return x; }" + "".join(
    f"__attribute__((aligned(4096))) int f{n}(int x) {{ return x * {n}; }}" for n in range(2, 30)
)


@pytest.fixture
def debloated(tmp_path: Path) -> Path:
    """A folder with the stage's results for an environment, and the environment in `original`."""
    original, folder = tmp_path / "original", tmp_path / "target"
    venv.create(original, symlinks=True)
    command = ["gcc", "-x", "c", "-", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o"]
    subprocess.run([*command, original / NAME], input=C, text=True, check=True)
    (original / NAME).chmod(0o755)
    elf = read_elf(original / NAME)
    used = read_functions(elf).start.tolist()[:1]
    library = UsedLibrary(
        str(original / NAME), elf.build_id, elf.size_bytes, True, "", 30, 1, used, [],
        sha256_of(original / NAME),
    )  # fmt: skip
    usage = Usage(workload="w", command=["python"], complete=True, libraries=[library])
    folder.mkdir()
    usage.write(folder / "usage.json")
    again(folder)
    return folder


def again(folder: Path) -> None:
    python = str(folder.parent / "original/bin/python")
    workload = Workload(name="w", command=["python"], python=python)
    stage = DebloatStage(
        "t", "h", [], [workload], Debloat(name="x", remove=Remove.CODE), Settle(clean_runs=0)
    )
    debloat_target(stage, [folder / "usage.json"], folder)


def build(folder: Path) -> Path:
    target = PythonPrefix.at(str(folder.parent / "original"))
    target.build(folder, Share.COPY, Source(Fallback.ORIGINAL), folder / "env")
    return folder / "env"


def change(path: Path) -> None:
    """Another byte in the text, the same length, date and build ID."""
    status, data = path.stat(), bytearray(path.read_bytes())
    at = data.index(b"\xc3")
    data[at] = 0x90
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


def reconstruct(folder: Path) -> Path:
    return rebuild(folder / "spans" / SPANS, folder / "out", Mode.ZERO)


@pytest.mark.parametrize("step", [again, build, reconstruct])
def test_a_library_that_was_changed_in_place(
    debloated: Path, step: Callable[[Path], object]
) -> None:
    step(debloated)
    change(debloated.parent / "original" / NAME)
    with pytest.raises(UserError, match=r"libmine\.so.*(not the file|not the lib)"):
        step(debloated)


def test_what_was_changed_since_the_environment_was_built(debloated: Path) -> None:
    original = debloated.parent / "original"
    slim = build(debloated)
    check_intact(debloated, original, slim)
    sidecar = slim / "trimtab/removed/lib__libmine.so.removed"
    for path, error in (
        (slim / NAME, TrimtabError),
        (sidecar, TrimtabError),
        (slim / "trimtab/libtrimtab-fallback.so", TrimtabError),
        (original / NAME, UserError),
    ):
        before = path.read_bytes()
        path.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        with pytest.raises(error, match=path.name):
            check_intact(debloated, original, slim)
        path.unlink()
        with pytest.raises(error, match=path.name):
            check_intact(debloated, original, slim)
        path.write_bytes(before)
        check_intact(debloated, original, slim)


def tampered(folder: Path, **changes: Any) -> None:
    write_json(folder / "manifest.json", read_json(folder / "manifest.json") | changes)


@pytest.mark.parametrize("name", ["{victim}", "../victim", "lib/../../victim", "lib//x", "./x"])
def test_a_name_that_leads_elsewhere_writes_nothing(debloated: Path, name: str) -> None:
    victim = debloated.parent / "victim"
    name = name.format(victim=victim)
    [entry] = read_json(debloated / "manifest.json")["files"].values()
    slim = debloated / "libraries" / NAME
    slim.chmod(0o4755)
    tampered(debloated, files={name: entry})
    with pytest.raises(TrimtabError, match=r"manifest\.json: files.*leads out of its folder"):
        build(debloated)
    assert not victim.exists() and not (debloated / "env").exists()


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o777])
def test_rights_that_the_original_has_not_are_not_given(debloated: Path, mode: int) -> None:
    (debloated / "libraries" / NAME).chmod(mode)
    with pytest.raises(TrimtabError, match=r"libmine\.so: .* rights"):
        build(debloated)
    assert not (debloated / "env").exists()


def test_a_link_in_place_of_a_slim_library(debloated: Path) -> None:
    slim, elsewhere = debloated / "libraries" / NAME, debloated.parent / "elsewhere"
    slim.rename(elsewhere)
    slim.symlink_to(elsewhere)
    with pytest.raises(TrimtabError, match=r"libmine\.so: no file of ours"):
        build(debloated)


def test_spans_of_another_library(debloated: Path) -> None:
    path = debloated / "spans" / SPANS
    path.write_text(json.dumps(read_json(path) | {"name": "lib/other.so"}))
    with pytest.raises(TrimtabError, match=r"expected 'lib/libmine\.so'"):
        build(debloated)


@pytest.mark.parametrize("location", ["/", "/usr", "/nowhere"])
def test_another_environment_than_was_debloated(debloated: Path, location: str) -> None:
    tampered(debloated, environment={"kind": "python_prefix", "location": location})
    with pytest.raises(UserError, match="not the folder of an environment"):
        PythonPrefix.at(location)
