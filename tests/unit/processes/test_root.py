"""Programs in a root: what they see, what they leave, and how they end, as root and as nobody."""

import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

import pytest
from machine_root import root_of_programs

from trimtab.config.groups.output import Output
from trimtab.config.groups.workload import Marks
from trimtab.errors import UserError
from trimtab.native import native_path
from trimtab.processes.as_user import User
from trimtab.processes.launch import start_process
from trimtab.processes.program import Driver, Program
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import with_files_followed
from trimtab.profiling.runs.run import measure_run

PROGRAMS = ["sh", "cat", "id", "ls", "mkdir", "mv", "rm", "sleep", "stat", "touch", "head"]
NOBODY = 65534


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that anybody may get to, with a root in it."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        root_of_programs(place / "root", PROGRAMS)
        (place / "root/data").mkdir()
        (place / "root/data/old").write_text("old\n")
        try:
            sh(RootFileSystem(place / "root"), ":")
        except UserError as error:
            pytest.skip(f"no root can be entered here: {error}")
        yield place


def program(
    root: RootFileSystem, *command: str, user: User | None = None, **changes: object
) -> Program:
    variables = {"PATH": "/usr/bin:/bin"}
    return Program(command, Path("/"), variables, 60.0, root=root, user=user, **changes)  # type: ignore[arg-type]


def sh(root: RootFileSystem, script: str, user: User | None = None) -> str:
    """Return what a script writes in `root`."""
    process = start_process(
        program(root, "sh", "-ec", script, user=user), subprocess.PIPE, subprocess.STDOUT
    )
    out, _ = process.communicate()
    assert process.returncode == 0, out
    return out.decode()


