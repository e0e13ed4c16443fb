"""Each file of an environment before and after: kept, shrunk, or removed."""

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.tables import MB, Value, reduction_pct
from trimtab.records.values import escaped

LOADED, NOT_LOADED = "shared libraries, loaded", "shared libraries, never loaded"
LARGE_BYTES = 10_000_000  # least size of files that the thesis lists one by one (4.2.3.1)


def fates(target: DebloatedTarget) -> pd.DataFrame:
    """Return a row for each file of the target's environment, none where all files stay.

    The columns are `path`, `package`, `kind`, `kept` and `reason` of FILES, and the file's length
    as `before_bytes`. Of these, `went_bytes` were removed with the file, `inside_bytes` within a
    kept library, and `after_bytes` are left. The kind of a library says whether any run loaded it.
    A file with several names counts once.
    """
    files = target.files
    files = files[files["counts"]].set_index("path")
    slim = {escaped(path): file.size_after_bytes for path, file in target.manifest.files.items()}
    loaded = files.index.isin(target.libraries["library"])
    not_loaded = files.index.isin([escaped(path) for path in target.manifest.unloaded])
    kind = files["kind"].mask(loaded, LOADED).mask(not_loaded & ~loaded, NOT_LOADED)
    before = files["size_bytes"]
    after = files.index.to_series().map(slim).fillna(before).astype("int64").where(files["kept"], 0)
    return pd.DataFrame(
        {
            "package": files["package"],
            "kind": kind,
            "kept": files["kept"],
            "reason": files["reason"].fillna(""),
            "before_bytes": before,
            "went_bytes": before.where(~files["kept"], 0),
            "inside_bytes": (before - after).where(files["kept"], 0),
            "after_bytes": after,
        }
    ).reset_index()


def totals(rows: pd.DataFrame) -> dict[str, Value]:
    """Return the common columns of tables of files, over `rows` of `fates`."""
    before, after = int(rows["before_bytes"].sum()), int(rows["after_bytes"].sum())
    return {
        "files": len(rows),
        "files_left": int(rows["kept"].sum()),
        "before_mb": before / MB,
        "went_mb": float(rows["went_bytes"].sum()) / MB,
        "inside_mb": float(rows["inside_bytes"].sum()) / MB,
        "after_mb": after / MB,
        "reduction_pct": reduction_pct(before, after),
    }
