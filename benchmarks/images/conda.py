"""A conda environment, made by conda's own tools from packages that are built on the spot.

    python conda.py DEBIAN ROOT PREFIX CHANNEL

Conda's channels cannot be reached from everywhere, and what is in them is not what is measured. So
`rattler-build` builds the packages of a channel of our own, in the folder CHANNEL: Python's
interpreter, standard library and the libraries that these load, each a package, of the files that
Debian installed below ROOT, and numpy of its wheel; one package is ours, `noarch`, with an entry
point. `py-rattler` indexes the channel, solves for that package and installs what it takes in the
folder ROOT/PREFIX, as for PREFIX: records in `conda-meta`, the prefix put in place of the builds'
placeholder, hard links from its cache of packages. Debian's interpreter is taken as it is but for
its run path, which is conda's; it looks for packages in `dist-packages`, a link to `site-packages`.
"""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import rattler
import rattler_build
from rattler.index import index_fs

PYTHON = "3.11"
_STANDARD = Path(f"usr/lib/python{PYTHON}")
_OF_GLIBC = re.compile(r"lib(c6|crypt1|gcc-s1)$|libc-")
_MEASURE = """
import sqlite3, ssl, sys
from importlib import metadata, resources
from pathlib import Path
import numpy
def main():
    count, what = int(sys.argv[1]), sys.argv[2]
    matrix = numpy.arange(count * count, dtype=float).reshape(count, count) + numpy.eye(count)
    table = sqlite3.connect(":memory:")
    table.execute("create table value (x real)")
    table.executemany("insert into value values (?)", [(x,) for x in matrix.sum(axis=0)])
    print(table.execute("select round(sum(x), 3) from value").fetchone()[0])
    print(round(float(getattr(numpy.linalg, what)(matrix)), 3))
    print("of conda:", Path(sys.prefix, "conda-meta/history").is_file())
    print(metadata.version("measure"), resources.files("measure").joinpath("unit").read_text())
"""


def main() -> None:
    """Build the channel and make the environment."""
    debian, root, prefix, channel = map(Path, sys.argv[1:])
    staged = channel / "staged"
    libraries = _stage_python(debian, staged / "python")
    for package, files in libraries.items():
        for file in files:
            _take(file, staged / package / "lib" / file.name)
    for package in libraries:
        _build(channel, package, _version(debian, package), [])
    _build(channel, "python", _version(debian, f"python{PYTHON}"), list(libraries))
    numpy = _stage_wheel(staged / "numpy", "numpy")
    _build(channel, "numpy", numpy, [f"python {PYTHON}.*"])
    _stage_measure(staged / "measure")
    _build(channel, "measure", "1.2", [f"python >={PYTHON}", "numpy"], "measure = measure:main")
    asyncio.run(_install(channel, root / prefix.relative_to("/"), prefix))


async def _install(channel: Path, folder: Path, prefix: Path) -> None:
    await index_fs(channel)
    found = await rattler.solve(
        [rattler.Channel(channel.as_uri())],
        ["measure"],
        virtual_packages=rattler.VirtualPackage.detect(),
        platforms=["linux-64", "noarch"],
    )
    await rattler.install(
        found,
        folder,
        cache_dir=channel / "pkgs",
        show_progress=False,
        alternative_target_prefix=prefix,
    )


