"""Known vulnerabilities: versions as package managers order them, advisories as OSV writes them."""

import itertools
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from handmade import Entry, entry, layer, oci_image

from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.images.comparing import Compared, compare_images
from trimtab.debloating.images.view_tree import view_tree
from trimtab.debloating.images.vulnerabilities.advisories import Advisory, read_advisories
from trimtab.debloating.images.vulnerabilities.packages import packages_in, packages_left
from trimtab.debloating.images.vulnerabilities.versions import compares
from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.merging import merged_view

STATUS = b"""Package: libssl3
Status: install ok installed
Architecture: amd64
Source: openssl
Version: 3.0.11-1~deb12u2
Description: a library
 of more than one line: here

Package: login
Status: install ok installed
Source: shadow (1:4.13+dfsg1-1)
Version: 1:4.13+dfsg1-1+b1

Package: gone
Status: deinstall ok config-files
Version: 1
"""
METADATA = "opt/Web_Frame-2.1.0+cpu.dist-info"
INNER = "app/node_modules/@a/b/node_modules/c"
DEBIAN: list[Entry] = [
    entry("etc/os-release", b'ID=debian\nVERSION_ID="12"\n'),
    entry("var/lib/dpkg/status", STATUS),
    entry("var/lib/dpkg/info/libssl3:amd64.list", b"/.\n/usr/lib/libssl.so.3\n"),
    entry("var/lib/dpkg/info/login.list", b"/.\n/usr/bin/login\n"),
    entry("usr/lib/libssl.so.3", b"ssl"),
    entry("usr/bin/login", b"login"),
    entry(f"{METADATA}/METADATA", b"Name: Web_Frame\nVersion: 2.1.0+cpu\n\nText"),
    entry(f"{METADATA}/RECORD", b"web_frame/__init__.py,,\n"),
    entry("opt/web_frame/__init__.py", b"import os"),
    entry("app/node_modules/@a/b/package.json", b'{"name": "@a/b", "version": "1.2.3"}'),
    entry(f"{INNER}/package.json", b'{"name": "c", "version": "0.1.0"}'),
    entry(f"{INNER}/index.js", b""),
    entry("app/node_modules/bad/package.json", b"no JSON"),
]  # fmt: skip
ALPINE: list[Entry] = [
    entry("etc/os-release", b"ID=alpine\nVERSION_ID=3.19.1\n"),
    entry("lib/apk/db/installed",
          b"C:Q1x=\nP:libcrypto3\nV:3.1.4-r2\no:openssl\nF:lib\nR:libcrypto.so.3\n\n"
          b"P:musl\nV:1.2.4_git20230717-r4\no:musl\nF:lib\nR:ld-musl-x86_64.so.1\nF:\nR:top\n\n"),
    entry("lib/libcrypto.so.3", b"crypto"),
    entry("lib/ld-musl-x86_64.so.1", b"musl"),
    entry("top", b"x"),
]  # fmt: skip


def advisory(name: str, ecosystem: str, package: str, *events: dict[str, str], **more: Any) -> Any:
    """As osv.dev exports it."""
    kind = "SEMVER" if ecosystem == "npm" else "ECOSYSTEM"
    affected = {
        "package": {"ecosystem": ecosystem, "name": package, "purl": f"pkg:x/{package}"},
        "ranges": [
            {"type": kind, "events": list(events)},
            {"type": "GIT", "repo": "x", "events": []},
        ],
    }
    return {"id": name, "modified": "2024-05-06T07:08:09Z", "schema_version": "1.6.0",
            "affected": [affected], **more}  # fmt: skip


OPENSSL = advisory(
    "DSA-5764-1", "Debian:12", "openssl", {"introduced": "0"}, {"fixed": "3.0.14-1~deb12u2"},
    upstream=["CVE-2024-6119", "CVE-2024-5535"],
)  # fmt: skip
ADVISORIES = [
    OPENSSL,
    advisory("DEBIAN-CVE-2024-5535", "Debian:12", "openssl", {"introduced": "0"}),
    advisory("DSA-1", "Debian:11", "openssl", {"introduced": "0"}, upstream=["CVE-2000-1"]),
    advisory("DSA-2", "Debian:12", "openssl", {"introduced": "0"}, {"fixed": "3.0.11-1~deb12u1"}),
    advisory("DSA-3", "Debian:12", "openssl", {"introduced": "0"}, withdrawn="2024-01-01"),
    advisory("DSA-4", "Debian:12", "shadow", {"introduced": "0"},
             {"last_affected": "1:4.13+dfsg1-1"}),
    advisory("PYSEC-2024-1", "PyPI", "web-frame", {"introduced": "2.0"}, {"last_affected": "2.1.0"},
             aliases=["CVE-2024-1", "GHSA-aaaa"]),
    advisory("GHSA-aaaa", "PyPI", "web-frame", {"introduced": "0"}, {"fixed": "1.0"},
             {"introduced": "2.0.0rc1"}, {"fixed": "2.1.1"}, aliases=["CVE-2024-1"]),
    advisory("GHSA-bbbb", "npm", "@a/b", {"introduced": "1.0.0"}, {"fixed": "1.2.3"}),
    advisory("GHSA-cccc", "npm", "c", {"introduced": "0"}, {"fixed": "0.1.1-rc.1"}),
    advisory("RUST-1", "crates.io", "c", {"introduced": "0"}),
]  # fmt: skip


