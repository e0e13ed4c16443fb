"""Two images compared: what went, each file once, what may be run, and what it weighs."""

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from handmade import Entry, entry, folder, hard_link, layer, link, oci_image

from trimtab.debloating.images import provisioning
from trimtab.debloating.images.comparing import Compared, compare_images
from trimtab.debloating.images.comparison_record import comparison_record
from trimtab.debloating.images.exposure.binaries import binaries_of
from trimtab.debloating.images.provisioning import UNPACK_MB_PER_S
from trimtab.debloating.images.surface import surface_of
from trimtab.images.archives.opening import open_image
from trimtab.images.errors import ImageError
from trimtab.images.merging import merged_view
from trimtab.records.images.comparison import ImageComparison

MIB = 1 << 20
BASE: list[Entry] = [
    folder("bin"),
    entry("bin/dash", b"d" * 1000, mode=0o755),
    link("bin/sh", "dash"),
    hard_link("bin/hard", "bin/dash"),
    entry("bin/su", b"s" * 70, mode=0o4755),
    entry("usr/bin/python3.11", b"p" * 5000, mode=0o755),
    link("usr/bin/python3", "python3.11"),
    entry("usr/share/doc/dash/copyright", b"c" * 300),
    entry("old", b"o" * 400),
    entry("var/lib/dpkg/info/dash.list", b"/.\n/bin/dash\n/usr/share/doc/dash/copyright\n"),
    entry("opt/x-1.dist-info/RECORD", b"x/big.bin,,\n"),
    entry("opt/x/big.bin", b"\0" * (11 * MIB)),
]
UPPER: list[Entry] = [entry(".wh.old"), entry("bin/su", b"S" * 90, mode=0o4755)]
SLIM: list[Entry] = [
    folder("bin"),
    entry("bin/hard", b"d" * 1000, mode=0o755),
    link("bin/sh", "hard"),
    link("bin/su", "hard"),
    entry("usr/bin/python3.11", b"p" * 2000, mode=0o755),
    entry("trimtab/new", b"n" * 10, mode=0o755),
]


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    before = oci_image(tmp_path / "before.tar", layer(*BASE), layer(*UPPER))
    after = oci_image(tmp_path / "after", layer(*SLIM))
    return compare_images(open_image(before), open_image(after), gbit_per_s=0.5)


def test_what_went_is_counted_once(compared: Compared) -> None:
    gone = {file.path: (file.package, file.size_bytes) for file in compared.gone.removed}
    list_bytes = len(BASE[9][1])
    assert gone == {
        "/bin/dash": ("dpkg:dash", 0),  # another name of the file stayed
        "/bin/su": ("", 90),  # a link took its place; the lower layer's does not count
        "/opt/x-1.dist-info/RECORD": ("pip:x", 12),
        "/opt/x/big.bin": ("pip:x", 11 * MIB),
        "/usr/share/doc/dash/copyright": ("dpkg:dash", 300),
        "/var/lib/dpkg/info/dash.list": ("", list_bytes),
    }
    assert (compared.smaller_files, compared.smaller_bytes) == (1, 3000)
    before, after = compared.before, compared.after
    assert (before.files, after.files) == (7, 3)
    assert before.file_bytes == sum(size for _, size in gone.values()) + 1000 + 5000
    assert after.file_bytes == 1000 + 2000 + 10
    assert compared.gone.removed_files == 5  # a name is no file
    assert {kind: number for kind, (number, _) in compared.gone.removed_by_kind().items()} == {
        "other": 1, "programs": 1, "documentation": 1, "package databases": 1,
        "metadata of Python distributions": 1,
    }  # fmt: skip
    by_package = compared.gone.removed_by_package()
    assert by_package["dpkg:dash"] == (1, 300) and by_package["pip:x"] == (2, 11 * MIB + 12)
    assert sum(number for number, _ in by_package.values()) == compared.gone.removed_files


def test_what_may_be_run(compared: Compared) -> None:
    before, after = compared.before.surface, compared.after.surface
    assert before.setuid == ("/bin/su",) and after.setuid == ()
    assert before.shells == ("/bin/dash",) and after.shells == ("/bin/hard",)  # by their links
    assert before.interpreters == after.interpreters == ("/usr/bin/python3.11",)
    assert after.executables == ("/bin/hard", "/trimtab/new", "/usr/bin/python3.11")


