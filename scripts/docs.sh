#!/usr/bin/env bash
# Builds the documentation site from docs/ with MkDocs and its theme Material: into
# build/site/html. A link that leads nowhere, also to a heading, fails.
set -euo pipefail

cd "$(dirname "$0")/.."
site=$PWD/build/site
venv=$site/venv pages=$site/pages

# MkDocs, as site/requirements.txt pins it.
if ! cmp -s site/requirements.txt "$venv/installed"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement site/requirements.txt
	cp site/requirements.txt "$venv/installed"
fi

# The pages, and the files that they link to, in the same places.
rm -rf "$pages"
mkdir -p "$pages"
cp ./*.md LICENSE CITATION.cff "$pages"
cp -r --parents docs examples schema deploy published web/README.md site/assets "$pages"
find internal -path '*/testdata/*' -name README.md -exec cp --parents {} "$pages" \;
cp --parents internal/trial/testdata/debts.yaml "$pages"

go run ./site -out "$pages/docs/reference"

# The gallery: reports of runs that are kept in the repository. Its page is no .md
# there, since its links lead to what is written here.
mkdir -p "$pages/docs/gallery"
cp site/gallery.in "$pages/docs/gallery.md"
bin/tare report docs/tutorial/api --out "$pages/docs/gallery/api.html" >/dev/null

# Not --quiet, which hides warnings from strict mode.
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --config-file site/mkdocs.yml
echo "build/site/html/index.html"
