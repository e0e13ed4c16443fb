"""Files of both environments are as they were, or verification says so."""

import shutil
import subprocess
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Share
from trimtab.debloating.copies.copying import copy_tree
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.debloating.verification.shared_files import check_linked
from trimtab.errors import UserError
from trimtab.records.built_environment import BuiltEnvironment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`original` and `slim` with three libraries in common, and `record`."""
    (tmp_path / "original").mkdir()
    for name in ("a.so", "b.so", "c.so"):
        subprocess.run(
            ["gcc", "-shared", "-x", "c", "-", "-o", tmp_path / "original" / name],
            input=b"int f(void) { return 1; }", check=True,
        )  # fmt: skip
    shared = copy_tree(
        EnvironmentLayout.of(tmp_path / "original"), tmp_path / "slim", set(), Share.AUTO
    )
    assert len(shared.linked) == 3
    built = BuiltEnvironment(
        target="t", before_bytes=1, after_bytes=1, shared_bytes=1, linked=shared.linked
    )
    built.write(tmp_path / "record")
    return tmp_path


def check(folder: Path) -> None:
    check_linked(folder / "record", folder / "original", folder / "slim")


@pytest.mark.parametrize("environment", ["original", "slim"])
def test_what_is_replaced_or_removed_is_the_others_as_it_was(
    folder: Path, environment: str
) -> None:
    check(folder)
    shutil.copy(folder / environment / "a.so", folder / "new")
    (folder / "new").rename(folder / environment / "a.so")
    (folder / environment / "b.so").unlink()
    check(folder)


@pytest.mark.parametrize("environment", ["original", "slim"])
def test_what_is_written_to_in_place_is_named(folder: Path, environment: str) -> None:
    with (folder / environment / "b.so").open("r+b") as file:
        file.write(b"\x7fELF")
    with pytest.raises(UserError, match=r"original/b\.so: written to since"):
        check(folder)