def in_root(*words: str, user: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Run the program that enters a root by itself."""
    as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    return subprocess.run(
        [str(native_path("trimtab-in-root")), *words],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        **as_user,  # type: ignore[call-overload]
    )


def everything(folder: Path) -> dict[str, tuple[int, ...]]:
    """All that tells whether a folder was changed; times of access are not looked at."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        found[str(path)] = (status.st_ino, status.st_mode, status.st_ctime_ns, status.st_size)
    return found


CHANGES = (
    "touch /new /data/new; mkdir /made; rm /data/old; mv /data /moved; rm /etc/passwd;"
    " echo x > /tmp/x; cat /tmp/x; ls /moved"
)


def test_what_is_written_is_gone_and_never_in_the_folder(place: Path) -> None:
    before, mounts = everything(place / "root"), Path("/proc/self/mountinfo").read_text()
    assert sh(RootFileSystem(place / "root"), CHANGES) == "x\nnew\n"
    assert sh(RootFileSystem(place / "root"), CHANGES) == "x\nnew\n"  # nothing is left of the first
    assert everything(place / "root") == before
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert os.listdir(place) == ["root"]


def test_binds_are_what_is_outside_by_every_name(place: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "one").write_text("1\n")
    root = RootFileSystem(place / "root").binding(tmp_path / "link", tmp_path / "one")
    script = f"echo 2 > {tmp_path}/real/two; cat {tmp_path}/link/two {tmp_path}/one"
    assert sh(root, f"{script}; echo 3 >> {tmp_path}/one; ls {tmp_path}") == (
        "2\n1\nlink\none\nreal\n"
    )
    assert (tmp_path / "real/two").read_text() == "2\n"
    assert (tmp_path / "one").read_text() == "1\n3\n"
    assert not (place / "root" / tmp_path.relative_to("/")).exists()


def test_nobody_writes_to_what_is_only_seen(place: Path, tmp_path: Path) -> None:
    (tmp_path / "original/inner").mkdir(parents=True)
    (tmp_path / "original/file").write_text("as it was\n")
    (tmp_path / "original/mine").mkdir()
    root = RootFileSystem(place / "root").seeing(tmp_path / "original")
    changes = (
        f"cd {tmp_path}/original; cat file; echo x > file; rm -f file; touch inner/new;"
        " mv inner other; mkdir new; chmod 777 file; echo y > mine/new; cat mine/new"
    )
    before = everything(tmp_path / "original")
    assert sh(root, f"set +e; ({changes}) 2> /dev/null; true") == "as it was\n"
    assert everything(tmp_path / "original") == before
    both = root.binding(tmp_path / "original/mine")
    assert sh(both, f"set +e; ({changes}) 2> /dev/null") == "as it was\ny\n"
    assert (tmp_path / "original/file").read_text() == "as it was\n"
    assert root.binding(tmp_path / "original").seen == ()  # who may write may


def test_a_bind_below_a_link_of_the_root_stays_inside(place: Path, tmp_path: Path) -> None:
    root_of_programs(tmp_path / "root", ["sh", "cat"])
    escape, data = tmp_path / "escape", tmp_path / "data"
    escape.mkdir(), data.mkdir()
    (data / "x").write_text("bound\n")
    top = tmp_path / "root" / tmp_path.relative_to("/")
    top.parent.mkdir(parents=True)
    top.symlink_to("../" * 30 + "etc")  # out of the folder, if it were followed outside
    root = RootFileSystem(tmp_path / "root", (data,))
    assert sh(root, f"cat {data}/x /etc/data/x") == "bound\nbound\n"
    for path in (data / "x", Path("/etc/data/x")):
        assert root.find(path) == data / "x" and root.is_bound(path)
    assert root.outside(PurePath("/etc/data/new")) == data / "new"
    assert not root.is_bound(PurePath("/etc/data2"))
    assert not Path("/etc/data").exists() and not list(escape.iterdir())


def test_it_is_the_process_that_was_started(place: Path) -> None:
    process = start_process(
        program(RootFileSystem(place / "root"), "cat", "/proc/self/stat"), -1, -1
    )
    out, _ = process.communicate()
    number, _, _, parent, group, session = out.decode().split()[:6]
    assert int(number) == int(group) == int(session) == process.pid
    assert int(parent) == os.getpid()


def test_it_ends_as_the_program_does(place: Path) -> None:
    process = start_process(program(RootFileSystem(place / "root"), "sleep", "60"), -1, -1)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM
    process.communicate()
    process = start_process(program(RootFileSystem(place / "root"), "sh", "-c", "exit 7"), -1, -1)
    process.communicate()
    assert process.returncode == 7


def test_no_descriptor_of_ours_is_open_inside(place: Path) -> None:
    process = start_process(program(RootFileSystem(place / "root"), "ls", "/proc/self/fd"), -1, -1)
    assert process.communicate()[0].split() == [b"0", b"1", b"2", b"3"]  # 3: what is listed


def test_devices_and_terminals_without_the_disks(place: Path) -> None:
    script = "head -c 4 /dev/zero | cat > /dev/null; echo out > /dev/stderr; echo x > /dev/shm/x"
    assert sh(RootFileSystem(place / "root"), f"{script}; ls /dev").split() == [
        "out", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
        "tty", "urandom", "zero",
    ]  # fmt: skip
    assert not Path("/dev/shm/x").exists()


def test_another_user_with_groups(place: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    user = User("u", 1234, 2345, (3456, 4567), "/")
    # Folders above are its own inside: that nobody else may enter ours outside does not matter.
    (tmp_path / "deep").mkdir(mode=0o700)
    mine = tmp_path / "deep/mine"
    mine.mkdir()
    given = program(RootFileSystem(place / "root"), "sh", "-c", f"id; echo x > {mine}/x", user=user)
    process = start_process(given.with_access_to(mine), -1, -1)
    out, _ = process.communicate()
    assert out == b"uid=1234 gid=2345 groups=2345,3456,4567\n"
    status = (mine / "x").stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)


@pytest.mark.parametrize(
    ("command", "workdir", "said"),
    [
        (["absent"], "/", "command: absent: No such file"),
        (["/etc/passwd"], "/", "command: /etc/passwd: Permission denied"),
        (["/script"], "/", "command: /script: the interpreter that it names was not found"),
        (["sh"], "/absent", "workdir: /absent: No such file"),
        (["sh"], "/etc/passwd", "workdir: /etc/passwd: Not a directory"),
    ],
)
def test_what_cannot_be_used_is_an_error_at_the_start(
    place: Path, command: list[str], workdir: str, said: str
) -> None:
    script = place / "root/script"
    script.write_text("#!/absent/interpreter\n")
    script.chmod(0o755)
    wrong = Program(
        tuple(command), Path(workdir), {"PATH": "/bin"}, 1.0, root=RootFileSystem(place / "root")
    )
    with pytest.raises(UserError) as raised:
        start_process(wrong, subprocess.PIPE, subprocess.PIPE)
    script.unlink()
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_what_cannot_be_entered_is_named(place: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a folder by its absolute path"):
        RootFileSystem(place / "absent")
    with pytest.raises(UserError, match="cannot take /absent/file into it: No such file"):
        sh(RootFileSystem(place / "root", (Path("/absent/file"),)), ":")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").mkdir()
    blocked = RootFileSystem(place / "root", (tmp_path / "etc/passwd",))
    file = place / "root" / tmp_path.relative_to("/")
    file.parent.mkdir(parents=True)
    file.touch()
    with pytest.raises(UserError, match=r"cannot make the folder .* in it, .* a file of it"):
        sh(blocked, ":")
    file.unlink()


def test_exit_codes_are_those_of_shells(place: Path) -> None:
    root = str(place / "root")
    for words, code in (
        ((root, "--", "sh", "-c", "exit 3"), 3),
        ((root, "--", "absent"), 127),
        ((root, "--", "/etc"), 126),
        ((f"{root}/absent", "--", "sh"), 125),
        (("--user", "1", root, "--", "sh"), 125),
        (("--bind", "relative", root, "--", "sh"), 125),
        ((root, "sh"), 125),
        ((), 125),
    ):
        ended = in_root(*words)
        assert ended.returncode == code
        assert ended.stderr.count("\n") == (code != 3)


def test_who_is_not_root_needs_no_privilege(place: Path) -> None:
    """In a user namespace, as its own user, as root, and as a user that the machine lacks."""
    with tempfile.TemporaryDirectory() as name:
        own = Path(name)
        own.chmod(0o755)
        root_of_programs(own / "root", PROGRAMS)
        (own / "root/data").mkdir()
        (own / "root/data/old").touch()
        (own / "out").mkdir()
        user = None
        if os.geteuid() == 0:
            user = NOBODY
            for path in [own, *own.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        words = ["--bind", str(own / "out"), str(own / "root"), "--", "sh", "-ec"]
        ended = in_root(*words, "id", user=user)
        if "namespace" in ended.stderr:
            pytest.skip(f"who is not root may make no user namespace here: {ended.stderr}")
        before = everything(own / "root")
        number = NOBODY if user else os.geteuid()
        assert ended.stdout.startswith(f"uid={number}")
        for given, shown in (("0:0", "uid=0(root) gid=0"), ("33:44", "uid=33 gid=44")):
            script = f"id; {CHANGES}; touch {own}/out/{given}; cat /dev/null"
            ended = in_root("--user", given, *words, script, user=user)
            assert ended.returncode == 0, ended.stderr
            assert ended.stdout.startswith(shown)
            assert (own / "out" / given).stat().st_uid == number
        assert everything(own / "root") == before


def test_a_measured_run_with_marks_and_a_file(place: Path, tmp_path: Path) -> None:
    script = f"echo epoch 1; echo epoch 2; echo done > {tmp_path}/out/result"
    (tmp_path / "out").mkdir()
    given = program(
        RootFileSystem(place / "root"),
        *("sh", "-c", script),
        marks=Marks(epoch="epoch"),
        output=Output("digest_file", f"{tmp_path}/out/result"),  # type: ignore[arg-type]
    )
    given = given.with_access_to(tmp_path / "out")
    run = measure_run(
        given, condition="c", repeat=0, hardware=NO_POWER_MODEL, log_dir=tmp_path / "logs"
    )
    assert run.failure is None and len(run.epochs) == 2
    assert run.output is not None and run.output.read_text() == "done\n"
    lost = program(RootFileSystem(place / "root"), "sh", output=Output("digest_file", "tmp/result"))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"output\.path: /tmp/result is in the root"):
        _ = lost.output_file


def test_a_server_is_driven_from_outside_and_stopped(place: Path, tmp_path: Path) -> None:
    script = "trap 'echo stopped; exit 5' TERM; echo ready; while :; do sleep 0.01; done"
    (place / "root/only/inside").mkdir(parents=True, exist_ok=True)
    driver = Driver(("pwd",), {"PATH": os.defpath}, "ready", None, workdir=tmp_path)
    server = replace(
        program(
            RootFileSystem(place / "root"),
            "sh",
            "-c",
            script,
            driver=driver,
            ends_with=frozenset({5}),
        ),
        workdir=Path("/only/inside"),
    )
    traced = with_files_followed(server, tmp_path / "records/files.jsonl")
    for condition, each in (("plain", server), ("traced", traced)):
        run = measure_run(
            each, condition=condition, repeat=0, hardware=NO_POWER_MODEL, log_dir=tmp_path / "logs"
        )
        assert run.failure is None and run.stdout.read_text() == "ready\nstopped\n"
        assert run.output is not None and run.output.read_text() == f"{tmp_path}\n"


def test_many_at_once_do_not_see_each_other(place: Path) -> None:
    root = RootFileSystem(place / "root")
    script = "echo $$ > /mine; read line < /data/old; cat /mine; ls /dev/shm; echo x > /dev/shm/x"
    started = [start_process(program(root, "sh", "-c", script), -1, -2) for _ in range(20)]
    for process in started:
        assert process.communicate()[0].decode() == f"{process.pid}\n"


def test_links_are_followed_as_for_programs_inside(tmp_path: Path) -> None:
    top = tmp_path / "root"
    for folder in ("usr/bin", "etc", "a/b"):
        (top / folder).mkdir(parents=True)
    tool = top / "usr/bin/tool"
    tool.write_text("")
    for link, target in (
        ("bin", "usr/bin"),
        ("usr/bin/absolute", "/bin/tool"),
        ("a/b/up", "../../../../../bin/absolute"),  # past the top is the top
        ("loop", "/loop"),
        ("nothing", "/absent"),
        ("outside", str(tmp_path / "data")),
        ("a/above", ".."),
    ):
        (top / link).symlink_to(target)
    root = RootFileSystem(top)
    for path in ("/bin/tool", "/bin/absolute", "/a/b/up", "/../a/../bin/tool", "/a/above/a/b/up"):
        assert root.find(PurePath(path)) == tool
    for path in ("/loop", "/nothing", "/outside", "/bin/tool/x", "/absent/../bin/tool"):
        assert root.find(PurePath(path)) is None
    assert root.find(PurePath("/")) == top
    assert root.which("tool", "/etc:/bin", PurePath("/")) is None  # nobody may execute it
    tool.chmod(stat.S_IRWXU)
    assert root.which("tool", "/etc:/bin", PurePath("/")) == tool
    assert root.which("b/up", "", PurePath("/a")) == tool
    assert root.inside(tool) == PurePath("/usr/bin/tool")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x").symlink_to("/bin/tool")
    assert root.binding(tmp_path / "data").find(PurePath("/outside/x")) == tool


def test_no_bind_may_hold_the_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to("root")
    for folder in ("root", "link"):
        for bind in (tmp_path, tmp_path / folder, tmp_path / "root"):
            with pytest.raises(UserError, match="holds the root"):
                RootFileSystem(tmp_path / folder).binding(bind)
    assert RootFileSystem(tmp_path / "root").binding(tmp_path / "root/below")