def tree_of(path: Path, members: list[Entry]) -> FileTree:
    image = open_image(oci_image(path, layer(*members)))
    return view_tree(image, merged_view(image))


def without(members: list[Entry], *names: str) -> list[Entry]:
    return [member for member in members if not member[0].name.startswith(names)]


def compared(folder: Path, before: list[Entry], after: list[Entry], *advisories: Any) -> Compared:
    (folder / "known.json").write_text(json.dumps(list(advisories)))
    images = [
        open_image(oci_image(folder / f"{number}.tar", layer(*members)))
        for number, members in enumerate((before, after))
    ]
    return compare_images(*images, gbit_per_s=1.0, advisories=folder / "known.json")


def names(side: Any) -> list[tuple[str, str]]:
    return [(found.package, found.name) for found in side.vulnerabilities]


def test_packages_are_named_as_advisories_name_them(tmp_path: Path) -> None:
    found = {(it.ecosystem, it.name, it.version, it.source, it.source_version): set(it.paths)
             for it in packages_in(tree_of(tmp_path / "debian.tar", DEBIAN))}  # fmt: skip
    assert found == {
        ("Debian:12", "libssl3", "3.0.11-1~deb12u2", "openssl", "3.0.11-1~deb12u2"): {
            "/usr/lib/libssl.so.3"},
        ("Debian:12", "login", "1:4.13+dfsg1-1+b1", "shadow", "1:4.13+dfsg1-1"): {"/usr/bin/login"},
        ("PyPI", "web-frame", "2.1.0+cpu", "web-frame", "2.1.0"): {
            "/opt/web_frame/__init__.py", f"/{METADATA}/RECORD", f"/{METADATA}/METADATA"},
        ("npm", "@a/b", "1.2.3", "@a/b", "1.2.3"): {"/app/node_modules/@a/b/package.json"},
        ("npm", "c", "0.1.0", "c", "0.1.0"): {
            f"/{INNER}/package.json", f"/{INNER}/index.js"},
    }  # fmt: skip
    alpine = packages_in(tree_of(tmp_path / "alpine.tar", ALPINE))
    assert [(it.ecosystem, it.name, it.source, len(it.paths)) for it in alpine] == [
        ("Alpine:v3.19", "libcrypto3", "openssl", 1), ("Alpine:v3.19", "musl", "musl", 2),
    ]  # fmt: skip


def test_vulnerabilities_before_and_after_the_database_went(tmp_path: Path) -> None:
    slim = without(DEBIAN, "var/lib", "etc", "usr/bin", "opt/Web", "app")
    both = compared(tmp_path, DEBIAN, slim, *ADVISORIES)
    openssl = [("libssl3", "CVE-2024-5535"), ("libssl3", "CVE-2024-6119")]
    web = [("web-frame", "CVE-2024-1")]
    assert names(both.before) == [*openssl, ("login", "DSA-4"), *web, ("c", "GHSA-cccc")]
    assert names(both.after) == [*openssl, *web]  # a file of both is still there
    known = both.before.vulnerabilities or []
    assert known[0].advisories == ["DEBIAN-CVE-2024-5535", "DSA-5764-1"]
    assert known[3].advisories == ["GHSA-aaaa", "PYSEC-2024-1"]
    assert known[3].version == "2.1.0+cpu"
    assert len(both.before.packages) == 5 and len(both.after.packages) == 2


def test_a_package_that_was_updated_and_one_whose_database_alone_stayed(tmp_path: Path) -> None:
    newer = STATUS.replace(b"3.0.11-1~deb12u2", b"3.0.14-1~deb12u2")
    after = [
        *without(DEBIAN, "var/lib/dpkg/status", "usr/bin"),
        entry("var/lib/dpkg/status", newer),
    ]
    both = compared(tmp_path, DEBIAN, after, OPENSSL, ADVISORIES[5])
    assert names(both.before) == [
        ("libssl3", "CVE-2024-5535"), ("libssl3", "CVE-2024-6119"), ("login", "DSA-4"),
    ]  # fmt: skip
    assert names(both.after) == []  # fixed; and of login no file is there
    before = packages_in(tree_of(tmp_path / "before.tar", DEBIAN))
    no_lists = tree_of(tmp_path / "no_lists.tar", without(after, "var/lib/dpkg/info"))
    assert "login" not in {it.name for it in packages_left(before, no_lists)}


