"""Files that come back in a Python environment, from a server, and where nothing may be written."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from returning import (
    TEXT,
    forbid_writing,
    make_original,
    make_slim,
    missed,
    python,
    run,
    without_privileges,
)

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import prefix_tree
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.records.misses.removed_files import read_missed_files
from trimtab.records.used import ByteCodeRead

_NOBODY = 65534


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("original") / "env")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        for inner, _, _ in os.walk(folder):
            Path(inner).chmod(0o755)


@pytest.fixture
def unwritable(original: Path, open_folder: Path) -> Path:
    """A slim environment that stands alone and that its user may not write."""
    slim = make_slim(original, open_folder / "slim", source=Source(Fallback.PACKED))
    forbid_writing(slim)
    return slim


def run_in(slim: Path, cache: Path, *command: str | Path, **options: object) -> str:
    """Run a command for which the environment is read-only; what it says."""
    cache.mkdir(exist_ok=True)
    if options.get("user"):
        os.chown(cache, _NOBODY, _NOBODY)
    variables = {"TRIMTAB_STORE_CACHE": str(cache), "LC_ALL": "C"}
    done = run(slim, *command, variables=variables, cwd=slim, **options)  # type: ignore[arg-type]
    return done.stdout + done.stderr


def test_an_environment_that_may_not_be_written(unwritable: Path, open_folder: Path) -> None:
    code = """
import ctypes, os, subprocess
print(open("data/empty").read(), open("data/deep/text.txt").read(), os.readlink("data/way"))
print(sorted(os.listdir()), sorted(os.listdir("data")), open("leads").read())
folder = os.open("data", os.O_DIRECTORY)
print(os.stat("way/text.txt", dir_fd=folder).st_size, os.path.realpath("data/way")[-4:])
os.chdir("data/deep"); print(os.path.exists("text.txt"), open("../way/../../stays/kept.txt").read())
os.chdir(f"/proc/self/fd/{folder}"); os.chdir("..")
"""
    before = sorted(unwritable.rglob("*"))
    command = (sys.executable, "-I", "-c", code)
    cache = open_folder / "cache"
    found = run_in(unwritable, cache, *command, preexec_fn=without_privileges)
    assert found.split("\n")[0] == " deep"
    assert "['bin', 'data', 'leads', 'lib', 'old.conf', 'stays', 'trimtab']" in found
    assert "['deep', 'empty', 'same', 'text.txt', 'way'] deep" in found
    assert "5 deep\nTrue kept" in found
    assert sorted(unwritable.rglob("*")) == before
    script = ("sh", "-c", "bin/script x")
    assert "script x" in run_in(unwritable, cache, *script, preexec_fn=without_privileges)


FWALK = """
import os
for top in "data", "stays":
    for folder, folders, files, _ in os.fwalk(top):
        print(folder, sorted(folders), sorted(files))
