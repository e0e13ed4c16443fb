"""An image that is made slim on one machine and runs on another, which has the registry alone.

The machines are two engines; what is typed is what docs/how-to/ship-slim-images.md shows.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from documents import PROJECT
from project import tools
from real_engine import address, import_root, needs_engine, running_engine
from test_slim_image import python_root, trimtab

SOCKET = "/run/trimtab"
MISSING = ("third", "fractions")  # in no profiled run
ENVIRONMENT = ("ENV PATH=/opt/python/bin:/usr/bin:/bin", "ENV PYTHONHOME=/opt/python",
               "ENV LD_LIBRARY_PATH=/opt/python", "WORKDIR /work")  # fmt: skip
SERVER = """
import socketserver

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline().upper())

socketserver.TCPServer.allow_reuse_address = True
socketserver.TCPServer(("127.0.0.1", 8000), Handler).serve_forever()
"""
DRIVE = """
import socket

with socket.create_connection(("127.0.0.1", 8000)) as connection:
    connection.sendall(b"hello\\n")
    print(connection.makefile().read())
"""

pytestmark = [
    needs_engine,
    pytest.mark.skipif(
        shutil.which("docker-registry") is None,
        reason="no docker-registry (make deps-registry)",
    ),
]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    script, folder = PROJECT / "scripts/registry.sh", tmp_path / "registry"
    try:
        started = subprocess.run([script, "start", folder], check=True, capture_output=True)
        yield started.stdout.decode().strip()
    finally:
        subprocess.run([script, "stop", folder], check=True)


@contextmanager
def cold_store(folder: Path, *options: str) -> Iterator[None]:
    """Serve, as a node without trimtab does, at folder/cold-store.sock."""
    program = folder / "cold-store.pyz"
    trimtab(folder, "cold-store", "file", str(program))
    listen = ("--listen", f"unix:{folder}/cold-store.sock", "--cache", f"{folder}/cache")
    command = [sys.executable, "-I", str(program), "serve", *options, *listen]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert "listening" in (said := server.stderr.readline()), said
            yield
        finally:
            server.terminate()


def docker(engine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["docker", "--host", address(engine), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def ran(engine: Path, name: str, *options: str) -> tuple[int, str]:
    """Run the image as the deployment does: another user, without capabilities, read-only."""
    less = ["--user", "10001", "--cap-drop", "ALL", "--read-only", "--tmpfs", "/tmp:exec"]
    less += ["--security-opt", "no-new-privileges", "--network", "none", "--rm"]
    done = docker(engine, "run", *less, *options, name, *MISSING)
    return done.returncode, done.stdout or done.stderr


def test_a_container_needs_nothing_but_the_registry(
    registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, slim = f"{registry}/team/demo:1", f"{registry}/team/demo:slim"
    python_root(tmp_path / "root")
    node = tmp_path / "node"
    node.mkdir()
    node.chmod(0o755)
    misses = node / "misses.jsonl"
    mount = ("--volume", f"{node}:{SOCKET}:ro")
    with running_engine() as here, running_engine() as there:
        start = 'ENTRYPOINT ["python3", "program.py"]'
        import_root(here, tmp_path / "root", name, *ENVIRONMENT, start)
        expected = ran(here, name)
        assert expected[0] == 0 and json.loads(expected[1])["rest"] == "1/2"
        assert docker(here, "push", name).returncode == 0
        monkeypatch.setenv("DOCKER_HOST", address(here))
        trimtab(tmp_path, "image", "slim", name, "--runs", "1", "--settle", "0", "--", "second")
        trimtab(tmp_path, "image", "push", slim)
        said = json.loads(trimtab(tmp_path, "--json", "image", "inspect", slim).stdout)
        assert said["missing_layers"] == [] and len(said["referrers"]) == 1

        exit_code, words = ran(there, slim)
        assert exit_code == 70 and f"--volume {SOCKET}:{SOCKET}" in words
        with cold_store(node, "--allow", f"{registry}/team", "--misses", str(misses)):
            assert ran(there, slim, *mount) == expected
        exit_code, words = ran(there, slim, *mount)
        assert exit_code == 70 and "fractions" in words  # the socket is gone

        store = ("--output", "pulled.tar", "--store", "store")
        trimtab(tmp_path, "image", "pull", slim, *store)
        assert docker(there, "load", "--input", str(tmp_path / "pulled.tar")).returncode == 0
        folder = ("--volume", f"{tmp_path}/store:/trimtab/store:ro")
        assert ran(there, slim, *folder) == expected

        with misses.open("a") as file:  # a container of the node made this up
            file.write(json.dumps({"index": said["index"], "piece": {"file": "../x"}}) + "\n")
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
        learned = ("--from", str(misses), "--index", said["index"])
        trimtab(tmp_path, "advanced", "learn", *learned)
        archive = "trimtab_workspace/slim.tar"
        trimtab(tmp_path, "image", "push", archive, "--to", f"{registry}/team/demo:learned")
        assert ran(there, f"{registry}/team/demo:learned") == expected


def script_of(recipe: str) -> list[str]:
    """Return what a pipeline runs to make an image slim, without what prepares a new machine."""
    document = yaml.safe_load((PROJECT / "examples/shipping" / recipe).read_text())
    job = document.get("jobs", document)["slim"]
    lines = job.get("script") or [each["run"] for each in job["steps"] if "run" in each]
    return [line for line in lines if line.split()[0] not in ("pip", "sudo")]


@pytest.mark.nightly
@pytest.mark.parametrize("recipe", ["gitlab-ci.yml", "github-workflow.yml"])
def test_a_pipeline_ships_an_image(recipe: str, registry: str, tmp_path: Path) -> None:
    original, slim = f"{registry}/ci/demo:1", f"{registry}/ci/demo:1-slim"
    python_root(tmp_path / "root")
    (tmp_path / "root/work/server.py").write_text(SERVER)
    (tmp_path / "example_drive.py").write_text(DRIVE)
    with running_engine() as engine:
        start = 'CMD ["python3", "server.py"]'
        import_root(engine, tmp_path / "root", original, *ENVIRONMENT, start)
        assert docker(engine, "push", original).returncode == 0
    variables = {
        **tools(), "HOME": str(tmp_path), "ORIGINAL": original, "SLIM": slim,
        "CI_REGISTRY": registry, "CI_REGISTRY_USER": "name", "CI_REGISTRY_PASSWORD": "secret",
    }  # fmt: skip
    command = ["bash", "-exc", "\n".join(script_of(recipe))]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "trimtab_workspace/verify.json").read_text())
    said = json.loads(trimtab(tmp_path, "--json", "image", "inspect", slim).stdout)
    assert said["index"] and said["missing_layers"] == []
