"""The used enclaves, their protection, and failures: before all figures."""

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.evaluation.protection.section import RUN_HERE, SIMULATED, ProtectionSection
from trimtab.evaluation.report.tables import Column, Row, Table

_PROTECTS = {
    "process": (
        "the caller's process and others, also root by /proc, where the kernel has memfd_secret",
        "the kernel and whoever controls the machine; side channels",
    ),
    "pkeys": (
        "accidents and memory errors of threads that are in no call",
        "any code that executes WRPKRU; the kernel; side channels",
    ),
    "modelled": ("nothing: it only takes as long", "everything"),
}
_OF_OTHERS = ("nothing here: only its time is modelled", "said in the sources of its file")


class Enclaves(ProtectionSection):
    """A line for each kind of enclave."""

    order = 980

    def make_tables(self) -> Iterator[Table]:
        """Yield the enclaves, in the order of their first mention."""
        yield Table(
            "protection_enclaves",
            "Enclaves",
            "None of those that were run here is a hardware enclave, and nothing was attested: "
            "whoever controls the kernel or the machine reads and changes all that they hold.",
            (
                Column("name", "Enclave"),
                Column("how", "How"),
                Column("protection", "Protected by"),
                Column("against", "Against"),
                Column("not_against", "Not against"),
                Column("runs", "Runs", 0),
                Column("failed", "Failed", 0),
                Column("source", "Source"),
            ),
            tuple(self._rows()),
        )

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield failures, and that hardware enclaves are modelled."""
        runs = self.runs
        for (enclave, error), failed in runs[~runs["complete"].astype(bool)].groupby(
            ["enclave", "error"]
        ):
            yield str(enclave), f"{len(failed)} runs failed, and are passed over: {error}"
        if (runs["schedule_policy"] != "openmp").any():
            yield "", "Run times and energy of simulated enclaves are modelled, not measured."

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of runs and of failures."""
        runs = self.runs
        here = runs["schedule_policy"] == "openmp"
        failed = ~runs["complete"].astype(bool)
        counts = {"runs": here.sum(), "simulations": (~here).sum(), "failed": failed.sum()}
        return {"protection": {name: int(count) for name, count in counts.items()}}

    def _rows(self) -> Iterator[Row]:
        runs = self.runs
        inside = runs[runs["enclave"].notna()]
        is_here = inside["schedule_policy"] == "openmp"
        for here, how in ((True, RUN_HERE), (False, SIMULATED)):
            for enclave, of_it in inside[is_here == here].groupby("enclave", sort=False):
                against, not_against = _PROTECTS.get(str(enclave), _OF_OTHERS)
                if not here:
                    against, not_against = _OF_OTHERS
                said = " and ".join(sorted(set(of_it["protection"].dropna())))
                yield {
                    "name": str(enclave),
                    "how": how,
                    "protection": said,
                    "against": against,
                    "not_against": not_against,
                    "runs": len(of_it),
                    "failed": int((~of_it["complete"].astype(bool)).sum()),
                    "source": str(of_it["source"].iloc[0]),
                }
