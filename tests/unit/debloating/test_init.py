"""Files come back to programs that load no library: they are told what they were told before."""

import json
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath

import pytest
from machine_root import root_of_programs

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, IDENTITY_FILE, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.original_identity import identity_bytes, identity_of
from trimtab.native import native_path
from trimtab.processes.as_user import User
from trimtab.processes.root import INIT, RootFileSystem

PROBE, CONFINED = (Path(__file__).with_name(name) for name in ("probe.c", "confined.c"))
MANY, HUNDREDS = 40, 1500
REMOVED = (
    "/srv/text", "/srv/deep", "/srv/deep/inner", "/srv/deep/more", "/srv/deep/more/last",
    "/srv/way", "/srv/looked", "/srv/program", "/srv/script", "/srv/lost", "/srv/secret",
    *(f"/srv/many/{number}" for number in range(MANY)),
    *(f"/srv/hundreds/{number}" for number in range(0, HUNDREDS, 2)),
)  # fmt: skip


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A root with a static program, and the slim one that lost most of its files."""
    top = tmp_path_factory.mktemp("roots")
    root, slim = top / "root", top / "slim"
    root_of_programs(root, ("sh", "cat"))
    static = ["gcc", "-static", "-O1", "-pthread", "-w", "-o", root / "probe", PROBE]
    subprocess.run(static, check=True)
    subprocess.run(["gcc", "-static", "-O1", "-o", root / "confined", CONFINED], check=True)
    for folder in ("srv/deep/more", "srv/many", "srv/hundreds", "srv/kept", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in ("text", "looked", "deep/inner", "deep/more/last", "kept/stays", "lost", "secret"):
        (root / "srv" / name).write_text(f"{name}\n")
        os.utime(root / "srv" / name, ns=(10**18, 10**18 + 123))
    (root / "srv/secret").chmod(0o600)
    for folder, count in (("many", MANY), ("hundreds", HUNDREDS)):
        for number in range(count):
            (root / "srv" / folder / str(number)).write_text("many\n\n")
    (root / "srv/way").symlink_to("deep/more")
    (root / "srv/leads").symlink_to("way/last")
    subprocess.run(["cp", root / "probe", root / "srv/program"], check=True)
    (root / "opt").mkdir()
    subprocess.run(["cp", root / "probe", root / "opt/probe"], check=True)
    (root / "opt/probe").chmod(0o644)
    (root / "srv/script").write_text("#!/srv/program stat\n")
    (root / "srv/script").chmod(0o755)
    subprocess.run(["cp", "-a", root, slim], check=True)
    for path in sorted(REMOVED, reverse=True):
        place = slim / path[1:]
        place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()
    add_file_fallback(slim, root, root_tree(root), REMOVED, Source(Fallback.PACKED))
    (slim / "etc/ld.so.preload").write_text(f"/{FILE_FALLBACK_LIBRARY}\n")
    (slim / INIT).write_bytes(native_path("trimtab-init").read_bytes())
    (slim / INIT).chmod(0o755)
    return root, slim


def run(
    root: Path,
    *words: str,
    before: Iterable[str] = (),
    record: Path | None = None,
    behaviour: str = "restore",
    variables: Mapping[str, str] | None = None,
    wrapped: Iterable[str] = (),
    user: User | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the program in the root: what it writes lies in memory."""
    inside = RootFileSystem(root.resolve())
    environment = {"PATH": "/usr/bin:/bin", "TRIMTAB_FALLBACK": behaviour, **(variables or {})}
    if record is not None:
        inside = inside.binding(record.parent)
        environment["TRIMTAB_FALLBACK_RECORD"] = str(record)
    command = [*before, "/probe", *words]
    return subprocess.run(
        [*wrapped, *inside.entering(command, PurePath("/"), user)],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def alike(roots: tuple[Path, Path], *words: str) -> str:
    """What the program says in both roots, with the same end."""
    root, slim = roots
    expected, found = run(root, *words), run(slim, *words, before=[f"/{INIT}"])
    assert found.stdout == expected.stdout
    assert (found.stderr, found.returncode) == (expected.stderr, expected.returncode)
    return found.stdout


@pytest.mark.parametrize(
    "words",
    [
        "cat /srv/text; cat /srv/text; cat /srv/nothing; cat /srv/leads; cat /srv/way/last",
        "stat /srv/looked; lstat /srv/way; stat /srv/way; readlink /srv/way; readlink /srv/looked",
        "stat /srv/deep/inner; cat /srv/deep/inner; stat /srv/deep/inner; same /srv/looked",
        "access /srv/looked; statfs /srv/text; attributes /srv/looked; access /srv/none",
        "cd /srv/deep; cat inner; cat ../text; ls .; in more last; in .. looked",
        "in /srv/deep more/last; in /srv kept/../text; in /srv/deep ../kept/stays",
        "write /srv/text; write /srv/new; append /srv/looked; cat /srv/looked",
        "ls /srv; ls /srv/deep; cat /srv/text; ls /srv; ls /srv/kept; ls /srv/way",
        "ls /srv/hundreds; cat /srv/hundreds/0; ls /srv/hundreds",
        "sweep /srv/hundreds; ls /srv/hundreds; rmdir /srv/hundreds",
        "mkdir /srv/deep; mkdir /srv/other; rmdir /srv/deep; rmdir /srv/many; ls /srv",
        "unlink /srv/text; cat /srv/text; ls /srv; mkdir /srv/text; ls /srv/text",
        "rename /srv/many /srv/kept/many; cat /srv/kept/many/3; cat /srv/many/3; ls /srv/kept/many",
        "rename /srv/text /srv/looked; cat /srv/looked; link /srv/lost /srv/name; cat /srv/name",
        "exec /srv/program; exec /srv/script; exec /srv/nothing; exec /probe",
        "many /srv/many",
        "hostile",
        "user; cat /srv/text; cat /srv/secret; access /srv/secret; stat /srv/secret; exec /probe",
        "again",
        "cat /srv/text; exit 7",
        "cat /srv/text; kill 9",
        "cat /srv/text; kill 15",
        "cat /srv/text; kill 11",
    ],
)  # fmt: skip
def test_a_static_program_is_told_what_the_original_would_tell_it(
    roots: tuple[Path, Path], words: str
) -> None:
    alike(roots, *words.split("; "))


@pytest.mark.parametrize(
    "words",
    [
        "cat /srv/text; stat /srv/looked; ls /srv; in /srv/deep more/last; write /srv/new; hostile",
        "exec /srv/program; exec /srv/script; many /srv/many; cat /srv/nothing; ls /srv/hundreds",
        "cat /srv/text; exit 7",
        "cat /srv/text; kill 9",
    ],
)
def test_it_serves_where_an_engine_confines_it(roots: tuple[Path, Path], words: str) -> None:
    """What Docker refuses in containers: to read another's memory by a call, and `unshare`."""
    each = words.split("; ")
    expected = run(roots[0], *each, before=["/confined"])
    found = run(roots[1], *each, before=["/confined", f"/{INIT}"])
    assert (found.stderr, found.stdout, found.returncode) == (
        expected.stderr,
        expected.stdout,
        expected.returncode,
    )


def test_nothing_comes_back_without_it(roots: tuple[Path, Path]) -> None:
    assert run(roots[1], "cat /srv/text").stdout == "cat /srv/text ENOENT\n"


def paths_in(record: Path) -> set[str]:
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    return {line["file"] for line in lines if "file" in line}


def test_what_was_only_looked_at_is_no_miss(roots: tuple[Path, Path], tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    words = ["stat /srv/looked", "ls /srv/deep", "access /srv/lost", "cat /srv/deep/inner"]
    assert run(roots[1], *words, before=[f"/{INIT}"], record=record).returncode == 0
    assert paths_in(record) == {"srv/deep", "srv/deep/inner"}
    assert json.loads(record.read_text().splitlines()[-1])["files"] == 2


def test_strict_ends_what_misses_something_with_all_that_it_started(
    roots: tuple[Path, Path], tmp_path: Path
) -> None:
    record = tmp_path / "record.jsonl"
    words = ["cat /srv/kept/stays", "stat /srv/looked", "exec /probe", "cat /srv/lost", "wait x"]
    done = run(roots[1], *words, before=[f"/{INIT}"], record=record, behaviour="strict")
    assert done.returncode == 70
    assert "srv/text was removed: no profiled run used it" not in done.stderr  # only looked at
    assert "srv/lost was removed: no profiled run used it" in done.stderr
    assert "lost" not in done.stdout  # the program did not go on
    assert paths_in(record) == {"srv/lost"}


def test_report_only_counts(roots: tuple[Path, Path], tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    done = run(roots[1], "cat /srv/text", before=[f"/{INIT}"], record=record, behaviour="report")
    assert done.stdout == "cat /srv/text 5 text\n\n"
    assert [json.loads(line)["files"] for line in record.read_text().splitlines()] == [1]


def test_a_name_is_looked_for_as_engines_do(roots: tuple[Path, Path]) -> None:
    inside = RootFileSystem(roots[1].resolve())

    def start(*words: str, path: str = "/nowhere:/srv:/") -> tuple[int, str, str]:
        command = inside.entering([f"/{INIT}", *words], PurePath("/"), None)
        done = subprocess.run(
            command, env={"PATH": path}, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    looked = "stat /srv/kept 40755 0:0 0 0.0\n"
    assert start("probe", "stat /srv/kept") == (0, looked, "")
    assert start("program", "stat /srv/kept") == (0, looked, "")  # it was removed
    assert start("nothing") == (127, "", "trimtab: nothing: command not found\n")
    assert start("kept") == (126, "", "trimtab: kept: may not be executed\n")
    assert start("/srv/kept/stays") == (126, "", "trimtab: /srv/kept/stays: may not be executed\n")
    assert start()[0] == 125


def test_signals_reach_the_program(roots: tuple[Path, Path]) -> None:
    command = RootFileSystem(roots[1].resolve()).entering(
        [f"/{INIT}", "/probe", "wait x"], PurePath("/"), None
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.read(6) == "wait x"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "terminated\n"
        assert process.wait(30) == signal.SIGTERM


def test_who_waits_for_a_pipe_waits_for_the_program_alone(roots: tuple[Path, Path]) -> None:
    inside = RootFileSystem(roots[1].resolve())
    reader, writer = os.pipe()
    command = inside.entering([f"/{INIT}", "/probe", "wait x"], PurePath("/"), None)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[writer], text=True)
    os.close(writer)
    assert process.stdout is not None
    assert process.stdout.read(6) == "wait x"
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    held = [
        os.readlink(f"/proc/{process.pid}/fd/{name}")
        for name in os.listdir(f"/proc/{process.pid}/fd")
    ]
    assert len(children) == 1
    assert not [path for path in held if path.startswith("pipe:")]
    process.kill()  # and the program is not left behind
    assert process.wait(30) == -signal.SIGKILL
    assert process.stdout.read() == ""
    assert os.read(reader, 1) == b""
    process.stdout.close()
    os.close(reader)


def test_what_outlives_the_program_is_served(roots: tuple[Path, Path]) -> None:
    """Its parent's end is waited for before it asks."""
    words = ["stat /srv/kept/stays", "orphan /srv/text 1"]
    found = run(roots[1], *words, before=[f"/{INIT}"])
    assert sorted(found.stdout.splitlines()) == sorted(run(roots[0], *words).stdout.splitlines())


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do so")
FIRST = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


@AS_ROOT
def test_it_is_the_first_process_of_a_container(roots: tuple[Path, Path]) -> None:
    done = run(
        roots[1], "cat /srv/text", "exec /srv/script", "exit 3", before=[f"/{INIT}"], wrapped=FIRST
    )
    assert "cat /srv/text 5 text" in done.stdout
    assert done.returncode == 3
    killed = run(roots[1], "kill 9", before=[f"/{INIT}"], wrapped=FIRST)
    assert killed.returncode == 128 + 9  # it cannot end by a signal


@AS_ROOT
def test_without_the_right_to_trace_others(roots: tuple[Path, Path]) -> None:
    """As in a container: who became another user and then another program can be looked at."""
    without = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    words = ["cat /srv/text", "user", "cat /srv/looked", "again"]
    expected = run(roots[0], *words, wrapped=without)
    assert expected.stdout.endswith("cat /srv/deep/inner 11 deep/inner\n\n")
    found = run(roots[1], *words, before=[f"/{INIT}"], wrapped=without)
    assert "cat /srv/looked ENOENT" in found.stdout  # it gave up rights, and
    assert "add the capability SYS_PTRACE" in found.stderr  # may not be looked at
    assert (
        found.stdout.endswith("cat /srv/deep/inner 11 deep/inner\n\n") or "ENOENT" in found.stdout
    )


def test_one_serves_all_that_runs_below_it(roots: tuple[Path, Path]) -> None:
    done = run(roots[1], "cat /srv/text", before=[f"/{INIT}", f"/{INIT}"], behaviour="strict")
    assert (done.stdout, done.returncode) == ("", 70)
    done = run(roots[1], "cat /srv/text", before=[f"/{INIT}", f"/{INIT}"])
    assert (done.stdout, done.stderr) == ("cat /srv/text 5 text\n\n", "")


def test_where_another_asks_it_says_that_nothing_comes_back(
    roots: tuple[Path, Path], tmp_path: Path
) -> None:
    tracer = [str(native_path("trimtab-file-tracer")), f"{tmp_path}/files", "--", f"/{INIT}"]
    record = tmp_path / "record"
    done = run(roots[1], "cat /srv/text", before=tracer, record=record)
    assert done.stdout == "cat /srv/text ENOENT\n"
    assert "another program watches its calls" in done.stderr
    refused = run(roots[1], "cat /srv/text", before=tracer, record=record, behaviour="strict")
    assert (refused.stdout, refused.returncode) == ("", 70)


SHELL_SCRIPT = """
cat /srv/text; /probe 'cat /srv/looked' 'exec /srv/script'; cd /srv; ../probe 'cat deep/inner'
PATH=/opt:/; probe 'cat lost'; /opt/probe; ./script more
exec /srv/program 'cat /srv/many/1' 'exit 5'
"""


def test_a_program_of_glibc_has_it_start_others(roots: tuple[Path, Path]) -> None:
    """What is below it is served by it alone, programs of glibc too."""
    for before in ([], [f"/{INIT}"]):
        ended = []
        for root, more in zip(roots, ([], before), strict=True):
            command = RootFileSystem(root.resolve()).entering(
                [*more, "/bin/sh", "-c", SHELL_SCRIPT], PurePath("/"), None
            )
            done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True)
            assert b"cat lost 5 lost" in done.stdout
            ended.append((done.stdout, done.stderr, done.returncode))
        assert ended[0] == ended[1]
        assert ended[0][2] == 5
        assert b"cat deep/inner 11 deep/inner" in ended[0][0]


def test_under_strict_who_waits_for_a_served_program_ends_likewise(
    roots: tuple[Path, Path], tmp_path: Path
) -> None:
    inside = RootFileSystem(roots[1].resolve()).binding(tmp_path)
    script = "/probe 'cat /srv/lost'; echo on"
    command = inside.entering(["/bin/sh", "-c", script], PurePath("/"), None)
    record = tmp_path / "record.jsonl"
    variables = {"TRIMTAB_FALLBACK": "strict", "TRIMTAB_FALLBACK_RECORD": str(record)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("", 70)
    assert paths_in(record) == {"srv/lost"}


@AS_ROOT
@pytest.mark.parametrize(
    "words",
    [
        "cat /srv/text; cat /srv/text; cat /srv/leads; cat /srv/deep/inner; cat /srv/nothing",
        "stat /srv/looked; access /srv/looked; lstat /srv/way; readlink /srv/way; ls /srv",
        "stat /srv/deep; ls /srv/deep; cat /srv/secret; stat /srv/secret; access /srv/secret",
        "write /srv/text; append /srv/text; unlink /srv/text; cat /srv/text; mkdir /srv/deep",
        "many /srv/many; cat /srv/many/3; hostile",
    ],
)
def test_where_the_root_may_not_be_written(roots: tuple[Path, Path], words: str) -> None:
    """What came back elsewhere is opened for the program. It is the user's own there."""
    nobody = User("nobody", 65534, 65534, (), "/")
    each = words.split("; ")
    expected = run(roots[0], *each, user=nobody)
    found = run(roots[1], *each, before=[f"/{INIT}"], user=nobody)
    assert found.stdout.replace(" 65534:65534 ", " 0:0 ") == expected.stdout
    assert (found.stderr, found.returncode) == (expected.stderr, expected.returncode)


@AS_ROOT
def test_what_is_not_found_elsewhere_is_said(roots: tuple[Path, Path]) -> None:
    nobody = User("nobody", 65534, 65534, (), "/")
    found = run(roots[1], "cd /srv/deep", before=[f"/{INIT}"], user=nobody)
    assert found.stdout == "cd /srv/deep ENOENT\n"
    assert "srv/deep: was removed, and came back in /tmp/trimtab-cache-65534" in found.stderr


@pytest.mark.parametrize("by_init", [False, True])
def test_an_original_that_is_not_seen_in_the_root_is_named(
    roots: tuple[Path, Path], tmp_path: Path, by_init: bool
) -> None:
    """By the first program that loads the library, or by the one that serves all others."""
    root, slim = roots[0], tmp_path / "slim"
    subprocess.run(["cp", "-a", roots[1], slim], check=True)
    tree = root_tree(root)
    add_file_fallback(slim, root, tree, REMOVED, Source(Fallback.ORIGINAL))
    identity = identity_of(root, tree, [path[1:] for path in REMOVED])
    (slim / IDENTITY_FILE).write_bytes(identity_bytes(identity))
    command = [f"/{INIT}"] * by_init + ["/bin/sh", "-c", "cat /srv/kept/stays; cat /srv/kept/stays"]
    done = subprocess.run(
        RootFileSystem(slim).entering(command, PurePath("/"), None),
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "kept/stays\n" * 2)
    [said] = done.stderr.splitlines()
    assert said.startswith(f"trimtab: the original environment {root.resolve()}, on which")
    assert "is missing or cannot be reached" in said
