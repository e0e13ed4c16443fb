"""How shared libraries are debloated: one YAML in `conf/debloat/`."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import about, check_name, check_number, check_one_of

MODES = ("zero", "punch", "compact")
SYMBOLS = ("strip", "keep")
GPU = ("used", "architecture", "keep")
KERNELS = ("keep", "prune")
START_UP_ONLY = ("keep", "remove")
SHARES = ("reflink", "copy", "hardlink")
FALLBACKS = ("original", "packed", "none")


@dataclass
class Debloat:
    """What becomes of the bytes that no profiled workload used."""

    name: str = field(
        default=MISSING, metadata=about("Name of the set of options: the stem of its file.")
    )
    mode: str = field(
        default="compact",
        metadata=about(
            "`zero` (unused bytes are overwritten; the file keeps its size), `punch` (as well, "
            "whole blocks of them become holes of the file system) or `compact` (their pages "
            "leave the file)."
        ),
    )
    symbols: str = field(
        default="strip",
        metadata=about(
            "`strip` or `keep` the symbol and debugging tables that no program needs at run time."
        ),
    )
    gpu: str = field(
        default="used",
        metadata=about(
            "What stays of GPU code: `used` (what the traced runs loaded; all of it where their "
            "kernels were not traced), `architecture` (what a GPU of the hardware can load, used "
            "or not) or `keep` (all)."
        ),
    )
    kernels: str = field(
        default="keep",
        metadata=about(
            "Unused kernels beside used ones in the same module: `keep` or `prune` (their code "
            "becomes zeros, and the module is compressed again)."
        ),
    )
    start_up_only: str = field(
        default="keep",
        metadata=about(
            "Libraries of which nothing but start-up code ran: `keep` that code or `remove` all "
            "code and what only it reads (the library is loaded, but not started)."
        ),
    )
    minimum_hole_bytes: int = field(
        default=8192,
        metadata=about(
            "Shorter runs of unused bytes stay in the file: every hole costs a memory mapping.",
            unit="bytes",
        ),
    )
    share: str = field(
        default="reflink",
        metadata=about(
            "How the slim environment takes over unchanged files: `reflink` (shared blocks, a "
            "copy where the file system has none), `copy` or `hardlink` (a write through one "
            "changes the original too)."
        ),
    )
    fallback: str = field(
        default="original",
        metadata=about(
            "What a call into removed code finds, so that it ends in a Python exception: "
            "`original` (the code in the original environment, which has to stay where it is), "
            "`packed` (the code, carried along in the slim one, as images need it) or `none` (a "
            "crash). With mode `punch` there is none."
        ),
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_one_of("mode", self.mode, MODES)
        check_one_of("symbols", self.symbols, SYMBOLS)
        check_one_of("gpu", self.gpu, GPU)
        check_one_of("kernels", self.kernels, KERNELS)
        check_one_of("start_up_only", self.start_up_only, START_UP_ONLY)
        check_number("minimum_hole_bytes", self.minimum_hole_bytes, minimum=4096)
        check_one_of("share", self.share, SHARES)
        check_one_of("fallback", self.fallback, FALLBACKS)
