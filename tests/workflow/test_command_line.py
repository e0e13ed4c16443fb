"""`trimtab` as a person types it: on a program of no YAML, and on what is no such program."""

import json
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from many_commands import trimtab

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


def fails(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_debloat_verify_and_run(environment: Path, folder: Path) -> None:
    original = next(environment.rglob("_speedups*.so"))
    before = {path: sha256_of(path) for path in environment.rglob("*.so")}
    python = environment / "bin/python"
    done = subprocess.run(
        [TRIMTAB, "debloat", "--", python, "program.py"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "settled  yes: 5 of 5 runs missed nothing" in done.stderr, done.stderr
    assert "every run ended with exit code 0" in done.stderr
    assert f"needs    {environment}, unchanged" in done.stderr
    assert len(done.stderr.split() + done.stdout.split()) <= 60
    slim = folder / "trimtab_workspace/env"
    assert done.stdout.strip().endswith("trimtab_workspace/env")
    assert {path: sha256_of(path) for path in environment.rglob("*.so")} == before
    assert not (folder / "trimtab_workspace/libraries").exists()
    slim_library = slim / original.relative_to(environment)
    assert slim_library.stat().st_nlink == 1
    assert slim_library.stat().st_size < original.stat().st_size
    ran = subprocess.run([slim / "bin/python", "program.py"], cwd=folder, capture_output=True)
    assert ran.stdout == b'"&lt;b&gt;"\n'
    verified = trimtab(folder, "verify", "--repeats", "2")
    assert verified.returncode == 0, verified.stderr
    verdict = read_json(folder / "trimtab_workspace/verify.json")
    assert verdict["passed"] and verdict["workloads"][0]["equal_runs"] == 2


def test_the_summary_is_of_the_whole_environment(environment: Path, folder: Path) -> None:
    """And code that no run loaded goes and comes back, from a store."""
    for name in ("one", "two"):
        package = next((environment / "lib").glob("python*/site-packages")) / name
        package.mkdir()
        (package / "never.c").write_text("int never(void) { return 41; }" + LIBRARY)
        command = ["gcc", "-shared", "-fPIC", "-o", package / "libnever.so", package / "never.c"]
        subprocess.run(command, check=True)
    words = ("--runs", "1", "--settle", "1", "--remove", "libraries", "--fallback", "store")
    words = (*words, "--store", "kept", "--", environment / "bin/python", "program.py")
    done = trimtab(folder, "debloat", "--verbose", *words)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    workspace = folder / "trimtab_workspace"
    built, manifest = (
        read_json(workspace / f"{name}.json") for name in ("environment", "manifest")
    )
    of_two = [v for name, v in manifest["unloaded"].items() if "libnever" in name]
    assert len(of_two) == 2
    assert all(each["disk_after_bytes"] < each["disk_before_bytes"] / 2 for each in of_two)
    assert f"{len(manifest['unloaded'])} libraries that no run loaded" in said
    for size_bytes in (built["before_bytes"], built["after_bytes"]):
        assert f"{size_bytes / 1e6:,.1f} MB" in said.partition("the whole environment")[2]
    assert any((folder / "kept").rglob("*-000000"))
    code = (
        "import ctypes, glob, sys; [library] = glob.glob(sys.prefix + '/lib/*/*/two/libnever.so');"
        "print(ctypes.CDLL(library).last(1))"
    )
    ran = subprocess.run([workspace / "env/bin/python", "-c", code], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("2\n", "")
    (folder / "kept").rename(folder / "away")
    ran = subprocess.run([workspace / "env/bin/python", "-c", code], capture_output=True, text=True)
    assert ran.returncode == 70 and str(folder / "kept") in ran.stderr


LIBRARY = """
#define LONG(name) __attribute__((aligned(4096))) int name(int x) { \\
  __asm__ volatile(".fill 65536, 1, 0x90"); return x + 1; }
LONG(used) LONG(more) LONG(last)
"""
CALLS = """
import ctypes, sys
library = ctypes.CDLL(f"{sys.prefix}/lib/libmine.so")
for name in open("calls").read().split(): print(name, getattr(library, name)(1))
"""


@pytest.fixture
def calling(environment: Path, folder: Path) -> Path:
    """A folder with a program that calls the functions of a library that the file `calls` names."""
    (folder / "mine.c").write_text(LIBRARY)
    command = ["gcc", "-shared", "-fPIC", "-o", environment / "lib/libmine.so", folder / "mine.c"]
    subprocess.run(command, check=True)
    (folder / "program.py").write_text(CALLS)
    (folder / "calls").write_text("used")
    return folder


LEARN = ("advanced", "learn")
LEARN_AND_DIE = """
import os, signal, sys
event_to_die_of, ending, *sys.argv = sys.argv[1:]
from trimtab.cli.verbs import command_line
def on_event(event, given):
    if event == event_to_die_of and any(str(part).endswith(ending) for part in given):
        os.kill(os.getpid(), signal.SIGKILL)
app = command_line()
sys.addaudithook(on_event)
app()
"""


def learn_and_die(folder: Path, event: str, ending: str, *words: str) -> None:
    """Have `trimtab advanced learn` killed at its first `event` on a path with this ending."""
    command = [sys.executable, "-c", LEARN_AND_DIE, event, ending, "trimtab", *LEARN, *words]
    assert subprocess.run(command, cwd=folder).returncode == -signal.SIGKILL


def test_learning_what_other_runs_need(environment: Path, calling: Path) -> None:
    """What the program is given later makes it call another function than the traced ones."""
    folder = calling
    words = ("--runs", "1", "--settle", "1", "--", environment / "bin/python", "program.py")
    done = trimtab(folder, "debloat", *words)
    assert done.returncode == 0, done.stderr
    (folder / "calls").write_text("used more")
    verified = trimtab(folder, "verify", "--repeats", "1")
    assert verified.returncode == 0 and "0 of 2 runs missed nothing" in verified.stderr
    # Killed between the new environment and its record.
    learn_and_die(folder, "os.rename", "/environment.json", "--repeats", "1")
    learned = trimtab(folder, *LEARN, "--repeats", "1")
    assert learned.returncode == 0 and "kept from now on" in learned.stderr, learned.stderr
    verified = trimtab(folder, "verify", "--repeats", "1")
    assert "2 of 2 runs missed nothing" in verified.stderr, verified.stderr
    # The run of `learn` in which it was missed was the third; of these three slim runs none is.
    assert "cannot promise a risk below 63%" in verified.stderr
    assert "0 removed pieces" in trimtab(folder, *LEARN, "--repeats", "1").stderr


def test_what_production_recorded_is_learned_without_a_run_also_after_it_was_killed(
    environment: Path, calling: Path
) -> None:
    folder = calling
    words = ("--runs", "1", "--settle", "0", "--", environment / "bin/python", "program.py")
    assert trimtab(folder, "debloat", *words).returncode == 0
    (folder / "calls").write_text("used more")
    slim = folder / "trimtab_workspace/env"
    record = slim / "trimtab/fallback.jsonl"
    restore, strict = ({**os.environ, "TRIMTAB_FALLBACK": way} for way in ("restore", "strict"))
    command = [slim / "bin/python", "program.py"]
    ran = subprocess.run(command, cwd=folder, env=restore, capture_output=True, check=True)
    assert ran.stdout == b"used 2\nmore 2\n" and record.exists()
    shutil.copy(record, folder / "production.jsonl")
    (folder / "program.py").rename(folder / "away.py")
    # Killed when what was learned is written, and the environment not made again.
    learn_and_die(folder, "tempfile.mkdtemp", "", "--record", "production.jsonl")
    fails(trimtab(folder, "verify"), 2, "`trimtab advanced learn` did not come to its end")
    learned = trimtab(folder, *LEARN, "--record", "production.jsonl")
    assert learned.returncode == 0, learned.stderr
    again = trimtab(folder, *LEARN, "--record", "production.jsonl")
    assert "0 removed pieces" in again.stderr
    (folder / "away.py").rename(folder / "program.py")
    ran = subprocess.run(command, cwd=folder, env=strict, capture_output=True, check=True)
    assert ran.stdout == b"used 2\nmore 2\n"
    fails(trimtab(folder, *LEARN, "--record", "mine.c"), 2, "mine.c: line 1 is no record")
    record = json.loads((folder / "production.jsonl").read_text().splitlines()[0])
    odd = json.dumps({**record, "address": 1 << 31})
    (folder / "odd.jsonl").write_text(f"{odd}\n")
    fails(trimtab(folder, *LEARN, "--record", "odd.jsonl"), 2, "libmine.so")
    assert not (folder / "trimtab_workspace/unfinished").exists()
    fails(trimtab(folder, *LEARN, "--record", "nothing"), 2, "nothing: no such record")


def test_an_interpreter_named_by_its_path_is_replaced_in_verification(
    environment: Path, folder: Path
) -> None:
    """Else the original would be compared with itself."""
    program = folder / "where.py"
    # The slim environment has a folder of ours.
    look = "os.path.exists(os.path.join(sys.prefix, 'trimtab'))"
    program.write_text(f"import os, sys, markupsafe; print({look})\n")
    python = environment / "bin/python"
    words = ("--runs", "1", "--settle", "0", "--", python, "where.py")
    assert trimtab(folder, "debloat", *words).returncode == 0
    fails(trimtab(folder, "verify", "--repeats", "1"), 1, "another output")


def test_the_four_verbs(environment: Path, folder: Path) -> None:
    python = environment / "bin/python"
    assert trimtab(folder, "advanced", "trace", "--", python, "program.py").returncode == 0
    assert trimtab(folder, "advanced", "locate").returncode == 0
    [spans] = list((folder / "trimtab_workspace/spans").glob("*_speedups*"))
    done = trimtab(
        folder, "advanced", "reconstruct", "--span-path", spans, "--output-dir", "rebuilt"
    )
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
    fails(
        trimtab(folder, "advanced", "trace", "--", "no-such-program"), 2, "no-such-program: no such"
    )
    fails(trimtab(folder, "debloat", "--", "/bin/true"), 2, "/bin/true", "--python")
    fails(trimtab(folder, "advanced", "locate"), 2, "workload.json", "trimtab advanced trace")
    fails(trimtab(folder, "verify"), 2, "trimtab debloat")
    fails(trimtab(folder, *LEARN), 2, "trimtab debloat", "--workspace")
    fails(trimtab(folder, "debloat", "--", "/usr/bin/python3", "program.py"), 2, "operating system")
    (folder / "bad.py").write_text("import sys; sys.exit('it went wrong')\n")
    bad = ("--ends-with", "0", "--", python, "bad.py")
    fails(trimtab(folder, "advanced", "trace", *bad), 2, "exit code 1", "it went wrong")
    fails(trimtab(folder, "debloat", "--mode", "magic", "--", python, "program.py"), 2, "--mode")
    fails(trimtab(folder, "debloat", "--kernels", "prune", "--", "x"), 2, "--kernels", "none")
    for words, key in (
        (("--store", "x"), "--store: 'x' given"),
        (("--fallback", "store"), "--store: None given"),
        (("--remove", "libraries", "--fallback", "none"), "--remove: 'libraries' given"),
    ):
        fails(trimtab(folder, "debloat", *words, "--", python, "program.py"), 2, key)
    for given, word in (("nothing:x", "a module of"), ("native_folder:nowhere", "nowhere")):
        fails(
            trimtab(folder, "advanced", "trace", "--target", given, "--", "ls"), 2, "target", word
        )
    (folder / "spans.json").write_text("{}")
    words = ("advanced", "reconstruct", "--span-path", "spans.json", "--output-dir", "x")
    fails(trimtab(folder, *words), 2, "spans.json")


def test_a_static_program_is_refused(environment: Path, folder: Path) -> None:
    (folder / "static.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-static", "-o", "static", "static.c"], cwd=folder, check=True)
    done = trimtab(
        folder, "advanced", "trace", "--python", environment / "bin/python", "--", "./static"
    )
    assert "incomplete" in done.stderr and "static" in done.stderr
    words = ("debloat", "--python", environment / "bin/python", "--", "./static")
    fails(trimtab(folder, *words), 2, "incomplete, so nothing is removed")
    assert not (folder / "trimtab_workspace/env").exists()


def test_a_folder_that_cannot_be_written(environment: Path, folder: Path) -> None:
    (folder / "trimtab_workspace").write_text("a file is in the way")
    done = trimtab(folder, "advanced", "trace", "--", environment / "bin/python", "program.py")
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    assert "trimtab_workspace" in done.stderr


def test_doctor_speaks_of_every_part(folder: Path) -> None:
    done = trimtab(folder, "doctor")
    assert done.returncode == 0
    for part in ("gcc", "native tracers", "RAPL", "Chromium"):
        assert part in done.stdout
    assert os.environ.get("HOME") is None or "Traceback" not in done.stderr
