"""Several snapshots in an environment: each comes and goes by itself."""

from pathlib import Path

import pytest

from trimtab.debloating.snapshots.installing import (
    can_have_snapshots,
    install_snapshots,
    remove_snapshot,
    remove_snapshots,
    snapshot_name,
    use_snapshots,
)
from trimtab.debloating.snapshots.saving import Saved
from trimtab.processes.program import Program

HOOK = "lib/python3.11/site-packages/00_trimtab_fallback.pth"
LINE = "import sys; x.start({}) if x else None; y.end(9)\n"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment whose start may look for snapshots, with the snapshots a and b."""
    environment = tmp_path / "env"
    (environment / HOOK).parent.mkdir(parents=True)
    (environment / HOOK).write_text(LINE.format(1))
    for name in ("a", "b"):
        install_snapshots(environment, name, [saved(tmp_path, name, name)])
    return environment


def saved(folder: Path, name: str, content: str, more: str = "") -> Saved:
    image = folder / f"{name}-{len(content)}"
    image.write_text(content)
    return Saved(image, guards(image.name, more))


def guards(image: str, more: str = "") -> bytes:
    return f"={image}\0eA=.\0eB==b\0{more}.\0".encode()


def files(environment: Path) -> dict[str, bytes]:
    found = (environment / "trimtab/snapshots").iterdir()
    return {path.name: path.read_bytes() for path in found if path.name != "restore"}


def test_both_are_there_with_the_guards_of_both(environment: Path) -> None:
    both = guards("a-1") + guards("b-1")
    assert files(environment) == {"a-1": b"a", "b-1": b"b", "guards": both}
    assert (environment / HOOK).read_text() == LINE.format(5)


def test_one_takes_its_own_place_only(environment: Path, tmp_path: Path) -> None:
    remove_snapshot(environment, "a")
    assert files(environment) == {"b-1": b"b", "guards": guards("b-1")}
    new = [saved(tmp_path, "a", content, "n C\0") for content in ("cc", "ddd")]
    install_snapshots(environment, "a", new)
    all_of_them = guards("b-1") + guards("a-2", "n C\0") + guards("a-3", "n C\0")
    expected = {"a-2": b"cc", "a-3": b"ddd", "b-1": b"b", "guards": all_of_them}
    assert files(environment) == expected
    install_snapshots(environment, "a", new[1:])
    assert files(environment).keys() == {"a-3", "b-1", "guards"}


def test_one_that_is_not_there_is_none_to_remove(environment: Path) -> None:
    before = files(environment)
    use_snapshots(environment, False)
    remove_snapshot(environment, "c")
    assert files(environment) == before and (environment / HOOK).read_text() == LINE.format(5)


@pytest.mark.parametrize("names", [("a", "b"), ()])
def test_without_any_starts_are_as_before(environment: Path, names: tuple[str, ...]) -> None:
    folder_time = (environment / HOOK).parent.stat().st_mtime_ns
    for name in names:
        remove_snapshot(environment, name)
    if not names:
        remove_snapshots(environment)
    assert not (environment / "trimtab/snapshots").exists()
    assert (environment / HOOK).read_text() == LINE.format(1)
    assert (environment / HOOK).parent.stat().st_mtime_ns == folder_time  # the archive compares it


def test_images_and_guards_are_for_their_user_only(environment: Path) -> None:
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in (environment / "trimtab/snapshots").iterdir()
    }
    assert modes == {"a-1": 0o600, "b-1": 0o600, "guards": 0o600, "restore": 0o755}


def test_no_start_looks_for_snapshots_without_its_hook(environment: Path) -> None:
    assert can_have_snapshots(environment)
    (environment / HOOK).write_text("import sys\n")
    assert not can_have_snapshots(environment)


def test_a_name_is_of_the_command_and_of_its_own_variables() -> None:
    def named(*command: str, **own: str) -> str:
        variables = {"PATH": "/bin", **own}
        return snapshot_name(
            Program(command, Path("/"), variables, 1.0, own_variables=frozenset(own))
        )

    names = [
        named("a", "b"),
        named("ab"),
        named("a"),
        named("a", "b", C="d"),
        named("a", "b", C=""),
    ]
    assert len(set(names)) == len(names)
    assert named("a", "b", C="d") == names[3]
    assert all(name.isalnum() and len(name) == 32 for name in names)
