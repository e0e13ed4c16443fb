"""The command line and a project make the same environment from the same program."""

import socket
from pathlib import Path

import pytest
import yaml
from project import make_environment
from test_own_project import new, trimtab

from trimtab.files import sha256_of
from trimtab.profiling.tracing.function_records import LEFT_ALONE
from trimtab.records.usage import Usage

PURE = "import decimal; print(decimal.Decimal(2).sqrt())\n"
COMPILED = "from markupsafe import _speedups; print(_speedups._escape_inner('<a>'))\n"
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from markupsafe import escape
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(escape(self.path)).encode())
HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
DRIVER = """
import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/<a>").read())
"""
FEWER = ["profiling.repeats=1", "verify.repeats=1", "settle.clean_runs=1"]
WRITTEN_FOR_ITS_PLACE = ("bin/", "trimtab/", "pyvenv.cfg")


def contents(environment: Path) -> dict[str, str]:
    """Return the digest of each file, where a link leads to, or nothing, by path inside."""
    return {
        str(path.relative_to(environment)): str(path.readlink())
        if path.is_symlink()
        else sha256_of(path)
        if path.is_file()
        else ""
        for path in environment.rglob("*")
        if path.name != ".snakemake_timestamp"  # Snakemake's own mark
    }


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("pure", marks=pytest.mark.nightly),
        "kept",
        pytest.param("server", marks=pytest.mark.nightly),
    ],
)
def test_both_make_the_same_environment(tmp_path: Path, kind: str) -> None:
    make_environment(tmp_path / "environment")
    (tmp_path / "drive.py").write_text(DRIVER)
    program = {"pure": PURE, "kept": COMPILED, "server": SERVER}[kind]
    (tmp_path / "program.py").write_text(program)
    python = ("--python", "environment/bin/python")
    words = [*python, "--", "python", "program.py"]
    if kind == "server":
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = str(unused.getsockname()[1])
        ready = ["--drive", f"python drive.py {port}", "--address", f"127.0.0.1:{port}"]
        words = [*ready, *words, port]
    kept = "lib/*/site-packages/markupsafe/_speedups*.so"
    options = ["--keep-library", kept] if kind == "kept" else []
    done = trimtab(tmp_path, "debloat", "--settle", "1", *options, *words)
    assert done.returncode == 0, done.stderr
    project = new(tmp_path, *words)
    parameters = project.folder / "params.yaml"
    chosen = yaml.safe_load(parameters.read_text())["overrides"]
    overrides = [f"debloat.keep_libraries=['{kept}']"] if kind == "kept" else []
    parameters.write_text(yaml.safe_dump({"overrides": chosen + FEWER + overrides}))
    project.succeed("trimtab", "run", "--cores", "2")  # to the report
    (made,) = project.folder.glob("results/debloat/*/*/env")
    by_hand, by_rule = contents(tmp_path / "trimtab_workspace/env"), contents(made)
    assert by_hand.keys() == by_rule.keys()
    differ = {path for path, digest in by_hand.items() if by_rule[path] != digest}
    assert {path for path in differ if not path.startswith(WRITTEN_FOR_ITS_PLACE)} == set()
    assert "bin/Activate.ps1" not in by_hand  # which no run reads: files go by default
    if kind == "kept":
        [library] = (tmp_path / "environment").glob(kept)
        name = str(library.relative_to(tmp_path / "environment"))
        assert by_hand[name] == by_rule[name] == sha256_of(library)
        (profiled,) = project.folder.glob("results/profile/*/*/usage.json")
        for usage in (profiled, tmp_path / "trimtab_workspace/usage.json"):
            traced = {Path(each.path).name: each for each in Usage.read(usage).libraries}
            assert LEFT_ALONE in traced[library.name].not_traced_because
