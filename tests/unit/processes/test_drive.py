"""Servers: started, driven when they are ready, stopped; and what goes wrong on the way."""

import re
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.errors import UserError
from trimtab.processes.launch import followed
from trimtab.processes.program import Driver, Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.files import read_file_trace, tracing_command

SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/exit":
            os._exit(9)
        self.send_response(200); self.end_headers()
        self.wfile.write(self.path.upper().encode())
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("almost", end="", flush=True); print(" ready now", file=eval(sys.argv[2]), flush=True)
server.serve_forever()
"""
DRIVER = """
import sys, urllib.request
for path in sys.argv[2:]:
    print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/{path}").read().decode())
"""


@pytest.fixture
def port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def server(port: int, *paths: str, code: str = SERVER, **changes: object) -> Program:
    settings: dict[str, object] = {"ready": "ready now$", "address": None, **changes}
    drive = (sys.executable, "-c", DRIVER, str(port), *paths)
    driver = Driver(drive, {}, **settings)  # type: ignore[arg-type]
    command = (sys.executable, "-c", code, str(port), "sys.stdout")
    return Program(command, Path.cwd(), {}, 60.0, ends_with=None, driver=driver)


def measure(program: Program, folder: Path) -> MeasuredRun:
    return measure_run(
        program, condition="original", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder
    )


@pytest.mark.parametrize("said_on", ["sys.stdout", "sys.stderr"])
def test_it_is_driven_when_it_says_that_it_is_ready(
    tmp_path: Path, port: int, said_on: str
) -> None:
    program = server(port, "one", "two")
    program = replace(program, command=(*program.command[:-1], said_on))
    run = measure(program, tmp_path)
    assert run.failure is None and run.exit_code == -signal.SIGTERM and run.left_behind == 0
    assert run.output and run.output.read_text() == "/ONE\n/TWO\n"
    assert run.stdout.read_text().startswith("almost")


def test_it_is_driven_when_its_address_accepts_and_stopped_by_another_signal(
    tmp_path: Path, port: int
) -> None:
    program = server(port, "one", ready=None, address=f"localhost:{port}", stop=signal.SIGINT)
    run = measure(program, tmp_path)
    assert run.failure is None and "KeyboardInterrupt" in run.stderr.read_text()
    assert run.output and run.output.read_text() == "/ONE\n"


def test_under_the_file_tracer_the_server_itself_is_stopped(tmp_path: Path, port: int) -> None:
    """A signal to the tracer would cut its record short."""
    plain = server(port, "one")
    record = tmp_path / "record"
    run = measure(
        replace(plain, command=tracing_command(plain.command, record), by_tracer=True), tmp_path
    )
    assert run.failure is None and run.exit_code == -signal.SIGTERM
    trace = read_file_trace(record)
    assert trace.complete and trace.exit_status == 128 + signal.SIGTERM


def test_marks_and_files_of_a_server_are_as_of_any_program(tmp_path: Path, port: int) -> None:
    program = server(port, "one")
    output = Output(OutputComparison.DIGEST_FILE, str(tmp_path / "written"))
    writes = f"import sys; open({str(tmp_path / 'written')!r}, 'w').write('x')\n" + SERVER
    command = (sys.executable, "-c", writes, *program.command[3:])
    run = measure(replace(program, command=command, output=output), tmp_path / "logs")
    assert run.output and run.output.read_text() == "x"


@pytest.mark.parametrize(
    ("changes", "paths", "said"),
    [
        ({}, ["exit"], "driven by a command that ended with exit code 1, the server having"),
        (
            {"ready": "never said"},
            [],
            "took too long .* never ready: no line matched 'never",
        ),
        ({"ready": None, "address": "localhost:1"}, [], "localhost:1 took no connection"),
        ({"code": "print('ready')"}, [], "ended before it was ready: no line matched"),
    ],
)
def test_what_goes_wrong_is_told(
    tmp_path: Path, port: int, changes: dict[str, str], paths: list[str], said: str
) -> None:
    run = measure(replace(server(port, *paths, **changes), timeout_s=3.0), tmp_path)
    assert run.output is None
    assert re.search(said, str(run.failure)), run.failure


def test_a_driver_that_takes_too_long_is_ended_too(tmp_path: Path, port: int) -> None:
    program = server(port)
    assert program.driver
    forever = f"import os, pathlib, time; pathlib.Path({str(tmp_path / 'pid')!r})" \
              ".write_text(str(os.getpid())); time.sleep(1000)"  # fmt: skip
    driver = replace(program.driver, command=(sys.executable, "-c", forever))
    run = measure(replace(program, driver=driver, timeout_s=2.0), tmp_path)
    assert run.timed_out and "still being driven" in str(run.failure)
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_another_server_at_the_address_is_not_driven(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        program = server(1, ready=None, address=address)
        with pytest.raises(UserError, match=r"server\.address: .* before the server was started"):
            measure(program, tmp_path)


def test_one_that_is_only_followed_is_driven_and_stopped(tmp_path: Path, port: int) -> None:
    out = tmp_path / "run.stdout"
    assert len(set(followed(server(port, "one"), out, tmp_path / "run.stderr"))) == 1
    assert (tmp_path / "run.driver.stdout").read_text() == "/ONE\n"


def test_a_server_that_its_driver_ends_lets_it_finish(tmp_path: Path, port: int) -> None:
    program = server(port)
    assert program.driver
    code = (
        "import http.client, sys\n"
        f"connection = http.client.HTTPConnection('127.0.0.1', {port})\n"
        "connection.request('GET', '/exit')\n"
        "try: connection.getresponse()\n"
        "except OSError: print('gone')\n"
    )
    driver = replace(program.driver, command=(sys.executable, "-c", code))
    run = measure(replace(program, driver=driver), tmp_path)
    assert run.failure is None and run.exit_code == 9
    assert run.output and run.output.read_text() == "gone\n"
