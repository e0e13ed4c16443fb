#!/usr/bin/env bash
# build_image.sh NAME ARCHIVE: an image of examples/images/ as an archive, from the registries of
# packages alone: Debian's by debootstrap and apt, Python's by pip. No container engine takes part,
# and no registry of images. NAME is `python`, `pytorch` or `pytorch_larger`.
# Needs root, debootstrap and buildah (make deps-images).
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

refuse() { echo "build_image.sh: $1" >&2; exit 1; }

[ $# = 2 ] || { sed -n 2,5p "$0" >&2; exit 2; }
name=$1 archive=$(cd "$here" && realpath -m "$2")
case $name in python | pytorch | pytorch_larger) ;; *) refuse "$name: no such image; there are python, pytorch and pytorch_larger" ;; esac
requirements=examples/images/pytorch/$name.txt
recipe=examples/images/pytorch
[ -f "$requirements" ] || recipe=examples/images/$name
[ "$(id -u)" = 0 ] || refuse "debootstrap needs root"
for program in debootstrap buildah; do
  command -v $program > /dev/null || refuse "$program is missing: make deps-images"
done

kept=$(realpath -m build/images)  # what images have in common
base=$kept/debian.tar wheels=$kept/wheels
mkdir -p "$wheels" "$(dirname "$archive")"
exec 9> "$kept/lock"
flock 9
context=$(mktemp -d -p "$kept")
# A builder that is killed leaves its file systems mounted.
clean() {
  awk -v below="$context/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | tac \
    | xargs --no-run-if-empty --delimiter '\n' umount
  rm -rf --one-file-system "$context"
}
trap clean EXIT
storage=$context/storage
builder() { buildah --root "$storage/data" --runroot "$storage/run" --storage-driver overlay "$@"; }

if [ ! -f "$base" ]; then
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
  debootstrap --variant=minbase bookworm "$context/debian" "$mirror" > "$kept/debootstrap.log" \
    || refuse "debootstrap failed: $kept/debootstrap.log"
  rm -rf "$context"/debian/var/{cache/apt/*.bin,cache/apt/archives/*.deb,lib/apt/lists/*,log/*.log}
  tar --numeric-owner --xattrs --one-file-system -C "$context/debian" -cf "$base.partial" .
  mv "$base.partial" "$base"
  rm -rf --one-file-system "$context/debian"
fi

mkdir -p "$context/src/trimtab"
cp src/trimtab_trial.py "$context/src"
cp src/trimtab/__init__.py "$context/src/trimtab"
cp -r src/trimtab/workloads "$context/src/trimtab"
find "$context/src" -name __pycache__ -prune -exec rm -r {} +
arguments=()
if [ -f "$requirements" ]; then
  # For the Python of the image, whichever runs here: Debian 12 has 3.11.
  .venv/bin/pip download --quiet --python-version 3.11 --only-binary :all: --dest "$wheels" \
    --requirement "$requirements"
  cp -rl "$wheels" "$context/wheels"
  cp "$requirements" "$context/requirements.txt"
  arguments=(--build-arg REQUIREMENTS=requirements.txt)
fi

container=$(builder from scratch)
builder add --quiet "$container" "$base" / > /dev/null
builder commit --quiet --rm "$container" debian:bookworm-slim > /dev/null
builder build --quiet --pull-never --isolation chroot --network host \
  --file "$recipe/Containerfile" --tag "$name" "${arguments[@]}" "$context" > /dev/null
rm -f "$archive.partial"
builder push --quiet "$name" "docker-archive:$archive.partial:$name"
mv "$archive.partial" "$archive"
