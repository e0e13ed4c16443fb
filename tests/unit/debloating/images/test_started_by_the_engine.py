"""A slim image of a static program in a real engine, as confined as containers are."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_root import root_of_programs
from real_engine import address, import_root, needs_engine, running_engine

from trimtab.cli.verbs import command_line

app = command_line()

PROBE = Path(__file__).parents[1] / "probe.c"
CHECK = """
#include <stdio.h>
int main(void) {
    FILE *file = fopen("/srv/checked", "r");
    return !file || fgetc(file) != 'c';
}
"""
UNREAD = "cat /srv/unread 7 unread\n\n"
WRITES_NOWHERE = ("--read-only",)
pytestmark = needs_engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An engine with the slim image; its health check's file was in no profiled run."""
    folder = tmp_path_factory.mktemp("static")
    root = folder / "root"
    root_of_programs(root, ("sh", "cat"))
    static = ["gcc", "-static", "-O1", "-pthread", "-w", "-o"]
    subprocess.run([*static, root / "probe", PROBE], check=True)
    (root / "srv").mkdir()  # no program /check: the checkout may be in a folder of that name
    check = [*static, root / "srv" / "check", "-x", "c", "-"]
    subprocess.run(check, input=CHECK, text=True, check=True)
    for name in ("page", "unread", "checked"):
        (root / "srv" / name).write_text(f"{name}\n")
    (root / "tmp").chmod(0o1777)
    with running_engine() as engine, pytest.MonkeyPatch.context() as patch:
        import_root(engine, root, "static:1", 'HEALTHCHECK --interval=1s CMD ["/srv/check"]')
        patch.setenv("DOCKER_HOST", address(engine))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        words = ["--runs", "1", "--settle", "0", "--fallback", "packed"]
        traced = ["/probe", "cat /srv/page"]
        app(["image", "slim", "static:1", *words, "--", *traced], standalone_mode=False)
        yield engine


def docker(engine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["docker", "--host", address(engine), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def run(engine: Path, *options: str, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    how = ("--rm", "--pull", "never", "--network", "none", *options)
    return docker(engine, "run", *how, "static:slim", "/probe", *words)


@pytest.fixture
def container(engine: Path) -> Iterator[str]:
    """One that waits, by its number."""
    how = ("--detach", "--pull", "never", "--network", "none")
    done = docker(engine, "run", *how, "static:slim", "/probe", "wait x")
    assert done.returncode == 0, done.stderr
    yield done.stdout.strip()
    docker(engine, "rm", "--force", done.stdout.strip())


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--user", "1234:1234"),
        (*WRITES_NOWHERE, "--tmpfs", "/tmp"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "1234",
         *WRITES_NOWHERE, "--tmpfs", "/tmp"),
    ],
)  # fmt: skip
def test_what_was_missed_comes_back(engine: Path, options: tuple[str, ...]) -> None:
    words = ("cat /srv/page", "cat /srv/unread", "exit 3")
    done = run(engine, *options, words=words)
    assert (done.stdout, done.stderr) == (f"cat /srv/page 5 page\n\n{UNREAD}exit 3", "")
    assert done.returncode == 3


def test_where_nothing_can_come_back_the_program_ends(engine: Path) -> None:
    done = run(engine, *WRITES_NOWHERE, words=("cat /srv/page", "cat /srv/unread"))
    assert (done.stdout, done.returncode) == ("cat /srv/page 5 page\n\n", 70)
    assert "what was removed has to come back there, as / cannot be written" in done.stderr


def test_its_health_check_misses_nothing(engine: Path, container: str) -> None:
    """It is started beside the entrypoint."""
    command = ["docker", "--host", address(engine), "events", "--since", "0", "--filter",
               "event=health_status", "--filter", f"container={container}"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as events:
        assert events.stdout
        assert "health_status: healthy" in events.stdout.readline()
        events.kill()


def test_any_program_of_the_original_can_be_started_in_it(engine: Path, container: str) -> None:
    there = docker(engine, "exec", container, "/bin/sh", "-c", ":")
    assert there.returncode != 0  # it went
    inside = ("exec", "--env", "PATH=/usr/bin:/bin", container, "/trimtab/init")
    done = docker(engine, *inside, "sh", "-c", "cat /srv/unread; /probe 'cat /srv/unread'; exit 5")
    assert (done.stdout, done.stderr, done.returncode) == (f"unread\n{UNREAD}", "", 5)
