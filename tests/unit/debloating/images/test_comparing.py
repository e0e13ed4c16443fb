"""Two images compared: what went, each file once, what may be run, and what it weighs."""

from pathlib import Path

import pytest
from handmade import Entry, entry, folder, hard_link, layer, link, oci_image

from trimtab.debloating.images.comparing import Compared, compare_images
from trimtab.debloating.images.provisioning import SAVE_MB_PER_S, UNPACK_MB_PER_S
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
    modelled = compared.before.provisioning
    assert modelled.transfer_s == pytest.approx(weight.compressed_bytes * 8 / 0.5e9)
    assert modelled.save_s == pytest.approx(sum(layers) / 1e6 / SAVE_MB_PER_S)
    assert modelled.unpack_s == pytest.approx(sum(layers) / 1e6 / UNPACK_MB_PER_S)
    assert modelled.total_s == modelled.save_s + modelled.transfer_s + modelled.unpack_s


def test_a_layer_that_is_there_twice_weighs_once(tmp_path: Path) -> None:
    data = layer(entry("file", b"x" * 5000))
    paths = [oci_image(tmp_path / name, *layers) for name, layers in
             (("once", [data]), ("twice", [data, data]))]  # fmt: skip
    compared = compare_images(*map(open_image, paths), gbit_per_s=1.0)
    assert compared.before.weight == compared.after.weight
    assert compared.gone.removed == () and compared.before.files == compared.after.files


def test_the_document_keeps_all_of_it(compared: Compared, tmp_path: Path) -> None:
    written = compared.record("before.tar", "after", 0.5)
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
