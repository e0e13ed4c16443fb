"""The files of examples/shipping are what the programs that read them take."""

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
import yaml
from kubernetes import client

from trimtab.cli.image.cold_store import write_file
from trimtab.cli.verbs import command_line
from trimtab.cold_store.__main__ import SOCKET

app = command_line()

PROJECT = Path(__file__).resolve().parents[2]
RECIPES = PROJECT / "examples/shipping"
MANIFESTS = ("daemonset", "deployment", "sidecar", "image-volume")
PLAIN: dict[str, Any] = {"str": str, "int": int, "bool": bool, "object": (str, int)}
COMMAND = re.compile(r"^[\s#-]*(?:run: )?(trimtab .*)$", re.MULTILINE)
FOLDER = str(Path(SOCKET.removeprefix("unix:")).parent)


def document(name: str) -> Any:
    return yaml.safe_load((RECIPES / f"{name}.yaml").read_text())


def pod(name: str) -> Any:
    spec = document(name)["spec"]
    return spec["template"]["spec"] if "template" in spec else spec


def containers(name: str) -> list[Any]:
    return [*pod(name).get("initContainers", []), *pod(name)["containers"]]


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string((RECIPES / "cold-store.service").read_text().replace("\\\n", ""))
    return parser


def cold_stores() -> Iterator[Any]:
    """Yield what each recipe that has a cold store runs: the words behind `serve`."""
    started = [("cold-store.service", shlex.split(unit()["Service"]["ExecStart"]))]
    for name in MANIFESTS:
        started += [
            (name, [*each["command"], *each.get("args", [])])
            for each in containers(name)
            if "command" in each
        ]
    started.append(("compose", document("compose")["services"]["cold-store"]["command"]))
    for name, (program, *words) in started:
        if "python3" in program:
            assert words[0].endswith("/cold-store.pyz") and words[1] == "serve"
            yield pytest.param(words[2:], id=name)