"""
WALKS = {
    "find": "find . -path ./trimtab -prune -o -name '*.*' -printf '%p %y %s %m %l\\n'",
    "find by name": "find $PWD/data $PWD/stays -name '*.txt' -type f",
    "ls": "ls -R data stays; ls data/deep/.. ./data/../stays/../data/./..//data/way/..",
    "du": "du -al --apparent-size --exclude=trimtab . | grep -v '\\.$'",
    "tar": "tar --create --sort=name data stays 2>&- | tar --list --verbose",
    "cp": "cp -a data $TMPDIR/copy; cd $TMPDIR/copy; find . -type f; rm -r ../copy; ls $TMPDIR",
    "chdir": "cd data/deep; cd -P ..; ls; cat text.txt | wc; cd -P ../stays; ls; cat ../old.conf",
    "child": "cd data/deep; sh -c 'ls ..; cat ../text.txt | wc; test -d ../../stays; echo $?'",
    "both paths": "cd data/deep; ln ../text.txt ../../stays/new; echo $?; ls ../../stays",
    "nothing there": "cd data/deep; cat ../none ../../none/none; mkdir ../none/new; ls ..",
    "too long": "cd data/deep; cat ..$(printf '/%0250d' $(seq 16)); ls ..",
    "fwalk": f"python3 -c '{FWALK}'; seq 2",
}


@pytest.mark.parametrize("script", WALKS.values(), ids=WALKS)
def test_who_walks_a_tree_finds_all_of_it(
    script: str, unwritable: Path, original: Path, open_folder: Path
) -> None:
    (open_folder / "work").mkdir()
    whole = open_folder / "whole"
    subprocess.run(["cp", "-a", original, whole], check=True)
    forbid_writing(whole / "stays")
    whole.chmod(0o555)

    def said(top: Path) -> list[str]:
        there = open_folder / "there"
        there.symlink_to(top)
        script_there = f"export TMPDIR={open_folder}/work; cd -P {there}; {script}"
        command = ("sh", "-c", script_there.replace("$PWD", str(there)))
        found = run_in(
            unwritable, open_folder / "cache", *command, preexec_fn=without_privileges, status=None
        )
        there.unlink()
        return sorted(found.replace(str(top), "TOP").splitlines())

    expected = said(whole)
    assert said(unwritable) == expected and len(expected) > 2


@pytest.mark.parametrize("command", ["find . -type f", "du -a --apparent-size", "ls -R"])
def test_who_goes_far_down_finds_the_way_up(command: str, open_folder: Path) -> None:
    """By `..`, as fts(3) holds few folders open, and it has to be the folder that it came from."""
    original, slim = open_folder / "original", open_folder / "slim"
    below = "stays/gone/1/2/3/4/5/6"
    (original / below).mkdir(parents=True)
    for folder in ("stays", "stays/gone", "stays/gone/1/2", below):
        (original / folder / "file").write_text(folder)
    tree = prefix_tree(original)
    removed = [path for path in tree.nodes if path.startswith("/stays/gone")]
    make_slim(original, slim, removed, Source(Fallback.PACKED))
    forbid_writing(slim)
    expected = subprocess.check_output(command.split(), text=True, cwd=original / "stays")
    found = run_in(
        slim, open_folder / "cache", "sh", "-c", f"cd stays; {command}",
        preexec_fn=without_privileges,
    )  # fmt: skip
    assert sorted(found.splitlines()) == sorted(expected.splitlines())


def test_what_another_user_may_not_do_is_refused(unwritable: Path, open_folder: Path) -> None:
    if os.geteuid():
        pytest.skip("needs a second user")
    script = """
