"""Squashfs file systems: convert to and from tar archives with squashfs-tools-ng."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from trimtab.errors import UserError
from trimtab.images.compression import Compression
from trimtab.images.errors import DamagedError
from trimtab.images.tar.stream import CHUNK_BYTES

READS, WRITES, SHOWS = "sqfs2tar", "tar2sqfs", "rdsquashfs"
_LONGEST_WORDS = 300


def missing_programs() -> list[str]:
    """Return which of the programs this machine lacks."""
    return [name for name in (READS, WRITES, SHOWS) if shutil.which(name) is None]


def tar_of(image: Path) -> Iterator[bytes]:
    """Yield a tar archive of a squashfs image, with owners and attributes.

    Raises DamagedError if it is damaged or not representable, and UserError if the program is
    missing.
    """
    words = [READS, "--no-skip", "--root-becomes", ".", str(image)]
    with _started(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while chunk := process.stdout.read(CHUNK_BYTES):
            yield chunk


def file_in(image: Path, path: str, most_bytes: int) -> bytes | None:
    """Return the first `most_bytes` of a file of a squashfs image; None if it is missing."""
    try:
        with _started([SHOWS, "--cat", path, str(image)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            return process.stdout.read(most_bytes)
    except DamagedError:
        return None


@contextmanager
def squashed(destination: Path, compression: Compression) -> Iterator[IO[bytes]]:
    """Yield a writer for a tar archive, from which `destination` becomes a squashfs image.

    The same archive gives the same bytes. Raises UserError if the program is missing, and
    DamagedError if it fails, for example on a full disk.
    """
    words = [
        *(WRITES, "--quiet", "--no-skip", "--force", "--compressor", str(compression)),
        *("--num-jobs", str(len(os.sched_getaffinity(0))), str(destination)),
    ]
    # Use the epoch instead of the current time.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    with _started(words, environment, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            yield process.stdin
        except BrokenPipeError:  # the program reports its failure
            if process.wait() == 0:
                raise


@contextmanager
def _started(
    words: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    stdin: int | None = None,
    stdout: int | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program during the block. Raises DamagedError with its message if it fails."""
    if shutil.which(words[0]) is None:
        raise UserError(
            f"{words[0]}: missing, and SIF images are read and written by it: make deps-sif (the"
            " Debian package squashfs-tools-ng)"
        )
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            words, env=environment, stdin=stdin, stdout=stdout, stderr=errors
        )
        try:
            yield process
            _close_pipes(process)
            exit_code = process.wait()
        finally:
            process.kill()  # nothing happens after its end
            _close_pipes(process)
            process.wait()
        if exit_code:
            errors.seek(0)
            said = errors.read(_LONGEST_WORDS).decode(errors="replace").replace(words[-1], "")
            why = " ".join(said.split()) or f"exit code {exit_code}"
            raise DamagedError(f"squashfs: {words[0]} failed: {why}")


def _close_pipes(process: "subprocess.Popen[bytes]") -> None:
    for pipe in filter(None, (process.stdin, process.stdout)):
        with suppress(BrokenPipeError):
            pipe.close()
