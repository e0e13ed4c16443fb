"""The programs of other frameworks: what needs none, and their runs where one is installed."""

import ctypes
import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
import unprofiled_operation

from trimtab.cli.doctor import missing
from trimtab.workloads import cupy_kmeans, jax_convnet, sentence_embeddings
from trimtab.workloads.data import digits, sentences

PROGRAMS = Path(jax_convnet.__file__).parent


def run(name: str, output: Path, *options: object) -> dict:
    """Run a program twice, check that both results are equal, and return one."""
    for _ in range(2):
        before = output.read_bytes() if output.exists() else None
        command = [sys.executable, PROGRAMS / f"{name}.py", "--output", output, *options]
        ended = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=200
        )
        assert ended.returncode == 0, ended.stderr
        assert "first iteration" in ended.stdout
    assert output.read_bytes() == before
    return json.loads(output.read_text())


def test_vocabulary_spells_every_sentence():
    texts = sentences.load("en") + sentences.load("de")
    tokens = sentence_embeddings.vocabulary(texts)
    assert len(tokens) == len(set(tokens))
    assert tokens == sentence_embeddings.vocabulary(texts)
    pieces = set(tokens)
    for character in set("".join(texts)) - {" "}:
        assert character in pieces and f"##{character}" in pieces
    assert {"Everyone", "Jeder", "rights", "Rechte"} < pieces


def test_tokenizer_of_the_written_model_knows_every_word(tmp_path):
    from transformers import AutoModel, AutoTokenizer

    texts = sentences.load("en") + sentences.load("de")
    tokens = sentence_embeddings.vocabulary(texts)
    sentence_embeddings.write_model(tmp_path, tokens, width=64, layers=1)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    for text in texts:
        pieces = tokenizer.tokenize(text)
        assert "[UNK]" not in pieces
        assert "".join(piece.removeprefix("##") for piece in pieces) == text.replace(" ", "")
    assert AutoModel.from_pretrained(tmp_path).config.vocab_size == len(tokens)


def test_initial_weights_have_the_variance_of_hes_rule():
    weights = jax_convnet.initial(3)
    assert weights["second"].var() == pytest.approx(2 / (9 * 32), rel=0.05)
    assert weights["dense"].shape == (256, 10)
    assert all((jax_convnet.initial(3)[name] == each).all() for name, each in weights.items())


def test_purity_is_the_share_of_each_clusters_commonest_label():
    clusters, labels = np.array([0, 0, 0, 1, 1, 2]), np.array([7, 7, 3, 3, 3, 9])
    assert cupy_kmeans.purity(clusters, labels) == 5 / 6


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_operations_compute_what_their_names_say():
    images = torch.from_numpy(digits.load().train.inputs[:100]).flatten(1).float() / 255
    operations = unprofiled_operation.OPERATIONS
    whole = images.numpy()
    torch.testing.assert_close(operations["sparse"](images), operations["matmul"](images))
    torch.testing.assert_close(
        operations["svd"](images), torch.from_numpy(np.linalg.svd(whole, compute_uv=False))
    )
    torch.testing.assert_close(
        operations["fft"](images),
        torch.from_numpy(np.abs(np.fft.rfft2(whole.reshape(-1, 8, 8)))).float(),
    )
    for operation in operations.values():
        assert operation(images).isfinite().all()


