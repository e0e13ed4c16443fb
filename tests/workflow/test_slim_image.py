"""An image of a real engine made slim, run there and compared; and one without an engine."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_root import root_of_programs
from real_engine import address, import_root, needs_engine, running_engine

from trimtab.images.engine import ContainerEngine

TRIMTAB = Path(sys.executable).parent / "trimtab"
PROGRAM = """
import csv, json, subprocess, sys
rows = list(csv.DictReader(["name,value", "a,1", "b,2"]))
total = subprocess.run(["sh", "-c", "echo 1; echo 2"], capture_output=True, text=True).stdout
rest = ""
if "fractions" in sys.argv:  # in no profiled run
    import fractions
    rest = str(fractions.Fraction(3, 6))
if "fails" in sys.argv:
    csv.DictReader(1)
result = {"rows": rows, "sum": sum(map(int, total.split())), "rest": rest}
print(json.dumps({**result, "arguments": sys.argv[1:]}))
"""


def python_root(root: Path) -> None:
    """Make a root with this Python and its modules, a shell, and programs that nobody runs."""
    base = Path(sys.base_prefix)
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    root_of_programs(root, ["sh", "ls", "sort", "tar", "grep", "sed", "find", "perl"])
    unwanted = shutil.ignore_patterns("test", "site-packages", "config-*", "idlelib", "*.pyc")
    shutil.copytree(base / library, root / "opt/python" / library, ignore=unwanted)
    interpreter = Path(sys.executable).resolve()
    needs = subprocess.run(["ldd", interpreter], check=True, text=True, capture_output=True)
    for path in [interpreter, *map(Path, filter(os.path.isabs, needs.stdout.split()))]:
        copy = root / Path(os.path.realpath(path.parent), path.name).relative_to("/")
        if path.is_relative_to(base):  # where LD_LIBRARY_PATH alone leads to
            copy = root / "opt/python" / ("bin/python3" if path == interpreter else path.name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            shutil.copy2(path, copy)
    (root / "tmp").chmod(0o1777)
    (root / "work").mkdir()
    (root / "work/program.py").write_text(PROGRAM)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("image")
    python_root(folder / "root")
    with running_engine() as engine:
        import_root(
            engine, folder / "root", "demo:1", "ENV PATH=/opt/python/bin:/usr/bin:/bin",
            "ENV PYTHONHOME=/opt/python", "ENV LD_LIBRARY_PATH=/opt/python",
            'ENTRYPOINT ["python3", "program.py"]', 'CMD ["first"]', "WORKDIR /work",
        )  # fmt: skip
        shutil.rmtree(folder / "root")
        yield engine


def trimtab(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", **variables}
    command = [TRIMTAB, *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    return done


@needs_engine
def test_an_image_of_an_engine(real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address(real))
    with ContainerEngine.connect() as engine:
        before, as_it_was = engine.inspect("demo:1"), engine.run("demo:1")
        assert json.loads(as_it_was.output)["arguments"] == ["first"]
        words = ("--runs", "1", "--settle", "1", "--fallback")
        done = trimtab(tmp_path, "image", "slim", "demo:1", *words, "none", "--", "second")
        assert "libraries stay as they are" not in done.stderr
        assert done.stdout == "trimtab_workspace/slim.tar\n"
        after = engine.inspect("demo:slim")
        assert engine.inspect("demo:1") == before
        assert after.size_bytes < before.size_bytes / 2
        for arguments in (["second"], ["third", "and more"]):
            runs = [engine.run(name, arguments) for name in ("demo:1", "demo:slim")]
            assert runs[0] == runs[1] and runs[0].exit_code == 0
            assert json.loads(runs[0].output)["arguments"] == arguments
        failed = [engine.run(name, ["fails"]) for name in ("demo:1", "demo:slim")]
        assert failed[0] == failed[1] and failed[0].exit_code == 1
        assert b"in <module>\n    csv.DictReader(1)\n" in failed[0].errors

    compared = trimtab(tmp_path, "image", "compare", "demo:1", "demo:slim", "--output", "both.json")
    assert "shells" in compared.stdout and "provisioning" in compared.stdout
    both = json.loads((tmp_path / "both.json").read_text())
    went = both["before"]["file_bytes"] - both["removed_bytes"] - both["smaller_bytes"]
    assert both["after"]["file_bytes"] == went
    assert not any(path.endswith("perl") for path in both["after"]["interpreters"])
    assert (tmp_path / "trimtab_workspace/slim.tar").stat().st_size < before.size_bytes / 2


def in_slim(
    engine: Path, program: str, *words: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    how = ("--rm", "--network", "none", *options, "--entrypoint", program)
    command = ["docker", "--host", address(engine), "run", *how, "demo:slim", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


@needs_engine
def test_what_is_missed_comes_back_in_the_engine(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address(real))
    traced = ("--runs", "1", "--settle", "0", "--", "second")
    trimtab(tmp_path, "image", "slim", "demo:1", *traced)
    assert not list((tmp_path / "trimtab_workspace/env/opt/python").rglob("fractions.py"))
    missing = ["third", "fractions"]
    store = {tmp_path / "trimtab_workspace/store": "/trimtab/store"}
    with ContainerEngine.connect() as engine:
        original, without = (engine.run(name, missing) for name in ("demo:1", "demo:slim"))
        assert engine.run("demo:slim", missing, folders=store) == original
        assert "1/2" in json.loads(original.output)["rest"]
        assert without.exit_code == 70 and b"fractions" in without.errors
        assert b"--volume STORE:/trimtab/store:ro" in without.errors
        mount = ("--volume", f"{tmp_path}/trimtab_workspace/store:/trimtab/store:ro")
        words = ("sh", "-c", "ls /work")  # as its page says, where / may not be written
        listed = in_slim(real, "/trimtab/init", *words, options=("--user", "1234", *mount))
        assert (listed.stdout, listed.stderr) == ("program.py\n", "")
        hidden = in_slim(real, "sh", "-c", "(python3 program.py fractions; exit $?) 2> /dev/null")
        assert hidden.returncode == 70 and hidden.stderr.count("fractions") == 1
        packed = ("--fallback", "packed", "--workspace", "packed")
        trimtab(tmp_path, "image", "slim", "demo:1", *packed, *traced)
        assert engine.run("demo:slim", missing) == original