def _stage_python(root: Path, staged: Path) -> dict[str, list[Path]]:
    """Stage the interpreter, and return what it and its modules load, by Debian's packages."""
    standard = staged / "lib" / _STANDARD.name
    shutil.copytree(root / _STANDARD, standard, ignore_dangling_symlinks=True)
    (standard / "sitecustomize.py").unlink(missing_ok=True)  # Debian's, of its crash reports
    _take(root / f"usr/bin/python{PYTHON}", staged / f"bin/python{PYTHON}")
    for name in ("python", "python3"):
        (staged / "bin" / name).symlink_to(f"python{PYTHON}")
    (standard / "site-packages").mkdir()
    (standard / "site-packages/README.txt").write_text("Packages go here.\n")
    (standard / "dist-packages").symlink_to("site-packages")
    programs = [staged / f"bin/python{PYTHON}", *(standard / "lib-dynload").iterdir()]
    found: dict[str, list[Path]] = {}
    for program in programs:
        back = "$ORIGIN/../lib" if program.parent.name == "bin" else "$ORIGIN/../.."
        _run("patchelf", "--force-rpath", "--set-rpath", back, program)
    for file in _loaded(root, programs):
        package = _package(root, file)
        if not _OF_GLIBC.match(package):
            found.setdefault(package, []).append(file)
    return dict(sorted(found.items()))


def _loaded(root: Path, programs: list[Path]) -> list[Path]:
    """Return the libraries of the root that programs load, by the names that they ask for."""
    names, folders = set[str](), (root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu")
    open_ends = list(programs)
    found: dict[str, Path] = {}
    while open_ends:
        for name in _run("patchelf", "--print-needed", open_ends.pop()).split():
            file = next((folder / name for folder in folders if (folder / name).exists()), None)
            if name not in names and file is not None:
                names.add(name)
                found[name] = file
                open_ends.append(file)
    return sorted(found.values())


def _package(root: Path, file: Path) -> str:
    at = str(file.parent.relative_to(root).joinpath(file.name))
    for name in (f"/{at}", f"/{at.removeprefix('usr/')}"):
        said = subprocess.run(
            ["chroot", root, "dpkg", "-S", name], capture_output=True, text=True
        ).stdout
        if said:
            return said.partition(":")[0]
    raise SystemExit(f"{file}: of no package of Debian's")


def _version(root: Path, package: str) -> str:
    """Return the version of Debian's package as one of conda's."""
    said = _run("chroot", root, "dpkg-query", "-W", "-f", "${source:Upstream-Version}\n", package)
    return re.sub(r"[^0-9a-z.]", ".", said.splitlines()[0].rpartition("+")[0] or said.strip())


def _stage_wheel(staged: Path, package: str) -> str:
    """Stage a wheel's files, as pip installs them, and return its version."""
    packages = staged / f"lib/python{PYTHON}/site-packages"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
    _run(*pip, "--python-version", PYTHON, "--only-binary", ":all:", "--target", packages, package)
    shutil.rmtree(packages / "bin", ignore_errors=True)
    [information] = packages.glob(f"{package}-*.dist-info")
    return information.name.removesuffix(".dist-info").partition("-")[2]


def _stage_measure(staged: Path) -> None:
    packages = staged / f"lib/python{PYTHON}/site-packages"
    (packages / "measure").mkdir(parents=True)
    (packages / "measure/__init__.py").write_text(_MEASURE)
    (packages / "measure/unit").write_text("metres")
    information = packages / "measure-1.2.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: measure\nVersion: 1.2\n")
    (information / "INSTALLER").write_text("conda\n")


def _build(channel: Path, name: str, version: str, runs_with: list[str], entry: str = "") -> None:
    """Build a package of what is staged for it, by a recipe."""
    recipe = channel / "recipes" / name / "recipe.yaml"
    recipe.parent.mkdir(parents=True)
    lines = [
        f"package: {{name: {name}, version: '{version}'}}",
        f"source: {{path: {channel / 'staged' / name}, target_directory: files}}",
        "build:",
        "  number: 0",
        "  script: cp -a files/. $PREFIX",
        *(["  noarch: python", f"  python: {{entry_points: ['{entry}']}}"] if entry else []),
        f"requirements: {{run: {runs_with}}}",
    ]
    recipe.write_text("\n".join(lines) + "\n")
    rattler_build.build_recipes([recipe], channel=[channel.as_uri()], output_dir=channel)


def _take(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, place)


def _run(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
