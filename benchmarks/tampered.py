"""Every field of every document of a real workspace damaged, and the commands that read it run.

A small Python environment is debloated; then each document is damaged in every way that
`damage.py` knows. What reading refuses is counted by the line it gives; with what reading accepts
the steps that use the document run, each in a process of its own with a limit of time and memory.
Nothing but the workspace may change: a folder beside it and the original environment are compared,
file by file with modes, after every step.

    python benchmarks/tampered.py [--every N]     N: one in N of the damages that are accepted
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import common
from damage import Damage, damages

from trimtab.cli import workspace
from trimtab.cli.documents import TracedProgram
from trimtab.cli.program_options import ProgramOptions
from trimtab.cli.single_steps.learning import SlimFolder
from trimtab.cli.summary import summary_of
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, Remove, Share
from trimtab.config.stages import DebloatStage, load
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.registry import target_at
from trimtab.errors import TrimtabError, escape_control_characters
from trimtab.files import read_json, read_limited
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.document import Document
from trimtab.records.library_spans import LibrarySpans
from trimtab.records.manifest import Manifest
from trimtab.records.misses.learned import LearnedCode
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.misses.settling import Settling
from trimtab.records.usage import Usage
from trimtab.records.used import ByteCodeRead, UsedCodeByLibrary
from trimtab.records.verdict import Verdict

PROGRAM = "import markupsafe, json; print(json.dumps(str(markupsafe.escape('<b>'))))\n"
LIMIT_S, LIMIT_BYTES = 20, 4 << 30
ENDED_WELL, REFUSED = "accepted", "refused"


@dataclass(frozen=True)
class Tampered:
    """A file of the workspace, how it is read, and the steps that use it."""

    name: str
    read: Callable[[Path], object]
    steps: tuple[Callable[[Path], object], ...]


def nothing(*_: object) -> None:
    """What progress is told to."""


def locate(folder: Path) -> object:
    return workspace.locate(folder, Debloat(name="x", remove=Remove.CODE), [], nothing)


def build(folder: Path) -> object:
    manifest = Manifest.read(folder / "manifest.json")
    target = target_at(manifest.environment)
    return target.build(folder, Share.COPY, Source(Fallback.PACKED), folder / "out/env")


def again(folder: Path) -> object:
    stage = load(read_limited(folder / "stage.json", 1 << 24), DebloatStage)
    return debloat_target(stage, [folder / "usage.json"], folder)


def verify(folder: Path) -> object:
    return workspace.verify(folder, 1)


def learn(folder: Path) -> object:
    return SlimFolder(folder).learn_from_record(folder / "fallback.jsonl")


def reconstruct(folder: Path) -> object:
    [spans] = (folder / "spans").iterdir()
    return workspace.reconstruct(spans, folder / "out", Mode.ZERO)


def summary(folder: Path) -> object:
    return summary_of(folder, Settling.read(folder / "settling.json"))


def stage_in(path: Path) -> object:
    return load(read_limited(path, 1 << 24), DebloatStage, f"{path}")


def documents(folder: Path) -> list[Tampered]:
    [spans] = (folder / "spans").iterdir()

    def of(name: str, kind: type[Document], *steps: Callable[[Path], object]) -> Tampered:
        return Tampered(name, kind.read, steps)

    return [
        of("usage.json", Usage, locate, again),
        of("workload.json", TracedProgram, locate),
        of("manifest.json", Manifest, build, summary),
        of(f"spans/{spans.name}", LibrarySpans, reconstruct, build),
        of("settling.json", Settling, summary, learn),
        of("learned.json", LearnedCode, again),
        of("environment.json", BuiltEnvironment, summary, verify),
        of("used.json", UsedCodeByLibrary),
        of("byte_code.json", ByteCodeRead, build),
        of("verify.json", Verdict),
        Tampered("stage.json", stage_in, (learn,)),
        Tampered("fallback.jsonl", read_removed_calls, (learn,)),
    ]


def prepare(home: Path) -> Path:
    """Make the environment, the workspace and what must not change; return the workspace."""
    import markupsafe

    original, folder = home / "original", home / "workspace"
    venv.create(original, symlinks=True)
    packages = next((original / "lib").glob("python*/site-packages"))
    shutil.copytree(Path(markupsafe.__file__).parent, packages / "markupsafe")
    (home / "program.py").write_text(PROGRAM)
    (home / "sentinel").mkdir()
    (home / "sentinel/victim").write_text("untouched")
    os.chdir(home)
    command = [str(original / "bin/python"), str(home / "program.py")]
    workspace.trace(folder, command, ProgramOptions(), 1)
    workspace.debloat(folder, Debloat(name="x", remove=Remove.CODE), [], 1, nothing, nothing)
    workspace.verify(folder, 1)
    [name] = Manifest.read(folder / "manifest.json").files
    shutil.copytree(folder / "env/lib", folder / "libraries/lib", symlinks=True)
    line = {"pid": 1, "time_s": 1.5, "library": name, "address": 4096, "function": "f"}
    (folder / "fallback.jsonl").write_text(json.dumps(line) + "\n")
    SlimFolder(folder).learn_from_record(folder / "fallback.jsonl")
    return folder


def fingerprint(folder: Path) -> dict[str, tuple[int, str]]:
    """Mode and content of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path)] = (status.st_mode, hashlib.sha256(content).hexdigest())
    return found