def test_no_advisories_are_no_vulnerabilities_known(tmp_path: Path) -> None:
    images = [open_image(oci_image(tmp_path / name, layer(*ALPINE))) for name in "ab"]
    both = compare_images(*images, gbit_per_s=1.0)
    assert both.before.vulnerabilities is None and both.after.vulnerabilities is None


@pytest.mark.parametrize("form", ["file", "folder", "archive"])
def test_where_advisories_lie(form: str, tmp_path: Path) -> None:
    place = tmp_path / "advisories"
    if form == "file":
        place.write_text(json.dumps(OPENSSL))
    elif form == "folder":
        (place / "2024/05").mkdir(parents=True)
        (place / "2024/05/DSA-5764-1.json").write_text(json.dumps(OPENSSL))
        (place / "README.md").write_text("no advisory")
    else:
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("DSA-5764-1.json", json.dumps(OPENSSL))
            archive.writestr("README.md", "no advisory")
    (found,) = read_advisories(place)
    assert found == Advisory.parse(OPENSSL)
    assert found is not None and found.vulnerabilities == {"CVE-2024-6119", "CVE-2024-5535"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "no advisory in the OSV format"),
        ("[1]", "has no `id`"),
        ('{"id": 5}', "has no `id`"),
        ('{"id": "A", "affected": {}}', "`affected` is no list"),
        ('{"id": "A", "affected": [{"package": []}]}', "^[^:]*known.json"),
        ('{"id": "A", "affected": [{"ranges": [{"type": "SEMVER", "events": [1]}]}]}', "`events`"),
        ("[" * 100_000, "no advisory"),
    ],
)
def test_what_is_no_advisory(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(text)
    if text.endswith('"package": []}]}'):  # as good as without one
        assert len(list(read_advisories(tmp_path))) == 1
        return
    with pytest.raises(UserError, match=problem):
        list(read_advisories(tmp_path / "known.json"))


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        list(read_advisories(tmp_path / "missing"))
    with pytest.raises(UserError, match=r"expected files \*.json"):
        list(read_advisories(tmp_path))
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04" + b"\0" * 50)
    with pytest.raises(UserError, match=r"cut\.zip"):
        list(read_advisories(tmp_path / "cut.zip"))


VERSIONS = [
    *("0", "1", "1.0", "1.0~rc1", "1.0~rc1-1", "1.0-1", "1.0-1+b1", "1.0-1~deb12u1", "1.00", "1a"),
    *("1.0+dfsg", "1.0a", "1.0a1", "1.0.1", "1.10", "1:0.1", "1.0~~", "1.0~", "01"),
    "1-0",
    "1-0~",
    "1-00",
    "1",
    "1:1-0",
    "1:1",
]


def test_debian_versions_are_in_dpkg_s_order() -> None:
    if shutil.which("dpkg") is None:
        pytest.skip("dpkg is missing: apt-get install dpkg")
    compare = compares("Debian:12")
    assert compare is not None
    script = []
    for one, other in itertools.combinations(VERSIONS, 2):
        here, there = compare(one), compare(other)
        relation = "lt" if here < there else "gt" if here > there else "eq"
        script.append(f"dpkg --compare-versions '{one}' {relation} '{other}' || echo {one} {other}")
    wrong = subprocess.run(["sh", "-c", "\n".join(script)], capture_output=True, check=False)
    assert wrong.stdout == b""


def test_alpine_and_other_orders() -> None:
    rising = ["1.2_alpha1", "1.2_beta", "1.2_rc1", "1.2_rc2", "1.2", "1.2_git20230717-r4", "1.2_p1",
              "1.2a", "1.2.0", "1.2.1-r0", "1.2.1-r10", "1.3", "1.10", "12.0"]  # fmt: skip
    for ecosystem, versions in {
        "Alpine:v3.19": rising,
        "PyPI": ["1.0.dev1", "1.0rc1", "1.0", "1.0.post1", "1.10", "1!0"],
        "npm": [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-rc.2",
            "1.0.0-rc.10",
            "1.0.0",
            "1.2.0",
            "1.10.0",
        ],
    }.items():
        compare = compares(ecosystem)
        assert compare is not None
        assert sorted(set(versions), key=compare) == versions
        with pytest.raises(ValueError):
            compare("no version")
    assert compares("crates.io") is None
    with pytest.raises(ValueError):
        (compares("Alpine") or str)("1.2_what")
