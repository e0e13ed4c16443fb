"""`trimtab` as a person types it: on a program of no YAML, and on what is no such program."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.files import read_json, sha256_of

TRIMTAB = Path(sys.executable).parent / "trimtab"
PROGRAM = "import markupsafe, json; print(json.dumps(str(markupsafe.escape('<b>'))))\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small environment with one package that has compiled code."""
    import markupsafe

    folder = tmp_path_factory.mktemp("cli") / "env"
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    shutil.copytree(Path(markupsafe.__file__).parent, packages / "markupsafe")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "program.py").write_text(PROGRAM)
    yield tmp_path


def trimtab(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TRIMTAB, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )


def fails(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_debloat_verify_and_run(environment: Path, folder: Path) -> None:
    original = next(environment.rglob("_speedups*.so"))
    before = {path: sha256_of(path) for path in environment.rglob("*.so")}
    python = environment / "bin/python"
    done = trimtab(folder, "debloat", "--", python, "program.py")
    assert done.returncode == 0, done.stderr
    slim = folder / "trimtab_workspace/env"
    assert done.stdout.strip().endswith("trimtab_workspace/env")
    assert {path: sha256_of(path) for path in environment.rglob("*.so")} == before
    slim_library = slim / original.relative_to(environment)
    assert slim_library.stat().st_size < original.stat().st_size
    ran = subprocess.run([slim / "bin/python", "program.py"], cwd=folder, capture_output=True)
    assert ran.stdout == b'"&lt;b&gt;"\n'
    verified = trimtab(folder, "verify", "--repeats", "2")
    assert verified.returncode == 0, verified.stderr
    verdict = read_json(folder / "trimtab_workspace/verify.json")
    assert verdict["passed"] and verdict["workloads"][0]["equal_runs"] == 2


def test_learning_what_other_runs_need(environment: Path, folder: Path) -> None:
    """The traced program loads a library; what it is given later makes it call a function of it."""
    (folder / "text").write_text("")
    (folder / "program.py").write_text(
        "import markupsafe\nfor line in open('text'): print(markupsafe.escape(line))\n"
    )
    done = trimtab(folder, "debloat", "--runs", "1", "--", environment / "bin/python", "program.py")
    assert done.returncode == 0, done.stderr
    (folder / "text").write_text("<b>\n")
    fails(
        trimtab(folder, "verify", "--repeats", "1"), 1, "removed code was called", "trimtab learn"
    )
    learned = trimtab(folder, "learn", "--repeats", "1")
    assert learned.returncode == 0 and "called: added" in learned.stderr, learned.stderr
    verified = trimtab(folder, "verify", "--repeats", "1")
    assert verified.returncode == 0, verified.stderr
    assert "0 removed functions" in trimtab(folder, "learn", "--repeats", "1").stderr


def test_an_interpreter_named_by_its_path_is_replaced_in_verification(
    environment: Path, folder: Path
) -> None:
    """Else the original would be compared with itself."""
    program = folder / "where.py"
    program.write_text("import sys, markupsafe; print(sys.prefix)\n")
    python = environment / "bin/python"
    assert trimtab(folder, "debloat", "--", python, "where.py").returncode == 0
    fails(trimtab(folder, "verify", "--repeats", "1"), 1, "another output")


def test_the_four_verbs(environment: Path, folder: Path) -> None:
    python = environment / "bin/python"
    assert trimtab(folder, "trace", "--", python, "program.py").returncode == 0
    assert trimtab(folder, "locate").returncode == 0
    [spans] = list((folder / "trimtab_workspace/spans").glob("*_speedups*"))
    done = trimtab(folder, "reconstruct", "--span-path", spans, "--output-dir", "rebuilt")
    assert done.returncode == 0, done.stderr
    document = read_json(spans)
    original, rebuilt = Path(document["library"]), folder / done.stdout.strip()
    old, new = original.read_bytes(), rebuilt.read_bytes()
    assert len(old) == len(new)
    kept = [reason["kept"] for reason in document["reasons"]]
    for start, end, reason in document["spans"]:
        if kept[reason] and start > 64 and end < document["size_bytes"] - 4096:
            assert old[start:end] == new[start:end]


def test_mistakes_are_told_in_one_line(environment: Path, folder: Path) -> None:
    python = environment / "bin/python"
    fails(trimtab(folder, "trace", "--", "no-such-program"), 2, "no-such-program: no such")
    fails(trimtab(folder, "debloat", "--", "/bin/true"), 2, "/bin/true", "--python")
    fails(trimtab(folder, "locate"), 2, "workload.json", "trimtab trace")
    fails(trimtab(folder, "verify"), 2, "trimtab debloat")
    fails(trimtab(folder, "debloat", "--", "/usr/bin/python3", "program.py"), 2, "operating system")
    (folder / "bad.py").write_text("import sys; sys.exit('it went wrong')\n")
    bad = ("--ends-with", "0", "--", python, "bad.py")
    fails(trimtab(folder, "trace", *bad), 2, "exit code 1", "it went wrong")
    fails(trimtab(folder, "debloat", "--mode", "magic", "--", python, "program.py"), 2, "--mode")
    for given, word in (("nothing:x", "a module of"), ("native_folder:nowhere", "nowhere")):
        fails(trimtab(folder, "trace", "--target", given, "--", "ls"), 2, "target", word)
    (folder / "spans.json").write_text("{}")
    words = ("reconstruct", "--span-path", "spans.json", "--output-dir", "x")
    fails(trimtab(folder, *words), 2, "spans.json")


def test_a_static_program_is_refused(environment: Path, folder: Path) -> None:
    (folder / "static.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-static", "-o", "static", "static.c"], cwd=folder, check=True)
    done = trimtab(folder, "trace", "--python", environment / "bin/python", "--", "./static")
    assert "incomplete" in done.stderr and "static" in done.stderr
    words = ("debloat", "--python", environment / "bin/python", "--", "./static")
    fails(trimtab(folder, *words), 2, "incomplete, so nothing is removed")
    assert not (folder / "trimtab_workspace/env").exists()


def test_a_folder_that_cannot_be_written(environment: Path, folder: Path) -> None:
    (folder / "trimtab_workspace").write_text("a file is in the way")
    done = trimtab(folder, "trace", "--", environment / "bin/python", "program.py")
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    assert "trimtab_workspace" in done.stderr


def test_doctor_speaks_of_every_part(folder: Path) -> None:
    done = trimtab(folder, "doctor")
    assert done.returncode == 0
    for part in ("gcc", "native tracers", "RAPL", "Chromium"):
        assert part in done.stdout
    assert os.environ.get("HOME") is None or "Traceback" not in done.stderr