def test_names_of_programs(tmp_path: Path) -> None:
    programs = "bash zsh rbash busybox perl5.36.0 node mawk python ssh hash nodejs pythonista R"
    members = [entry(f"bin/{name}", name.encode(), mode=0o755) for name in programs.split()]
    members += [entry("etc/bash", b"x"), entry("lib/ksh/a", b"x", mode=0o755)]
    capable = entry("bin/ping", b"x", mode=0o755)
    capable[0].pax_headers = {"SCHILY.xattr.security.capability": "\1\0\0\2"}
    path = oci_image(tmp_path / "image.tar", layer(*members, capable))
    surface = surface_of(merged_view(open_image(path)))
    assert surface.shells == ("/bin/bash", "/bin/busybox", "/bin/rbash", "/bin/zsh")
    found = ["R", "mawk", "node", "nodejs", "perl5.36.0", "python"]
    assert surface.interpreters == tuple(f"/bin/{name}" for name in found)
    assert surface.setuid == ("/bin/ping",)


def test_weight_and_provisioning(compared: Compared) -> None:
    weight = compared.before.weight
    layers = [len(layer(*members)) for members in (BASE, UPPER)]
    assert weight.uncompressed_bytes == sum(layers)
    assert 0 < weight.compressed_bytes < 100_000  # of zeros and repeated letters
    taken = compared.before.provisioning
    assert taken.transfer.wall_s == pytest.approx(weight.compressed_bytes * 8 / 0.5e9)
    assert taken.save.wall_s == weight.compress_s > 0 and taken.unpack.wall_s > 0
    assert [step.source for step in (taken.save, taken.transfer, taken.unpack)] == [
        "measured", "modelled", "measured",
    ]  # fmt: skip
    assert taken.total_s == taken.save.wall_s + taken.transfer.wall_s + taken.unpack.wall_s


def test_without_room_unpacking_is_modelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = oci_image(tmp_path / "image.tar", layer(*BASE))
    image = open_image(path)
    view = merged_view(image)
    roomy, _ = provisioning.provisioned(image, view, 1.0)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 9, 20_000_000)
    )
    weight, taken = provisioning.provisioned(image, view, 1.0)
    assert (weight.uncompressed_bytes, weight.compressed_bytes) == (
        roomy.uncompressed_bytes, roomy.compressed_bytes,
    )  # fmt: skip
    assert taken.unpack.source == "modelled" and taken.save.source == "measured"
    assert taken.unpack.wall_s == pytest.approx(len(layer(*BASE)) / 1e6 / UNPACK_MB_PER_S)