def rights_given(folder: Path) -> list[str]:
    """Files with rights that nobody gave."""
    bad = stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH
    paths = [path for path in folder.rglob("*") if not path.is_symlink()]
    return [str(path) for path in paths if path.stat().st_mode & bad]


def outcome(step: Callable[[], object]) -> tuple[str, str]:
    """Run a step in a child; return accepted, refused, or what should not be, and the message."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.close(read_end)
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 1), os.dup2(silent, 2)
        try:
            step()
            said = [ENDED_WELL, ""]
        except TrimtabError as error:
            said = [REFUSED, str(error)]
        except OSError as error:
            said = [REFUSED if error.filename else "traceback", repr(error)]
        except BaseException as error:
            said = ["traceback", f"{type(error).__name__}: {error}"]
        os.write(write_end, json.dumps(said)[:60_000].encode())
        os._exit(0)
    os.close(write_end)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.alarm(3 * LIMIT_S)
    with os.fdopen(read_end, "rb") as pipe:
        text = pipe.read()
    signal.alarm(0)
    os.waitpid(child, 0)
    if not text:
        return "hang or crash", ""
    kind, message = json.loads(text)
    return kind, message


def cases(folder: Path, tampered: Tampered) -> Iterator[Damage]:
    document = (
        json.loads((folder / tampered.name).read_text().splitlines()[0])
        if (tampered.name.endswith("jsonl"))
        else read_json(folder / tampered.name)
    )
    for damage in damages(document):
        behind = b"\n" if tampered.name.endswith("jsonl") else b""
        yield Damage(damage.field, damage.kind, damage.content + behind, damage.never)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    home = Path(tempfile.mkdtemp(prefix="trimtab-tampered-"))
    folder = prepare(home)
    kept = home / "kept"
    shutil.copytree(folder, kept, symlinks=True)
    before = {place: fingerprint(home / place) for place in ("original", "sentinel")}
    figures: dict[str, dict[str, int]] = {}
    wrong: list[list[str]] = []
    begun_s, accepted_so_far = time.perf_counter(), 0
    for tampered in documents(folder):
        counts: Counter[str] = Counter()
        path = folder / tampered.name
        for damage in cases(folder, tampered):
            path.write_bytes(damage.content)
            try:
                tampered.read(path)
                kind, message = ENDED_WELL, ""
            except TrimtabError as error:
                kind, message = REFUSED, str(error)
            except Exception as error:
                kind, message = "traceback", repr(error)
            counts[f"{kind} when read"] += 1
            where = [tampered.name, damage.field, damage.kind]
            clear = kind != REFUSED or (
                str(path) in message and "\n" not in escape_control_characters(message)
            )
            if kind == "traceback" or not clear or (damage.never and kind == ENDED_WELL):
                wrong.append([*where, "read", message[:300]])
            accepted_so_far += kind == ENDED_WELL
            for step in (
                tampered.steps if kind == ENDED_WELL and accepted_so_far % every == 0 else ()
            ):
                kind, message = outcome(lambda step=step: step(folder))
                counts[f"{kind} by a step"] += 1
                now = {place: fingerprint(home / place) for place in before}
                if kind not in (ENDED_WELL, REFUSED) or (kind == REFUSED and "\n" in message):
                    wrong.append([*where, step.__name__, message[:300]])
                if now != before or rights_given(folder):
                    wrong.append([*where, step.__name__, "written outside, or rights given"])
                shutil.rmtree(folder)
                shutil.copytree(kept, folder, symlinks=True)
                path.write_bytes(damage.content)
        shutil.rmtree(folder)
        shutil.copytree(kept, folder, symlinks=True)
        figures[tampered.name.split("/")[0]] = dict(counts)
        print(tampered.name, dict(counts), len(wrong), file=sys.stderr, flush=True)
    total = Counter[str]()
    for counted in figures.values():
        total.update(counted)
    common.save(
        "tampered",
        {
            "documents": figures,
            "total": dict(total),
            "wrong": wrong,
            "wall_s": time.perf_counter() - begun_s,
        },
    )
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
