"""What protects tasks, and what that costs by its makers and measurers: `conf/enclave/`."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    CountOrNone,
    InvalidValueError,
    Name,
    NotNegative,
    Positive,
    SomeParts,
    Text,
    about,
)


@dataclass(config=CHECKED)
class CostRange:
    """A cost as the range that was found, and where it comes from."""

    low: NotNegative = about("Lowest.")
    high: NotNegative = about("Highest; for one figure the same as `low`.")
    source: Text = about("Source of the figures.")
    typical: NotNegative | None = about("Best estimate; by default halfway.", default=None)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.high < self.low:
            raise InvalidValueError("high", self.high, f"at least low ({self.low:g})")
        if self.typical is not None and not self.low <= self.typical <= self.high:
            expected = f"from low ({self.low:g}) to high ({self.high:g})"
            raise InvalidValueError("typical", self.typical, expected)
        return self


@dataclass(config=CHECKED)
class PageCache:
    """Memory that enclaves have without being paged."""

    usable_mib: Positive = about("Part of it for pages of enclaves.", unit="MiB")
    source: Text = about("Source of the figures.")
    reserved_mib: Positive | None = about(
        "Memory that it takes from the machine; null: unknown.", default=None, unit="MiB"
    )
    page_bytes: Annotated[SomeParts, Field(ge=512)] = about(
        "Bytes loaded at once.", default=4096, unit="B"
    )
    paged: bool = about(
        "Whether larger enclaves are paged, which costs time; else they do not run.",
        default=True,
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.reserved_mib is not None and self.usable_mib > self.reserved_mib:
            expected = f"at most reserved_mib ({self.reserved_mib:g} MiB)"
            raise InvalidValueError("usable_mib", self.usable_mib, expected)
        return self


@dataclass(config=CHECKED)
class ThreadLimit:
    """How many threads can be inside at once."""

    threads: SomeParts = about("Most threads inside at once.")
    source: Text = about("Source of the figure.")


@dataclass(config=CHECKED)
class Enclave:
    """A way to protect tasks; a cost that is left out is none, or not known by any source."""

    group: ClassVar[str] = "enclave"
    name: Name = about("The file's stem.")
    description: str = about("For the report.", default="", report_only=True)
    work_factor: CostRange | None = about(
        "Factor of the work's own run time, at least 1.", default=None
    )
    call_s: CostRange | None = about("A call into the enclave and back.", default=None, unit="s")
    encryption_s_per_byte: CostRange | None = about(
        "Encryption or decryption of inputs and outputs.", default=None, unit="s/B"
    )
    contention_s: CostRange | None = about(
        "Added to the application's time for each call and each other thread inside.",
        default=None,
        unit="s",
    )
    page_fault_s: CostRange | None = about(
        "Loading a page that is not in the page cache.", default=None, unit="s"
    )
    page_cache: PageCache | None = about(
        "Memory of enclaves that is not paged; by default the machine's.",
        default=None,
    )
    thread_limit: ThreadLimit | None = about(
        "Threads inside at once; by default the machine's.", default=None
    )
    gpus: bool = about("Whether it protects code on GPUs.", default=False)

    @model_validator(mode="after")
    def _plausible(self) -> Self:
        if self.work_factor is not None and self.work_factor.low < 1:
            raise InvalidValueError("work_factor.low", self.work_factor.low, "at least 1")
        if self.page_cache is not None and self.page_fault_s is None:
            raise InvalidValueError(
                "page_fault_s", None, "a cost, as there is a page_cache that pages can miss"
            )
        return self

    def why_not(self, threads: int, gpus: float, memory_bytes: float) -> str:
        """Return why a job of so many threads and GPUs and so much memory cannot run inside.

        An empty text: it can. A page cache that is too small costs time, and excludes nothing
        unless it says so (`paged`).
        """
        if gpus and not self.gpus:
            return f"{self.name} protects nothing that runs on GPUs"
        if self.thread_limit is not None and threads > self.thread_limit.threads:
            return f"{threads} threads, {self.name} has {self.thread_limit.threads} at once"
        cache = self.page_cache
        if cache is not None and not cache.paged and memory_bytes > cache.usable_mib * 2**20:
            asked_mib = memory_bytes / 2**20
            return f"{asked_mib:g} MiB, {self.name} has {cache.usable_mib:g} and pages nothing"
        return ""


@dataclass(config=CHECKED)
class Secure:
    """What a job that has to be protected does at the border of its enclave."""

    calls: CountOrNone = about(
        "Calls into the enclave and back of a job; with `rounds`, of each task.",
        default=1,
    )
    encrypted_mb: NotNegative = about(
        "Inputs decrypted and outputs encrypted inside, of a job or each task.",
        default=0.0,
        unit="MB",
    )
    working_set_mib: NotNegative | None = about(
        "Reused memory inside, of a job or each task. By default the job's memory (measured for a "
        "`workload`), or a task's share.",
        default=None,
        unit="MiB",
    )


def _true_or_false(given: Any) -> Any:
    if isinstance(given, bool):
        return {} if given else None
    return given


# `secure: true` is a mapping that says nothing more.
SecureOrNot = Annotated[Secure | None, BeforeValidator(_true_or_false)]
