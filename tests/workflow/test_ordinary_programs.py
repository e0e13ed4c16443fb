"""Ordinary programs by the command line alone: servers, tests, scripts, other ends, stragglers."""

import hashlib
import shlex
import shutil
import socket
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from many_commands import trimtab

from trimtab.files import read_json
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import RUNS

PACKAGES = ("markupsafe", "pytest", "pluggy", "iniconfig", "packaging", "pygments")
KILLS_A_WORKER = """
import markupsafe, os, signal, sys
print(markupsafe.escape("<b>"), flush=True)
ready, done = os.pipe()
worker = os.fork()
if not worker:
    os.write(done, str(markupsafe.soft_str(3)).encode())
    while True: signal.pause()
os.read(ready, 1)
os.kill(worker, signal.SIGKILL)
os.wait()
sys.exit(3)
"""
LEAVES_A_DAEMON = """
import markupsafe, os, signal
ready, done = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        os.write(done, str(markupsafe.escape("<b>")).encode())
        while True: signal.pause()
    os._exit(0)
os.wait()
os.read(ready, 1)
os.kill(os.getpid(), signal.SIGTERM)
"""
SERVER = """
import http.server, markupsafe, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(markupsafe.escape(self.path).encode())
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("serving", flush=True)
server.serve_forever()
"""
DRIVER = """
import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/<a>").read().decode())
"""
TESTS = """
import markupsafe
def test_right(): assert markupsafe.escape("<b>") == "&lt;b&gt;"
def test_wrong(): assert markupsafe.escape("<b>") == "<b>"
"""
SCRIPT = """#!/bin/sh
set -e
python program.py "$1"
date +%s%N
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small environment with one package that has compiled code, and pytest."""
    folder = tmp_path_factory.mktemp("ordinary") / "env"
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    for name in PACKAGES:
        for file in metadata.distribution(name).files or []:
            if ".." not in file.parts and file.locate().is_file():
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file.locate(), packages / file)
    script = folder / "bin/pytest"
    script.write_text(f"#!{folder}/bin/python\nimport pytest; raise SystemExit(pytest.main())\n")
    script.chmod(0o755)
    return folder


def debloat(folder: Path, *words: str | Path) -> str:
    """Debloat and verify; returns what was said, in one line."""
    done = trimtab(folder, "debloat", "--runs", "1", "--settle", "1", *words)
    assert done.returncode == 0, done.stderr
    verified = trimtab(folder, "verify", "--repeats", "2")
    assert verified.returncode == 0, verified.stderr
    return " ".join(done.stderr.split())


def workload(folder: Path) -> dict[str, object]:
    document = read_json(folder / "trimtab_workspace/workload.json")
    kept: dict[str, object] = document["workload"]
    return kept


def test_another_exit_code_and_a_killed_worker(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(KILLS_A_WORKER)
    program = ("--", environment / "bin/python", "program.py")
    told = debloat(tmp_path, "--ends-with", "3", *program)
    assert "killed before their exit" in told and workload(tmp_path)["ends_with"] == "3"
    [slim] = (tmp_path / "trimtab_workspace/env").rglob("_speedups*.so")
    [original] = environment.rglob("_speedups*.so")
    assert slim.stat().st_size < original.stat().st_size


def test_an_end_by_a_signal_and_a_daemon_that_stays(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LEAVES_A_DAEMON)
    program = ("--", environment / "bin/python", "program.py")
    done = trimtab(tmp_path, "advanced", "trace", "--runs", "1", *program)
    assert done.returncode == 2 and "`--ends-with SIGTERM` if that is right" in done.stderr
    done = trimtab(tmp_path, "advanced", "trace", "--runs", "1", "--ends-with", "SIGTERM", *program)
    assert done.returncode == 0 and "exit: 1 processes" in done.stderr  # we ended the daemon
    usage = read_json(tmp_path / "trimtab_workspace/usage.json")
    [library] = [each for each in usage["libraries"] if "_speedups" in each["path"]]
    assert usage["complete"] and library["functions_used"] > 0  # what the daemon used


@pytest.mark.parametrize("how", [["--ready", "^serving"], ["--stop", "SIGINT", "--address"]])
def test_a_server(environment: Path, tmp_path: Path, how: list[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = str(unused.getsockname()[1])
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "drive.py").write_text(DRIVER)
    if how[-1] == "--address":
        how = [*how, f"127.0.0.1:{port}"]
    drive = ["--drive", f"python drive.py {port}"]
    debloat(tmp_path, *how, *drive, "--", environment / "bin/python", "server.py", port)
    runs = read_table(tmp_path / "trimtab_workspace/verify_runs.parquet", RUNS)
    answer = hashlib.sha256(b"/&lt;a&gt;\n").hexdigest()  # what the driver printed
    assert list(runs["output_digest"]) == [answer] * 4
    stop = "SIGINT" if "SIGINT" in how else "SIGTERM"
    assert workload(tmp_path)["ends_with"] == stop


def test_tests_and_a_console_script_by_its_name(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test fails, and how long they took is in the output."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # those of the tests that run this
    (tmp_path / "test_it.py").write_text(TESTS)
    words = ["-p", "no:cacheprovider", "test_it.py"]
    given = ("--ends-with", "1", "--python", environment / "bin/python")
    told = debloat(tmp_path, *given, "--", "pytest", *words)
    assert "differs from run to run, or says how long something took, in 1 of" in told
    assert workload(tmp_path)["output"]["compare"] == "lines"  # type: ignore[index]
    (tmp_path / "test_it.py").write_text(TESTS.replace('== "<b>"', '== "&lt;b&gt;"'))
    verified = trimtab(tmp_path, "verify", "--repeats", "1")
    assert verified.returncode == 2 and "not" not in verified.stdout
    assert "ended with exit code 0, expected exit code 1" in verified.stderr


def test_a_shell_script(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(SCRIPT)
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "program.py").write_text(
        "import markupsafe, sys; print(markupsafe.escape(sys.argv[1]))"
    )
    told = debloat(tmp_path, "--python", environment / "bin/python", "--", "./run.sh", "<b>")
    assert "(lines)" in told
    [library] = read_json(tmp_path / "trimtab_workspace/manifest.json")["files"]
    assert "_speedups" in library


def test_a_comparison_of_the_users_own(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import markupsafe, time; print(markupsafe.escape('<b>'), time.time_ns())"
    )
    (tmp_path / "judge.py").write_text(
        "import sys; one, other = (open(p).read().split()[0] for p in sys.argv[1:])\n"
        "sys.exit(one != other)\n"
    )
    program = ["--", environment / "bin/python", "program.py"]
    judge = f"{shlex.quote(sys.executable)} judge.py {{before}} {{after}}"
    debloat(tmp_path, "--compare-command", judge, *program)
    assert workload(tmp_path)["output"]["compare"] == "command"  # type: ignore[index]
    given = trimtab(tmp_path, "advanced", "trace", "--compare", "digest_stdout", *program)
    assert given.returncode == 2 and "differs from run to run" in given.stderr
    assert "output.compare: exit_code" in given.stderr  # its only line changes
