"""gcc's thread sanitizer finds nothing in task programs: see its happens_before.h."""

import subprocess
from pathlib import Path

import pytest
from network_files import detector_file, lenet_file
from task_programs import ENVIRONMENT, LACKING, SOURCES, build, objects, shared_sources

SUPPRESSIONS = SOURCES / "thread_sanitizer.supp"


MICRO, OF_NETWORKS = ("cholesky", "stream_barriers"), ("lenet", "detector")


def sanitized(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [program, "--size", "32", "--block", "8", "--workers", "3", *words],
        env={**ENVIRONMENT, "TSAN_OPTIONS": f"suppressions='{SUPPRESSIONS}'"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    # Of older sanitizers, on kernels that place programs more at random than they can follow.
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this gcc's thread sanitizer does not run on this kernel")
    return done


FLAGS = ("-O1", "-fsanitize=thread")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return objects(shared_sources(), tmp_path_factory.mktemp("shared"), *FLAGS)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, shared: list[Path]) -> Path:
    folder = tmp_path_factory.mktemp("sanitized")
    for name in MICRO + OF_NETWORKS:
        build([SOURCES / f"{name}.c", *shared], folder / name, *FLAGS)
    lenet_file(folder / "lenet.safetensors")
    detector_file(folder / "detector.safetensors", side=32)
    return folder


@pytest.mark.parametrize("name", MICRO + OF_NETWORKS)
@pytest.mark.parametrize("variant", ["ompss", "sgxo", "esgxo"])
@pytest.mark.parametrize("enclave", ["process", "modelled"])
def test_no_race_is_found(
    programs: Path, tmp_path: Path, name: str, variant: str, enclave: str
) -> None:
    record = str(tmp_path / "graph.jsonl")
    words = ("--variant", variant, "--enclave", enclave, "--record", record)
    if name in OF_NETWORKS:
        words += ("--network", str(programs / f"{name}.safetensors"))
    if name == "lenet":
        words += ("--size", "8", "--block", "2")  # in place of those that all have
    done = sanitized(programs / name, *words)
    if any(words in done.stderr for words in LACKING):
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_would_be_found(shared: list[Path], tmp_path: Path) -> None:
    """One of all threads, before there are tasks, so that it does not hang on chance."""
    text = (SOURCES / "run.c").read_text()
    line, begin = "        HAPPENS_BEFORE(&run.created);\n    }", "void run_timed("
    assert line in text and begin in text
    text = text.replace(line, "        race();\n    }")
    race = "static void __attribute__((noinline)) race(void) { run.run_s += 1; }\n"
    (tmp_path / "run.c").write_text(text.replace(begin, race + begin))
    sources = [SOURCES / "matmul.c", tmp_path / "run.c"]
    others = [path for path in shared if path.name != "run.o"]
    done = sanitized(build([*sources, *others], tmp_path / "racy", *FLAGS), "--variant", "ompss")
    assert "data race" in done.stderr and " race " in done.stderr
