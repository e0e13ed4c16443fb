"""`trimtab debloat --start snapshot` and `trimtab snapshot`, as a person types them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import make_environment

from trimtab.records.imports.saved_starts import SavedStarts

TRIMTAB = Path(sys.executable).parent / "trimtab"
# Imports take long enough for a snapshot to pay.
HEAVY = "total = sum(number * number for number in range(3_000_000))\n"
# Each usual start has another seed of hash(); starts from one snapshot have the same.
PROGRAM = """
import heavy
import sys
print(heavy.total, sys.argv[1:], hash("seed") if "--seed" in sys.argv else "")
if "--lose" in sys.argv:
    import os
    os._exit(0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slim environment that was made with a snapshot."""
    folder = tmp_path_factory.mktemp("snapshot")
    make_environment(folder / "ENV")
    (folder / "heavy.py").write_text(HEAVY)
    (folder / "program.py").write_text(PROGRAM)
    said = typed(folder, "debloat", "--start", "snapshot", "--", "ENV/bin/python", "program.py")
    assert " s (-" in said and "% ) from a snapshot of" in said.replace("%)", "% )"), said
    return folder


def typed(folder: Path, *words: str) -> str:
    done = subprocess.run([TRIMTAB, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def says(folder: Path, *words: str) -> str:
    python = folder / "trimtab_workspace/env/bin/python"
    command = [python, "program.py", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def goes_on(folder: Path) -> bool:
    return says(folder, "--seed") == says(folder, "--seed")


def test_starts_with_other_arguments_go_on_from_it(folder: Path) -> None:
    assert goes_on(folder)
    assert says(folder, "--its", "own").split(" ", 1)[1] == "['--its', 'own'] \n"


def test_its_output_is_as_unbuffered_as_asked(folder: Path) -> None:
    """Not only as it was when the start was saved: an end without ado loses what is buffered."""
    command = [folder / "trimtab_workspace/env/bin/python", "program.py", "--seed", "--lose"]
    said = {
        variable: subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONUNBUFFERED": variable},
        ).stdout
        for variable in ("", "1", "2")
    }  # fmt: skip
    assert said[""] == ""
    assert said["1"] == said["2"] and "--lose" in said["1"]  # the same seed, so both went on


@pytest.mark.parametrize("name", ["program.py", "heavy.py"])
def test_an_edited_program_runs_as_it_is_now(
    folder: Path, name: str, request: pytest.FixtureRequest
) -> None:
    path = folder / name
    before = path.read_text()

    def put_back() -> None:
        path.write_text(before)
        typed(folder, "snapshot")

    request.addfinalizer(put_back)
    path.write_text(before.replace("heavy.total", "heavy.total + 1").replace("3_0", "2_0"))
    assert not goes_on(folder)
    assert says(folder) != f"{sum(n * n for n in range(3_000_000))} [] \n"


def test_a_module_that_is_added_is_told_until_the_start_is_saved_again(folder: Path) -> None:
    assert "starts are usual" not in typed(folder, "check")
    added = folder / "json.py"
    added.touch()
    try:
        said = typed(folder, "check")
        assert f"a module was added to or removed from {folder};" in said
        assert "`trimtab snapshot` saves them anew" in said
        assert "starts are usual" in typed(folder, "verify", "--repeats", "1")
        assert not goes_on(folder)
        typed(folder, "snapshot")
        assert goes_on(folder) and "starts are usual" not in typed(folder, "check")
    finally:
        added.unlink()
    typed(folder, "snapshot")


def test_an_environment_that_is_made_again_has_no_saved_start(folder: Path) -> None:
    workspace = folder / "trimtab_workspace"
    command = [workspace / "env/bin/python", "-c", "import markupsafe"]
    subprocess.run(command, check=True)
    record = "trimtab_workspace/env/trimtab/fallback.jsonl"
    said = typed(folder, "advanced", "learn", "--record", record)
    assert "kept from now on" in said
    assert not (workspace / "env/trimtab/snapshots").exists()
    assert not (workspace / "start.json").exists()
    typed(folder, "snapshot")
    typed(folder, "advanced", "learn", "--repeats", "1")
    assert goes_on(folder) and (workspace / "start.json").exists()


def test_it_can_be_removed_and_made_again(folder: Path) -> None:
    recorded = folder / "trimtab_workspace/start.json"
    [start] = SavedStarts.read(recorded).workloads
    assert start.size_bytes and start.pairs_s and start.reason == "it calls write"
    typed(folder, "snapshot", "--remove")
    assert not recorded.exists()
    assert not goes_on(folder)
    assert not (folder / "trimtab_workspace/env/trimtab/snapshots").exists()
    assert "from a snapshot" in typed(folder, "snapshot")
    assert goes_on(folder)
    [start] = SavedStarts.read(recorded).workloads
    assert start.saved_s > 0 and start.whole_run and start.making_s is not None
    assert start.making_s > sum(map(sum, start.pairs_s))


def test_the_environment_is_the_one_that_was_verified(folder: Path) -> None:
    assert "equal output in every run" in typed(folder, "verify", "--repeats", "1")
    typed(folder, "check")


def test_arguments_that_are_read_early_have_a_snapshot_of_their_own(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("heavy", "heavier"):
        (tmp_path / f"{name}.py").write_text(HEAVY)
    program = (
        "import heavy, sys\nwords = sys.argv[1:]\nimport heavier\nprint(hash('seed'), words)\n"
    )
    (tmp_path / "program.py").write_text(program)
    words = (str(folder / "ENV/bin/python"), "program.py", "--seed", "1")
    typed(tmp_path, "debloat", "--settle", "1", "--start", "snapshot", "--", *words)
    assert len(list((tmp_path / "trimtab_workspace/env/trimtab/snapshots").glob("*-*"))) == 2
    said = [says(tmp_path, "--seed", number) for number in "1122"]
    assert said[0] == said[1] and said[2] == said[3]  # else hash() has another seed each time
    assert said[0].endswith("['--seed', '1']\n") and said[2].endswith("['--seed', '2']\n")


def test_a_program_that_writes_before_its_imports_has_none(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text(HEAVY)
    (tmp_path / "program.py").write_text("import sys\nprint(1)\nimport heavy\n")
    words = ("--start", "snapshot", "--", str(folder / "ENV/bin/python"), "program.py")
    said = typed(tmp_path, "debloat", "--settle", "1", *words)
    assert "usual: no snapshot, no import comes before" in said
    assert not (tmp_path / "trimtab_workspace/env/trimtab/snapshots").exists()
    [start] = SavedStarts.read(tmp_path / "trimtab_workspace/start.json").workloads
    recorded = folder / "trimtab_workspace/start.json"
    [start] = SavedStarts.read(recorded).workloads
    assert start.size_bytes and start.pairs_s and start.reason == "it calls write"
    typed(folder, "snapshot", "--remove")
    assert not recorded.exists()
    done = subprocess.run([TRIMTAB, "snapshot"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "no snapshot" in done.stderr