def test_nothing_temporary_stays(
    tmp_path: Path, compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    images = [open_image(tmp_path / name) for name in ("before.tar", "after")]
    again = compare_images(*images, gbit_per_s=0.5)
    assert again.gone == compared.gone
    assert list((tmp_path / "temporary").iterdir()) == []


def test_odd_images(tmp_path: Path) -> None:
    """Devices, pipes, an empty layer, a folder in place of a file, a damaged library."""
    odd = [
        entry("dev/null", kind=tarfile.CHRTYPE, devmajor=1, devminor=3),
        entry("run/pipe", kind=tarfile.FIFOTYPE),
        entry("was/file", b"x" * 100),
        entry("lib/cut.so", b"\x7fELF" + b"\2" * 96),
        entry("lib/empty"),
    ]
    before = open_image(oci_image(tmp_path / "before.tar", layer(*odd)))
    after = open_image(oci_image(tmp_path / "after.tar", layer(folder("was/file")), layer()))
    both = compare_images(before, after, gbit_per_s=1.0, count_gadgets=True)
    gone = {file.path: both.reason(file) for file in both.gone.removed}
    assert gone == {
        "/was/file": "something else is at its path",
        "/lib/cut.so": "nothing is at its path",
        "/lib/empty": "nothing is at its path",
    }
    assert both.before.binaries.others == ["/lib/cut.so"]
    assert both.before.gadgets == both.after.gadgets
    assert both.before.gadgets is not None and both.before.gadgets.mean_score is None
    comparison_record(both, "a", "b", 1.0).write(tmp_path / "both.json")
    same = compare_images(before, before, gbit_per_s=1.0)
    assert same.gone.removed == () and same.smaller_files == 0


def test_what_programs_do_with_a_network(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        "int listen(int, int); int socket(int, int, int); int accept_nothing(void) { return 1; }\n"
        "#ifdef SERVES\nint serve(void) { return listen(socket(2, 1, 0), 1); }\n#endif\n"
        "#ifdef CALLS\nint call(void) { return socket(2, 1, 0); }\n#endif\n"
        "#ifdef TLS\nvoid *SSL_new(void *context) { return context; }\n#endif\n"
    )
    members = []
    for name in ("NOTHING", "SERVES", "CALLS", "TLS"):
        made = tmp_path / f"{name}.so"
        subprocess.run(["gcc", "-shared", "-fPIC", f"-D{name}", source, "-o", made], check=True)
        members.append(entry(f"lib/{name}.so", made.read_bytes()))
    members.append(hard_link("lib/same.so", "lib/TLS.so"))
    image = open_image(oci_image(tmp_path / "image.tar", layer(*members)))
    found = binaries_of(image, merged_view(image), count_gadgets=True)
    assert found.listening == ["/lib/SERVES.so"]
    assert found.connecting == ["/lib/CALLS.so", "/lib/SERVES.so"]
    assert found.encrypting == ["/lib/TLS.so"]
    assert found.others == []
    assert found.gadgets is not None and set(found.gadgets) == {
        f"/lib/{name}.so" for name in ("NOTHING", "SERVES", "CALLS", "TLS")
    }
    assert all(gadgets.all > 0 for gadgets in found.gadgets.values())


def test_a_sparse_library_is_read_whole(tmp_path: Path) -> None:
    source, made = tmp_path / "holes.c", tmp_path / "holes.so"
    source.write_text("int listen(int, int); int f(void) { return listen(0, 0); }\n"
                      "__attribute__((aligned(65536))) int data[99999] = {1};\n")  # fmt: skip
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", made], check=True)
    subprocess.run(["fallocate", "--dig-holes", made], check=False)
    with (tmp_path / "layer.tar").open("wb") as file:
        subprocess.run(["tar", "--sparse", "-c", "holes.so"], cwd=tmp_path, stdout=file, check=True)
    data = (tmp_path / "layer.tar").read_bytes()
    image = open_image(oci_image(tmp_path / "image.tar", data))
    view = merged_view(image)
    node = view.root.children["holes.so"]
    found = binaries_of(image, view, count_gadgets=False)
    assert found.listening == ["/holes.so"] and found.gadgets is None
    assert node.size_bytes == made.stat().st_size


def test_a_layer_that_is_there_twice_weighs_once(tmp_path: Path) -> None:
    data = layer(entry("file", b"x" * 5000))
    paths = [oci_image(tmp_path / name, *layers) for name, layers in
             (("once", [data]), ("twice", [data, data]))]  # fmt: skip
    compared = compare_images(*map(open_image, paths), gbit_per_s=1.0)
    assert compared.before.weight == compared.after.weight
    assert compared.gone.removed == () and compared.before.files == compared.after.files


def test_the_document_keeps_all_of_it(compared: Compared, tmp_path: Path) -> None:
    written = comparison_record(compared, "before.tar", "after", 0.5)
    written.write(tmp_path / "both.json")
    read = ImageComparison.read(tmp_path / "both.json")
    assert read == written
    assert sum(file.size_bytes for file in read.removed) == read.removed_bytes
    assert (read.before.file_bytes, read.after.shells) == (
        compared.before.file_bytes, list(compared.after.surface.shells),
    )  # fmt: skip


def test_an_image_that_was_cut_off(tmp_path: Path) -> None:
    good = oci_image(tmp_path / "good", layer(*SLIM))
    bad = oci_image(tmp_path / "bad", layer(*BASE))
    blob = max((bad / "blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    blob.write_bytes(blob.read_bytes()[:-100])
    with pytest.raises(ImageError, match="bad"):
        compare_images(open_image(good), open_image(bad), gbit_per_s=1.0)
