"""Task programs of networks give what PyTorch gives, in every variant, and refuse other files."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from network_files import altered, detector_file, lenet_file
from network_graphs import detector, lenet
from random_graphs import predecessors
from safetensors import SafetensorError
from safetensors.numpy import load, load_file
from task_programs import OF_NETWORKS, SOURCES, build, objects, run, run_path, shared_sources
from test_task_programs import PROTECTED, UNPROTECTED, kinds

from trimtab.native import native_path
from trimtab.secure_tasks.graphs.recorded import read_recorded
from trimtab.workloads import lenet5
from trimtab.workloads.detection import boxes as of_boxes
from trimtab.workloads.detection import net

SIZES = {"lenet": ("--size", 12, "--block", 3), "detector": ("--size", 48, "--block", 16)}
SANITIZED = ("-O", "-fsanitize=address")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("networks")
    return {
        "lenet": lenet_file(folder / "lenet.safetensors"),
        "detector": detector_file(folder / "detector.safetensors"),
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return objects(shared_sources(), tmp_path_factory.mktemp("shared"), *SANITIZED)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory, shared: list[Path]) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sanitized")
    return {
        name: build([SOURCES / f"{name}.c", *shared], folder / name, *SANITIZED)
        for name in OF_NETWORKS
    }


@pytest.mark.parametrize("program", OF_NETWORKS)
@pytest.mark.parametrize(("variant", "enclave", "workers"), UNPROTECTED + PROTECTED)
def test_the_result_is_that_of_pytorch(
    networks: dict[str, Path], program: str, variant: str, enclave: str | None, workers: int
) -> None:
    words = ["--network", networks[program], *SIZES[program], "--variant", variant]
    words += [] if enclave is None else ["--enclave", enclave]
    line = run(program, *words, "--workers", workers)
    assert line["correct"] is True
    assert (line["application"], line["variant"], line["enclave"]) == (program, variant, enclave)
    assert line["calls"] == (line["tasks"] if enclave else 0)


def test_the_detector_of_the_tests_finds_boxes_that_overlap(networks: dict[str, Path]) -> None:
    """And some with too low a score, or these tests would not see what becomes of either."""
    given = load_file(networks["detector"])
    cells = torch.from_numpy(given["outputs"])
    least = float(given["grid"][3])
    every, likely = of_boxes.found(cells, 0.0, 1.0), of_boxes.found(cells, least, 1.0)
    for image, count in enumerate(given["box_counts"]):
        assert len(every[image]) > len(likely[image]) > count > 3


@pytest.mark.parametrize("block", [8, 24, 48])
def test_other_bands(networks: dict[str, Path], block: int) -> None:
    words = ("--network", networks["detector"], "--size", 48, "--block", block)
    assert run("detector", *words, "--variant", "ompss", "--workers", 2)["correct"]


@pytest.mark.parametrize(("size", "block"), [(1, 1), (9, 9), (64, 8)])
def test_other_batches(networks: dict[str, Path], size: int, block: int) -> None:
    words = ("--network", networks["lenet"], "--size", size, "--block", block)
    assert run("lenet", *words, "--variant", "ompss", "--workers", 2)["correct"]


@pytest.mark.parametrize("program", OF_NETWORKS)
def test_each_number_counts(
    networks: dict[str, Path], sanitized: dict[str, Path], tmp_path: Path, program: str
) -> None:
    """A weight, a pixel or an expected number that is another one is noticed."""
    for name, tensor in load_file(networks[program]).items():
        if name == "grid":
            continue
        last = tensor.size - 1 if name != "boxes" else 0

        def change(tensors: dict[str, np.ndarray], name: str = name, last: int = last) -> None:
            tensors[name] = tensors[name].copy()
            tensors[name].ravel()[last] += 0.25

        path = altered(networks[program], tmp_path / "altered.safetensors", change)
        done = run_path(sanitized[program], "--network", path, *SIZES[program])
        assert (done.returncode, '"correct": false' in done.stdout) == (1, True), name


WRONG = {
    "row = padded_row + layer->rows - layer->padding;": "row = 0;",
    "row -= layer->rows;": "band = bands->own, row = 0;",
    "best = better[BOX_CLASS] != candidate[BOX_CLASS] ||": "best =",
}


def test_what_is_wrong_with_bands_and_boxes_is_noticed(
    networks: dict[str, Path], shared: list[Path], tmp_path: Path
) -> None:
    sources = {path.stem: path for path in shared_sources()}
    [program] = objects([SOURCES / "detector.c"], tmp_path / "program", *SANITIZED)
    right = {path.stem: path for path in [*shared, program]}
    for number, (text, wrong) in enumerate(WRONG.items()):
        [name] = [name for name, path in sources.items() if text in path.read_text()]
        altered = tmp_path / f"{name}.c"
        altered.write_text(sources[name].read_text().replace(text, wrong))
        parts = right | {name: objects([altered], tmp_path / f"{number}", *SANITIZED)[0]}
        path = build(list(parts.values()), tmp_path / "detector", *SANITIZED)
        done = run_path(path, "--network", networks["detector"], *SIZES["detector"])
        assert (done.returncode, '"correct": false' in done.stdout) == (1, True), wrong


@pytest.mark.parametrize(
    ("program", "words", "what"),
    [
        ("lenet", ["--size", 4, "--block", 2], "--network: missing"),
        ("matmul", ["--size", 4, "--block", 2, "--network", "x"], "--network: this program has"),
        ("lenet", ["--size", 1 << 21, "--block", 1, "--network", "x"], "--size: more than"),
        ("detector", ["--size", 48, "--block", 12, "--network", "x"], "--block: not a multiple"),
        ("detector", ["--size", 1000, "--block", 8, "--network", "x"], "--size: a side above"),
    ],
)
def test_a_wrong_command_line_is_said(program: str, words: list[object], what: str) -> None:
    done = run_path(native_path(f"trimtab-task-{program}"), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(what)


def refused(sanitized: dict[str, Path], path: Path, program: str = "lenet") -> str:
    """Why a program refuses a file: in one line, as a failure."""
    done = run_path(sanitized[program], "--network", path, *SIZES[program])
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert done.stderr.startswith(f"{path}: ") and done.stderr.count("\n") == 1
    assert done.stderr.endswith("; a workload's --save-network writes such files\n")
    return done.stderr.removeprefix(f"{path}: ").rpartition(";")[0]


def parts_of(path: Path) -> tuple[dict[str, dict[str, object]], bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header: object, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


HEADERS = {
    "another type": (("images", "dtype", "F64"), "a tensor's dtype is not F32"),
    "a shape of more": (("images", "shape", [5, 1, 28, 29]), "a tensor's data_offsets do not fit"),
    "a product that wraps": (("images", "shape", [1 << 32, 1 << 32, 1, 1]), "a tensor is too"),
    "nothing": (("images", "shape", [0, 1, 28, 28]), "a tensor has no numbers"),
    "below nothing": (("images", "shape", [-5, 1, 28, 28]), "a shape is not up to 4 whole"),
    "many dimensions": (("images", "shape", [5, 1, 1, 28, 28]), "a shape is not up to 4 whole"),
    "an endless number": (("images", "shape", [10**40]), "a shape is not up to 4 whole numbers"),
    "backwards": (("images", "data_offsets", [64, 0]), "a tensor's data_offsets do not fit"),
    "beyond the end": (
        ("images", "data_offsets", [1 << 30, (1 << 30) + 15680]), "cut off: a tensor lies beyond"
    ),
    "between numbers": (("images", "data_offsets", [2, 15682]), "a tensor's data_offsets do not"),
    "three offsets": (("images", "data_offsets", [0, 1, 2]), "data_offsets are not two whole"),
    "another key": (("images", "strides", [1]), "its header is not what safetensors writes"),
    "another network": (("__metadata__", "trimtab", "lenet 2"), "its metadata does not say"),
    "flat weights": (("weights.2", "shape", [120, 400]), "its tensor weights.2 has another shape"),
    "fewer channels": (("weights.3", "shape", [120, 84, 1, 1]), "its tensor weights.3 has another"),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADERS)
def test_a_hostile_header_is_refused(
    networks: dict[str, Path], sanitized: dict[str, Path], tmp_path: Path, case: str
) -> None:
    (tensor, key, value), what = HEADERS[case]
    header, data = parts_of(networks["lenet"])
    header[tensor][key] = value
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(joined(header, data))
    assert refused(sanitized, path).startswith(what)


def test_hostile_files_are_refused(
    networks: dict[str, Path], sanitized: dict[str, Path], tmp_path: Path
) -> None:
    whole = networks["lenet"].read_bytes()
    header, data = parts_of(networks["lenet"])
    text = json.dumps(header).encode()
    infinite = bytearray(data)
    infinite[:4] = struct.pack("<f", float("inf"))
    path = tmp_path / "hostile.safetensors"
    for content, what in (
        (b"", "cut off"),
        (whole[:7], "cut off"),
        (whole[:100], "cut off: it ends in its header"),
        (whole[:-1], "cut off: a tensor lies beyond its end"),
        (whole + b"\0\0\0\0", "it has bytes of no tensor"),
        (b"\xff" * 64, "no safetensors file: its header is too long"),
        (struct.pack("<Q", 3) + b"{} " + data, "its header is not padded"),
        (joined(b"[" * 4096, data), "its header is not what safetensors writes"),
        (joined(b"{}", data), "its header is not what safetensors writes"),
        (joined(text[:-1] + b"," + text[1:], data), "a key of its header is there twice"),
        (joined(text.replace(b"images", b"im\\u0061ges"), data), "its header is not what"),
        (
            joined({**header, "x" * 9: header["images"]}, data),
            "it has bytes of no tensor, or of se",
        ),
        (joined({k: v for k, v in header.items() if k != "images"}, data), "it has bytes of no"),
        (joined(b" " + text, data), "its header is not what safetensors writes"),
        (joined(text.replace(b"[5, 1,", b"[05, 1,"), data), "a shape is not up to 4 whole numbers"),
        (joined(header, bytes(infinite)), "a number of it is not finite"),
        (joined(header, data).replace(b'"outputs"', b'"outputz"'), "it has no tensor outputs"),
    ):
        path.write_bytes(content)
        assert refused(sanitized, path).startswith(what), content[:64]
    assert refused(sanitized, tmp_path) == "not a regular file"
    assert refused(sanitized, tmp_path / "none") == "cannot be opened"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert refused(sanitized, path) == "larger than 1 GiB"


def test_a_grid_that_does_not_fit_is_refused(
    networks: dict[str, Path], sanitized: dict[str, Path], tmp_path: Path
) -> None:
    for number, value in ((0, 7), (1, 1), (1, 1e30), (1, 1.5), (2, 0), (2, -7)):

        def change(tensors: dict[str, np.ndarray], at: int = number, new: float = value) -> None:
            tensors["grid"] = tensors["grid"].copy()
            tensors["grid"][at] = new

        path = altered(networks["detector"], tmp_path / "grid.safetensors", change)
        assert refused(sanitized, path, "detector").startswith("its tensor grid does not fit")


def test_another_size_than_the_files_is_refused(
    networks: dict[str, Path], sanitized: dict[str, Path]
) -> None:
    words = ("--network", networks["detector"], "--size", 64, "--block", 16)
    done = run_path(sanitized["detector"], *words)
    assert done.returncode == 3 and "tensor images has another shape" in done.stderr


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    edits=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3), st.integers(0, 3)), max_size=2)
)
def test_what_is_read_is_a_file_of_safetensors(
    networks: dict[str, Path], sanitized: dict[str, Path], tmp_path: Path, edits: list
) -> None:
    """Of headers with a few bytes altered: nothing is read that the format's own reader refuses."""
    header, data = parts_of(networks["lenet"])
    text = json.dumps(header).encode()
    for place, put, dropped in edits:
        at = int(place * len(text))
        text = text[:at] + put + text[at + dropped :]
    path = tmp_path / "edited.safetensors"
    path.write_bytes(joined(text, data))
    done = run_path(sanitized["lenet"], "--network", path, *SIZES["lenet"])
    assert done.returncode in (0, 1, 3), done.stderr
    if done.returncode == 3:
        assert done.stderr.startswith(f"{path}: ") and done.stderr.count("\n") == 1
        return
    try:
        load(path.read_bytes())
    except SafetensorError as error:
        raise AssertionError(f"{text!r}: {error}") from None


