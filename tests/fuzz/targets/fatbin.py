"""GPU code in a library, which is decided on and rewritten."""

from pathlib import Path

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.locate import left_as_it_is
from trimtab.binaries.rewriting.read_back import read_back
from trimtab.debloating.gpu.elements import UsedGpuCode
from trimtab.debloating.gpu.gpu_code import GpuScope, locate_gpu_code
from trimtab.errors import UserError

ERRORS = UserError
_HOLDER = (Path(__file__).parents[1] / "seeds/elf/plain").read_bytes()[1:]


def run(data: bytes, folder: Path) -> None:
    choice = data[0] if data else 0
    library, slim = folder / "gpu.so", folder / "slim.so"
    library.write_bytes(_HOLDER + bytes(-len(_HOLDER) % 64) + data[1:])
    elf = read_elf(library)
    use = UsedGpuCode.of([], {90}, linked=False) if choice & 1 else None
    scope = GpuScope((90,), use, prune=bool(choice & 2), put_back=bool(choice & 4))
    spans, gpu = locate_gpu_code(elf, left_as_it_is(elf, "only its GPU code counts"), scope)
    rewrite(elf, spans, "compact", slim, 4096, patches=gpu.patches)
    read_back(slim, elf, spans, gpu.patches)