def test_what_an_operation_raises_is_the_result(tmp_path, monkeypatch):
    def missing(images: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")

    monkeypatch.setitem(unprofiled_operation.OPERATIONS, "svd", missing)
    options = unprofiled_operation.argparse.Namespace(device="cpu", seed=0, operation="svd")
    result = unprofiled_operation.run(options)
    assert result["sum"] is None
    assert result["raised"]["type"] == "RuntimeError"
    assert "no kernel image" in result["raised"]["message"]


def framework(name: str) -> types.ModuleType:
    """Return an optional framework; skips where it is missing."""
    return pytest.importorskip(name, reason=f"{name} is missing: see docs/how-to/gpu.md")


def test_jax_learns_the_digits(tmp_path):
    framework("jax")
    metrics = run("jax_convnet", tmp_path / "metrics.json", "--epochs", 4)
    losses = metrics["train_loss"]
    assert len(losses) == 4 and losses == sorted(losses, reverse=True)
    assert metrics["test_accuracy"] > 0.9


def test_timm_gives_each_image_a_class(tmp_path):
    framework("timm")
    small = ("--test-samples", 3, "--model", "resnet18")
    metrics = run("timm_inference", tmp_path / "metrics.json", *small)
    assert len(metrics["classes"]) == len(metrics["logits"]) == 3
    assert set(metrics["classes"]) <= set(range(10))


def test_sentences_are_embedded(tmp_path):
    framework("sentence_transformers")
    small = ("--width", 64, "--layers", 1)
    metrics = run("sentence_embeddings", tmp_path / "metrics.json", *small)
    assert len(metrics["pair_similarity"]) == len(metrics["closest"]) == 68
    assert all(-1 <= each <= 1.0001 for each in metrics["pair_similarity"])


def test_tensorflow_trains(tmp_path):
    framework("tensorflow")
    small = ("--epochs", 1, "--train-samples", 64)
    metrics = run("tensorflow_mobilenetv2", tmp_path / "metrics.json", *small)
    assert len(metrics["train_loss"]) == 1


# The CPU takes the place of the GPU here: the kernel's own text, called once for each thread.
THREADS = """
static struct { int x; } blockIdx, blockDim, threadIdx;
KERNEL
void launch(const float *samples, const float *centres, int count, int clusters, int features,
            int *cluster, float *squared_distance, int blocks)
{
    blockDim.x = 128;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            nearest(samples, centres, count, clusters, features, cluster, squared_distance);
}
"""


def test_kernel_of_cupys_program_finds_the_nearest_centres(tmp_path):
    source, library = tmp_path / "kernel.c", tmp_path / "kernel.so"
    kernel = cupy_kmeans.NEAREST.replace('extern "C" __global__', "static")
    source.write_text(THREADS.replace("KERNEL", kernel))
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True, timeout=60)

    images = digits.load().test.inputs
    samples = images.reshape(len(images), -1).astype(np.float32) / 255
    centres = samples[::40].copy()
    clusters = np.full(len(samples), -1, dtype=np.int32)
    distances = np.empty(len(samples), dtype=np.float32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (samples, centres)]
    results = [array.ctypes.data_as(ctypes.c_void_p) for array in (clusters, distances)]
    ctypes.CDLL(str(library)).launch(*pointers, *map(len, (samples, centres)), 64, *results, 3)

    expected = ((samples[:, None] - centres[None]) ** 2).sum(axis=2)
    assert (clusters == expected.argmin(axis=1)).all()
    np.testing.assert_allclose(distances, expected.min(axis=1), rtol=1e-4)
    assert (distances[::40] == 0).all()


def test_cupy_clusters_as_lloyds_algorithm_does(tmp_path):
    cupy = framework("cupy")
    if not cupy.cuda.is_available():
        pytest.skip(missing("NVIDIA GPU"))
    metrics = run("cupy_kmeans", tmp_path / "metrics.json", "--iterations", 5)
    images = digits.load().train.inputs
    samples = images.reshape(len(images), -1) / 255
    centres = samples[np.random.default_rng(0).choice(len(samples), 10, replace=False)]
    for inertia in metrics["inertia"]:
        distances = ((samples[:, None] - centres[None]) ** 2).sum(axis=2)
        assert inertia == pytest.approx(distances.min(axis=1).sum(), rel=1e-4)
        nearest = distances.argmin(axis=1)
        centres = np.stack([samples[nearest == each].mean(axis=0) for each in range(10)])
