"""The engine: what it has is saved, loaded and run; each way in which it fails has its words."""

import gzip
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from failing_engine import engine_that
from handmade import entry, folder, layer, oci_image
from machine_root import root_of_programs
from real_engine import address, import_root, needs_engine, running_engine, stop

from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.engine import ContainerEngine, ContainerLimits, ContainerResult, EngineError
from trimtab.images.merging import merged_view
from trimtab.images.writing.image import write_image

pytest.importorskip("docker", reason="the docker SDK is not installed")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an engine that has the image `small`, of this machine's sh and sleep."""
    root = tmp_path_factory.mktemp("image") / "root"
    root_of_programs(root, ["sh", "sleep", "id"])
    with running_engine() as engine:
        import_root(engine, root, "small", 'CMD ["sh", "-c", "echo hello"]', "USER 1000:1000")
        yield engine


@pytest.fixture
def engine(real: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ContainerEngine]:
    monkeypatch.setenv("DOCKER_HOST", address(real))
    with ContainerEngine.connect() as connected:
        yield connected


def containers(real: Path) -> str:
    command = ["docker", "--host", address(real), "ps", "--all", "--quiet"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@needs_engine
def test_an_image_goes_out_and_comes_back(
    engine: ContainerEngine, real: Path, tmp_path: Path
) -> None:
    facts = engine.inspect("small")
    assert facts.names == ("small:latest",) and facts.size_bytes > 100_000
    engine.save("small", tmp_path / "small.tar")
    image = open_image(tmp_path / "small.tar")
    assert merged_view(image).find("/etc/passwd") is not None
    assert image.config.run().user == "1000:1000"
    assert [path.name for path in tmp_path.iterdir()] == ["small.tar"]

    engine.remove("small")
    with pytest.raises(EngineError, match="has no image of this name, and none is pulled"):
        engine.run("small")
    assert engine.load(tmp_path / "small.tar") == (facts.image_id,)
    assert engine.run("small").output == b"hello\n"
    assert containers(real) == ""


@needs_engine
@pytest.mark.parametrize("compression", Compression)
def test_what_is_written_is_what_an_engine_has(
    engine: ContainerEngine, real: Path, tmp_path: Path, compression: Compression
) -> None:
    docker = ["docker", "--host", address(real)]
    version = [*docker, "version", "--format", "{{.Server.Version}}"]
    major = int(subprocess.check_output(version, text=True).partition(".")[0])
    if compression is Compression.ZSTD and major < 23:
        pytest.skip("this engine reads no zstd")
    engine.save("small", tmp_path / "small.tar")
    image = open_image(tmp_path / "small.tar")
    name = f"again:{compression}"
    written = write_image(
        image, merged_view(image), tmp_path / "again.tar", name=name, compression=compression
    )
    assert engine.load(tmp_path / "again.tar") == (written.config_digest,)
    inspect = [*docker, "image", "inspect", "--format", "{{json .RootFS.Layers}}", name]
    found = subprocess.run(inspect, check=True, capture_output=True, text=True).stdout
    assert found == f'["{written.layers[0].diff_id}"]\n'
    assert engine.run(name).output == b"hello\n"


@needs_engine
def test_of_several_tags_the_one_that_is_meant(
    engine: ContainerEngine, real: Path, tmp_path: Path
) -> None:
    image = oci_image(tmp_path / "other.tar", layer(entry("file", b"other")))
    write_image(
        open_image(image), merged_view(open_image(image)), tmp_path / "tagged.tar",
        name="small:slim", compression=Compression.GZIP,
    )  # fmt: skip
    engine.load(tmp_path / "tagged.tar")
    for name in ("small", "small:latest", engine.inspect("small").image_id):
        engine.save(name, tmp_path / "small.tar")
        assert merged_view(open_image(tmp_path / "small.tar")).find("/etc/passwd"), name
    engine.save("small:slim", tmp_path / "small.tar")
    assert merged_view(open_image(tmp_path / "small.tar")).find("/file")


@needs_engine
def test_a_command_in_a_container(engine: ContainerEngine, real: Path, tmp_path: Path) -> None:
    script = "id -u; echo said >&2; echo text > /given/file; exit 3"
    tmp_path.chmod(0o777)
    ended = engine.run("small", ["sh", "-c", script], folders={tmp_path: "/given"})
    assert (ended.exit_code, ended.output, ended.errors) == (3, b"1000\n", b"said\n")
    assert (tmp_path / "file").read_text() == "text\n"
    assert containers(real) == ""


@needs_engine
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["sleep", "100"], "did not end in 0.5 s"),
        (["sh", "-c", "while :; do echo yes; done"], "did not end in 0.5 s"),
        (["no-such-program"], "no-such-program"),
    ],
)
def test_a_command_that_does_not_end_well(
    engine: ContainerEngine, real: Path, command: list[str], problem: str
) -> None:
    with pytest.raises(EngineError, match=problem):
        engine.run("small", command, ContainerLimits(timeout_s=0.5))
    assert containers(real) == ""