cat data/text.txt; rm -f old.conf; echo more >> old.conf; mkdir data; mv old.conf new; cat nothing
cat old.conf; test -r data/text.txt; echo $?
"""
    options = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    found = run_in(unwritable, open_folder / "cache", "sh", "-c", script, **options)
    denied = found.count("Permission denied")
    assert (denied, found.count("File exists"), found.count("No such file")) == (4, 1, 1), found
    assert found.startswith("value=1\n1\n")


def test_a_cache_of_somebody_else_is_refused(unwritable: Path, open_folder: Path) -> None:
    if os.geteuid():
        pytest.skip("needs a second user")
    cache = open_folder / "cache"
    options = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    assert run_in(unwritable, cache, "cat", "old.conf", **options) == "value=1\n"
    (place,) = cache.glob("files-*")  # beside the record
    os.chown(place, 0, 0)
    refused = run_in(unwritable, cache, "cat", "old.conf", status=70, **options)
    assert "no folder of this user's own" in refused


def test_from_a_server(original: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    handler = partial(SimpleHTTPRequestHandler, directory=str(store))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        source = Source(Fallback.STORE, store, address)
        slim = make_slim(original, tmp_path / "slim", source=source)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert run(slim, "cat", slim / "data/text.txt").stdout == TEXT
        finally:
            server.shutdown()
            thread.join()
    done = run(slim, "cat", slim / "old.conf", status=70)
    assert address in done.stderr and "cannot be reached" in done.stderr
    variables = {"TRIMTAB_STORE": str(store)}
    assert run(slim, "cat", slim / "old.conf", variables=variables).stdout == "value=1\n"


def test_the_cache_of_somebody_else_gets_nothing_that_is_fetched(
    original: Path, open_folder: Path
) -> None:
    """Anybody may make a link in /tmp by the name that the cache of another user has."""
    if os.geteuid():
        pytest.skip("needs a second user")
    user = 54321
    source = Source(Fallback.STORE, open_folder / "store", "http://127.0.0.1:1/")
    slim = make_slim(original, open_folder / "slim", source=source)
    options = {"user": user, "group": user, "extra_groups": [], "status": 70, "cwd": slim}
    cache, target = Path(f"/tmp/trimtab-cache-{user}"), open_folder / "target"
    target.mkdir()
    target.chmod(0o777)
    cache.symlink_to(target)
    try:
        done = run(slim, "cat", "old.conf", **options)  # type: ignore[arg-type]
    finally:
        cache.unlink()
    assert "no folder of this user's own" in done.stderr
    assert not list(target.iterdir())
    named = open_folder / "named"
    named.mkdir()
    for owner, mode in ((user - 1, 0o755), (user, 0o757)):
        os.chown(named, owner, owner)
        named.chmod(mode)
        variables = {"TRIMTAB_STORE_CACHE": str(named)}
        done = run(slim, "cat", "old.conf", variables=variables, **options)  # type: ignore[arg-type]
        assert "no folder of this user's own" in done.stderr
        assert not list(named.glob("??"))  # folders of objects of the store


def test_python_imports_what_was_removed(tmp_path: Path) -> None:
    """Without a variable that preloads anything, and although Python keeps lists of folders."""
    venv, slim = tmp_path / "venv", tmp_path / "slim"
    command = [sys.executable, "-m", "venv", "--without-pip", venv]
    subprocess.run(command, check=True)
    packages = next(venv.glob("lib/python3*/site-packages"))
    (packages / "big/inner").mkdir(parents=True)
    (packages / "big/__init__.py").write_text("from big.inner import leaf\n")
    (packages / "big/inner/leaf.py").write_text("VALUE = 7\n")
    (packages / "single.py").write_text("VALUE = 8\n")
    (packages / "single-1.dist-info").mkdir()
    (packages / "single-1.dist-info/METADATA").write_text("Name: single\nVersion: 1\n")
    inside = "/" + str(packages.relative_to(venv))
    removed = [
        f"{inside}/{name}"
        for name in ("big", "big/__init__.py", "big/inner", "big/inner/leaf.py", "single.py",
                     "single-1.dist-info", "single-1.dist-info/METADATA")
    ]  # fmt: skip
    shutil.copytree(venv, slim, symlinks=True)
    for name in ("big", "single-1.dist-info"):
        shutil.rmtree(slim / packages.relative_to(venv) / name)
    (slim / packages.relative_to(venv) / "single.py").unlink()
    add_file_fallback(slim, venv, prefix_tree(venv), removed, Source(Fallback.ORIGINAL))
    ByteCodeRead(paths=[]).write(slim / "byte_code.json")
    PythonPrefix(venv).adapt(slim, slim, slim)
    code = """
import importlib.metadata, sys, threading
try: import nothing_of_the_kind
except ImportError: pass
print(importlib.metadata.version("single"))
import single, big
print(single.VALUE + big.leaf.VALUE, big.__file__.startswith(sys.prefix), big.inner.__path__[0])
"""
    found = subprocess.check_output([slim / "bin/python", "-c", code], text=True, env={})
    assert found.split("\n")[:2] == ["1", f"15 True {slim}{inside}/big/inner"]
    assert set(missed(slim)) >= {path[1:] for path in removed}


def test_without_its_index_the_library_does_nothing(original: Path, tmp_path: Path) -> None:
    slim = make_slim(original, tmp_path / "slim")
    library = tmp_path / FILE_FALLBACK_LIBRARY.name
    shutil.copy(slim / FILE_FALLBACK_LIBRARY, library)
    variables = {"LD_PRELOAD": str(library)}
    assert python(slim, "import os; print(os.path.exists('old.conf'))", variables=variables) == (
        "False\n"
    )


def test_a_record_is_kept_where_the_environment_may_not_be_written(
    unwritable: Path, open_folder: Path
) -> None:
    cache = open_folder / "cache"
    run_in(unwritable, cache, "cat", "old.conf", preexec_fn=without_privileges)
    record = cache / "fallback.jsonl"
    assert [miss.path for miss in read_missed_files(record)] == ["old.conf"]
    assert not (unwritable / "trimtab/fallback.jsonl").exists()
