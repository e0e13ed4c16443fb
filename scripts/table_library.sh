#!/bin/sh
# `make table-library`: fetches the library that the report's tables use, with its licence, again.
# A new version takes its number and its digest here.
set -eu
version=3.1.5
digest=38017a5586acd9c6eb6bbfe8b6938e1a25bdc717c5acfcb07e0c9d663282c59d
templates=$(cd "$(dirname "$0")/.." && pwd)/src/trimtab/evaluation/templates
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm pack --silent "datatables.net@$version" > /dev/null
tar -xzf "datatables.net-$version.tgz"
echo "$digest  package/js/dataTables.min.js" | sha256sum --check --quiet
cp package/js/dataTables.min.js "$templates/datatables.min.js"
tr -d '\r' < package/License.txt > "$templates/datatables.licence.txt"
chmod 644 "$templates"/datatables.*
