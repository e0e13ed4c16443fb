"""Which format a file has, from its beginning; its name does not matter."""

import re
from pathlib import Path

from trimtab.batch.readers.head import EXPECTED, PARQUET, Head
from trimtab.batch.readers.kubernetes.objects import COMMAND as KUBECTL
from trimtab.batch.readers.slurm import sacct
from trimtab.errors import UserError

# A file with all of these columns in its header.
_HEADERS = {
    "alibaba_gpu_2023": {"cpu_milli", "num_gpu", "gpu_milli", "pod_phase", "creation_time"},
    "philly_table": {"timestamp", "duration", "num_gpus", "gpu_time"},
    "azure_functions_2021": {"app", "func", "end_timestamp", "duration"},
    "azure_llm": {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
    "google_2019": {"time", "type", "collection_id", "instance_index"},
}
# JSON with a key near its beginning; the first that is there counts.
_KEYS = {
    "apiVersion": "kubernetes",
    "collection_id": "google_2019",
    "attempts": "philly_log",
    "submitted_time": "philly_log",
    "items": "kubernetes",
    "kind": "kubernetes",
}
# Tables without a header: number of columns, and which of them hold what.
_NUMBER = r"-?[0-9.]*(?:[eE]-?[0-9]+)?"
_STATUS = "Terminated|Failed|Running|Waiting|Ready|Cancelled|Interrupted"
_COLUMNS = {
    "alibaba_2018": (9, {1: "[0-9]+", 4: _STATUS, 5: _NUMBER, 6: _NUMBER, 7: _NUMBER}),
    "alibaba_gpu_2020": (10, {2: _NUMBER, 3: _STATUS, 4: _NUMBER, 5: _NUMBER, 6: _NUMBER}),
    "google_2011": (13, {0: "[0-9]+", 2: "[0-9]+", 3: "[0-9]+", 5: "[0-8]", 8: "[0-9]+"}),
}
_SWF_FIELDS = 18


def format_of(path: Path, head: Head) -> str:
    """Return the name of the format; UserError if the file is nearly, or not at all, of one."""
    if head.content.startswith(PARQUET):
        return "google_2019"
    text = head.content.lstrip()
    if text[:1] in (b"{", b"["):
        return _format_of_json(path, text)
    if _is_swf(head):
        return "swf"
    if sacct.is_sacct(head):
        return "sacct"
    if wrong := sacct.what_is_wrong(head):
        raise UserError(f"{path}: {wrong}")
    names = {name.strip() for name in head.header}
    for name, columns in _HEADERS.items():
        if columns <= names:
            return name
    for name, (count, patterns) in _COLUMNS.items():
        if len(head.header) == count and all(
            re.fullmatch(pattern, head.header[column]) for column, pattern in patterns.items()
        ):
            return name
    if re.match(rb"[^\n]*\b(apiVersion|kind): ", text) and not text.startswith(b'"'):
        raise UserError(f"{path}: YAML; expected JSON: {KUBECTL}")
    if len(head.header) < 3 and head.separator not in head.lines[0]:
        raise UserError(f"{path}: no columns in the first line; expected {EXPECTED}")
    return "csv"


def _format_of_json(path: Path, text: bytes) -> str:
    for key, name in _KEYS.items():
        if f'"{key}"'.encode() in text:
            return name
    raise UserError(
        f"{path}: JSON of none of the known kinds; expected of Kubernetes {KUBECTL}, of Slurm"
        f" {sacct.COMMAND}"
    )


def _is_swf(head: Head) -> bool:
    for line in head.lines:
        if line.strip() and not line.lstrip().startswith(";"):
            fields = line.split()
            return len(fields) == _SWF_FIELDS and all(
                re.fullmatch(_NUMBER, field) for field in fields
            )
    return head.lines[0].lstrip().startswith(";")
