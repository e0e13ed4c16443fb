"""The digests of native/digest, by the processor's own instructions and without these."""

import ctypes
import hashlib
import random
import subprocess
import zlib
from pathlib import Path

import pytest

DIGEST = Path(__file__).parents[2] / "native/digest"
_LONGEST_BYTES = 700


@pytest.fixture(scope="module", params=["by hardware", "in software"])
def digests(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ctypes.CDLL:
    """Without the instructions the processor says that it has none."""
    folder = tmp_path_factory.mktemp("digests")
    for name in ("sha256", "crc32"):
        text = (DIGEST / f"{name}.c").read_text()
        if request.param == "in software":
            text = text.replace("& bit_SHA)", "& 0)").replace("& bit_PCLMUL)", "& 0)")
        (folder / f"{name}.c").write_text(text)
    command = ["gcc", "-O2", "-shared", "-fPIC", f"-I{DIGEST}", "-o", folder / "digests.so"]
    subprocess.run([*command, folder / "sha256.c", folder / "crc32.c"], check=True)
    library = ctypes.CDLL(str(folder / "digests.so"))
    library.crc32.restype = ctypes.c_uint32
    return library


def test_sha256_of_every_length(digests: ctypes.CDLL) -> None:
    data, digest = random.Random(1).randbytes(_LONGEST_BYTES), ctypes.create_string_buffer(32)
    for length in range(_LONGEST_BYTES):
        digests.sha256(data[:length], ctypes.c_size_t(length), digest)
        assert digest.raw == hashlib.sha256(data[:length]).digest()


def test_sha256_of_parts(digests: ctypes.CDLL) -> None:
    """However it is cut, the digest is that of the whole."""
    numbers, digest = random.Random(2), ctypes.create_string_buffer(32)
    for _ in range(200):
        whole, state = hashlib.sha256(), ctypes.create_string_buffer(256)
        digests.sha256_begin(state)
        for _ in range(numbers.randrange(8)):
            part = numbers.randbytes(numbers.choice([0, 1, 55, 63, 64, 65, numbers.randrange(400)]))
            whole.update(part)
            digests.sha256_add(state, part, ctypes.c_size_t(len(part)))
        digests.sha256_end(state, digest)
        assert digest.raw == whole.digest()


def test_crc32_of_every_length(digests: ctypes.CDLL) -> None:
    numbers = random.Random(3)
    for length in range(_LONGEST_BYTES):
        data, before = numbers.randbytes(length), numbers.randrange(1 << 32)
        found = digests.crc32(ctypes.c_uint32(before), data, ctypes.c_size_t(length))
        assert found == zlib.crc32(data, before)