@needs_engine
def test_a_container_that_writes_without_end(
    engine: ContainerEngine, real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.images.engine._MOST_OUTPUT_BYTES", 1 << 20)
    script = (
        "i=0; while [ $i -lt 30000 ]; do echo $i 012345678901234567890123456789; i=$((i+1)); done"
    )
    with pytest.raises(EngineError, match="wrote more than 1 MiB"):
        engine.run("small", ["sh", "-c", script])
    assert containers(real) == ""


@needs_engine
def test_an_archive_that_is_none(engine: ContainerEngine, tmp_path: Path) -> None:
    (tmp_path / "none.tar").write_bytes(b"no image" * 1000)
    with pytest.raises(EngineError, match=r"none\.tar: cannot be loaded"):
        engine.load(tmp_path / "none.tar")


@needs_engine
def test_an_unknown_image_leaves_no_file(engine: ContainerEngine, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="unknown:1: the engine at unix://"):
        engine.save("unknown:1", tmp_path / "unknown.tar")
    assert list(tmp_path.iterdir()) == []


@needs_engine
def test_an_engine_that_is_stopped_while_a_container_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root_of_programs(tmp_path / "root", ["sleep", "sh"])
    with running_engine() as own:
        import_root(own, tmp_path / "root", "small")
        monkeypatch.setenv("DOCKER_HOST", address(own))
        (tmp_path / "shared").mkdir()
        os.mkfifo(tmp_path / "shared/started")

        def stop_when_it_runs() -> None:
            (tmp_path / "shared/started").read_text()
            stop(own)

        stopping = threading.Thread(target=stop_when_it_runs)
        stopping.start()
        script = 'trap "exit 7" TERM; echo > /shared/started; sleep 60 & wait'
        command = ["sh", "-c", script]
        with ContainerEngine.connect() as engine:
            try:  # the engine may still say how the container ended
                ended = engine.run("small", command, folders={tmp_path / "shared": "/shared"})
                assert ended == ContainerResult(7, b"", b"")
            except EngineError as error:
                assert str(error).startswith("small: cannot be run by the engine at unix://")
            stopping.join()
            with pytest.raises(EngineError, match="it is gone"):
                engine.inspect("small")


def test_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no socket")
    for wrong in (f"unix://{tmp_path}/none.sock", f"unix://{tmp_path}/file", "no address"):
        monkeypatch.setenv("DOCKER_HOST", wrong)
        with (
            pytest.raises(EngineError, match="no engine answers at") as error,
            ContainerEngine.connect(),
        ):
            pass
        assert wrong in str(error.value) and "DOCKER_HOST" in str(error.value)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("is gone half-way", "it is gone, or has no space left"),
        ("ends as if it were whole", "cannot be saved whole"),
        ("refuses", "no space left on device"),
    ],
)
def test_a_half_image_is_none(
    behaviour: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = oci_image(tmp_path / "image.tar", layer(folder("etc"), entry("etc/file", b"x" * 99)))
    (tmp_path / "earlier").mkdir()
    saved = tmp_path / "earlier/saved.tar"
    saved.write_text("what was there")
    with engine_that(behaviour, archive.read_bytes()) as there:
        monkeypatch.setenv("DOCKER_HOST", there)
        with ContainerEngine.connect() as engine, pytest.raises(EngineError, match=words) as error:
            engine.save("image:1", saved)
    assert str(error.value).startswith("image:1: cannot be saved") and there in str(error.value)
    assert saved.read_text() == "what was there" and list(saved.parent.iterdir()) == [saved]


def test_an_engine_without_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "image.tar").write_bytes(gzip.compress(b"anything"))
    with engine_that("has no space") as there:
        monkeypatch.setenv("DOCKER_HOST", there)
        with ContainerEngine.connect() as engine, pytest.raises(EngineError, match="no space left"):
            engine.load(tmp_path / "image.tar")


def test_an_engine_that_talks_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    with engine_that("talks nonsense") as there:
        monkeypatch.setenv("DOCKER_HOST", there)
        with (
            ContainerEngine.connect() as engine,
            pytest.raises(EngineError, match="cannot be inspected"),
        ):
            engine.inspect("image:1")