GENERATED = {
    "lenet": lenet(4, 3, flop_s=1e-9),
    "detector": detector(3, 16, images=2, width=4, boxes=2, classes=3, flop_s=1e-9),
}


@pytest.mark.parametrize("program", OF_NETWORKS)
def test_what_a_program_records_is_the_graph_that_is_generated(
    networks: dict[str, Path], tmp_path: Path, program: str
) -> None:
    path = tmp_path / "graph.jsonl"
    words = ("--network", networks[program], *SIZES[program], "--record", path)
    run(program, *words, "--variant", "ompss", "--workers", 2)
    recorded, expected = read_recorded(path), GENERATED[program]
    assert kinds(recorded) == kinds(expected)
    assert predecessors(recorded) == predecessors(expected)
    assert (recorded.bytes_in == expected.bytes_in).all()
    assert (recorded.bytes_out == expected.bytes_out).all()


def test_batches_are_free_of_each_other_and_bands_wait_for_three() -> None:
    chains = [(first + at, first + at + 1) for first in range(0, 20, 5) for at in range(4)]
    assert predecessors(GENERATED["lenet"]) == chains
    of_first_layer = [edge for edge in predecessors(GENERATED["detector"]) if edge[1] < 6]
    assert of_first_layer == [(0, 3), (0, 4), (1, 3), (1, 4), (1, 5), (2, 4), (2, 5)]


@pytest.mark.parametrize("program", OF_NETWORKS)
def test_work_of_a_layer_is_that_of_pytorchs_layers(program: str) -> None:
    """Two operations for each weight and each number that comes out of it."""
    if program == "lenet":
        model, pixels = lenet5.build(), torch.zeros(12, 1, 28, 28)
    else:
        model, pixels = net.build(3, 4), torch.zeros(2, 3, 48, 48)
    counted = []
    for layer in model:
        pixels = layer(pixels)
        if hasattr(layer, "weight"):
            counted.append(2 * layer.weight[0].numel() * pixels.numel())
    graph = GENERATED[program]
    of_layers = [kind.startswith("convolve") for kind in kinds(graph)]
    assert graph.work_s[of_layers].sum() == pytest.approx(1e-9 * sum(counted))