def unknown(value: Any, kind: str, at: str) -> Iterator[str]:
    """Yield the places of `value` that are none of the API's type `kind`."""
    if found := re.fullmatch(r"list\[(.+)\]", kind):
        for number, each in enumerate(value):
            yield from unknown(each, found[1], f"{at}[{number}]")
    elif found := re.fullmatch(r"dict\[str, (.+)\]", kind):
        for key, each in value.items():
            yield from unknown(each, found[1], f"{at}.{key}")
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind == "int" and isinstance(value, bool)):
            yield f"{at}: {value!r} is no {kind}"
    else:
        model = getattr(client, kind)
        kinds = {key: model.openapi_types[name] for name, key in model.attribute_map.items()}
        for key, each in value.items():
            if key in kinds:
                yield from unknown(each, kinds[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}: unknown"


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_an_object_of_the_api(name: str) -> None:
    given = document(name)
    kind = f"V1{given['kind']}"
    assert given["apiVersion"] == ("v1" if kind == "V1Pod" else "apps/v1")
    assert list(unknown(given, kind, kind)) == []
    read = client.ApiClient().deserialize(SimpleNamespace(data=json.dumps(given)), kind)
    assert client.ApiClient().sanitize_for_serialization(read) == given


def test_what_is_not_of_the_api_is_found() -> None:
    given = {"spec": {"containers": [{"name": 1, "ports": [{"containerport": 80}]}]}}
    assert list(unknown(given, "V1Pod", "pod")) == [
        "pod.spec.containers[0].name: 1 is no str",
        "pod.spec.containers[0].ports[0].containerport: unknown",
    ]


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_parts_of_a_manifest_fit(name: str) -> None:
    spec = document(name)["spec"]
    if "selector" in spec:
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    volumes = {each["name"] for each in pod(name)["volumes"]}
    mounted = {each["name"] for one in containers(name) for each in one["volumeMounts"]}
    assert volumes == mounted
    for one in containers(name):
        ports = {each["name"] for each in one.get("ports", [])}
        probes = (one[key] for key in one if key.endswith("Probe"))
        assert {each["httpGet"]["port"] for each in probes} <= ports
        assert one["securityContext"]["readOnlyRootFilesystem"]


@pytest.mark.parametrize("name", [name for name in MANIFESTS if name != "daemonset"])
def test_a_slim_container_has_no_more_than_it_needs(name: str) -> None:
    [slim] = pod(name)["containers"]
    mounts = {each["mountPath"]: each.get("readOnly", False) for each in slim["volumeMounts"]}
    source = "/trimtab/store" if name == "image-volume" else FOLDER
    assert mounts == {source: True, "/tmp": False}
    assert pod(name)["securityContext"]["runAsNonRoot"]
    assert slim["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_cold_stores_are_where_containers_look_for_them() -> None:
    which = (PROJECT / "native/store/which.h").read_text()
    assert f'#define COLD_STORE "{SOCKET}"' in which
    for name in ("daemonset", "sidecar"):
        [store] = [each for each in containers(name) if each["name"] == "cold-store"]
        assert FOLDER in {each["mountPath"] for each in store["volumeMounts"]}
    services = document("compose")["services"]
    assert f"socket:{FOLDER}" in services["cold-store"]["volumes"]
    assert services["example"]["volumes"] == [f"socket:{FOLDER}:ro"]
    service = unit()["Service"]
    assert f"/run/{service['RuntimeDirectory']}" == FOLDER
    # A folder made anew would not be the one that containers have mounted.
    assert service["RuntimeDirectoryPreserve"] == "yes"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cold-store") / "cold-store.pyz"
    write_file(path)
    assert path.stat().st_size < 1 << 20  # of a ConfigMap
    return path


@pytest.mark.parametrize("words", list(cold_stores()))
def test_a_cold_store_starts_as_the_recipe_says(
    words: list[str], program: Path, tmp_path: Path
) -> None:
    """Its folders and ports are others here."""
    config = tmp_path / "config.json"
    config.write_text("{}")
    path = tmp_path / "socket"
    here = ["--listen", f"unix:{path}", "--cache", str(tmp_path / "cache"), "--auth", str(config)]
    here += ["--misses", str(tmp_path / "misses"), "--metrics", "127.0.0.1:0"]
    command = [sys.executable, "-I", str(program), "serve", *words, *here]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        assert "listening" in (said := server.stderr.readline()), said + server.stderr.read()
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(path))
            asking.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert b" 200 " in asking.recv(99)
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    assert not path.exists()


def test_compose_declares_what_its_services_use() -> None:
    given = document("compose")
    services = given["services"].values()
    named = {text.split(":")[0] for each in services for text in each["volumes"]}
    assert {name for name in named if not name.startswith(".")} == set(given["volumes"])
    assert {name for each in services for name in each.get("secrets", [])} == set(given["secrets"])
    assert {name for each in services for name in each.get("depends_on", {})} <= set(
        given["services"]
    )


def test_compose_takes_its_file() -> None:
    compose = ["docker", "compose", "--file", str(RECIPES / "compose.yaml"), "config", "--quiet"]
    if shutil.which("docker") is None or subprocess.run([*compose[:2], "version"]).returncode:
        pytest.skip("docker compose is missing: install Docker's docker-compose-plugin")
    subprocess.run(compose, check=True)


def test_the_health_check_of_compose_finds_a_server(tmp_path: Path) -> None:
    _, *command = document("compose")["services"]["cold-store"]["healthcheck"]["test"]
    path = tmp_path / "socket"
    words = [text.replace(SOCKET.removeprefix("unix:"), str(path)) for text in command]
    assert words != command
    words[0] = sys.executable
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        with subprocess.Popen(words) as asking:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(99) == b"GET /healthz HTTP/1.0\r\n\r\n"
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
            assert asking.wait(20) == 0


def test_systemd_takes_the_unit() -> None:
    if shutil.which("systemd-analyze") is None or not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("systemd-analyze or /usr/bin/python3 is missing: apt-get install systemd")
    command = ["systemd-analyze", "verify", str(RECIPES / "cold-store.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", sorted(RECIPES.iterdir()), ids=lambda path: path.name)
def test_trimtab_takes_the_commands(path: Path) -> None:
    found = COMMAND.findall(path.read_text())
    assert len(found) > 5 or path.name not in ("gitlab-ci.yml", "github-workflow.yml")
    for text in found:
        program: Any = typer.main.get_command(app)
        rest, parent = shlex.split(text)[1:], None
        while hasattr(program, "resolve_command"):
            parent = program.context_class(program, parent=parent)
            _, program, rest = program.resolve_command(parent, rest)
        program.make_context(program.name, rest, parent=parent)


def test_pipelines_pin_what_they_use() -> None:
    workflow = yaml.safe_load((RECIPES / "github-workflow.yml").read_text())
    pipeline = yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text())
    steps = workflow["jobs"]["slim"]["steps"]
    used = [each["uses"] for each in steps if "uses" in each]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", each) for each in used)
    jobs = [pipeline[name] for name in pipeline["stages"]]
    assert all(re.search(r":\d", each["image"]) for each in jobs)
