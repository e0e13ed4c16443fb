"""`trimtab` many times, as for mistakes: each a process of its own, forked once all is imported."""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

FORKS = """
import json, os, sys, tempfile, traceback
import optuna, scipy.stats, trimtab.config.layers
from trimtab.cli.main import main
from trimtab.cli.verbs import command_line

command_line()

def as_child(folder, words, environment, files):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, file in zip((0, 1, 2), (open(os.devnull), *files)):
        os.dup2(file.fileno(), number)
    sys.argv = ["trimtab", *words]
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if not child:
            as_child(*json.loads(line), (out, errors))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0), errors.seek(0)
        print(json.dumps([code, out.read(), errors.read()]), flush=True)
"""


class Command(Protocol):
    """Runs `trimtab` with some words in a folder."""

    def __call__(self, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]: ...


@contextmanager
def many_commands() -> Iterator[Command]:
    """Import what the command line imports, which takes longer than a mistake, once for all."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        to, of = process.stdin, process.stdout

        def run(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
            given = [str(folder), [str(word) for word in words], dict(os.environ)]
            print(json.dumps(given), file=to, flush=True)
            return subprocess.CompletedProcess(words, *json.loads(of.readline()))

        yield run
        to.close()


@cache
def _kept() -> Command:
    manager = many_commands()
    atexit.register(manager.__exit__, None, None, None)
    return manager.__enter__()


def trimtab(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `trimtab` in `folder`, forked from a process that all tests of this one share."""
    return _kept()(folder, *words)
