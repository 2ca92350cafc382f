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
cp --parents internal/run/trial/testdata/debts.yaml "$pages"

go run ./site -out "$pages/docs/generated"

# The gallery: reports of runs that are kept in the repository, each with the raw output
# that it leads to. Its page is no .md there, since its links lead to what is written here.
# NAME+PART is another run for the page of NAME.
gallery=$pages/docs/gallery
cp site/gallery.in "$gallery.md"
mkdir -p "$gallery/api"
bin/tare report docs/tutorial/api --out "$gallery/api/report.html" >/dev/null
for archive in docs/gallery/*.tare.tar.zst; do
	name=$(basename "$archive" .tare.tar.zst)
	case $name in *+*) continue ;; esac
	bin/tare report "$archive" --out "$gallery/$name.html" >/dev/null # which checks the archive
	zstd --quiet --decompress --stdout "$archive" | tar -x -C "$gallery" --no-same-owner --wildcards "$name/raw/*"
	mv "$gallery/$name.html" "$gallery/$name/report.html"
	if [ -e "published/$name.yaml" ]; then # a published study measured again
		parts=("docs/gallery/$name"+*.tare.tar.zst)
		[ -e "${parts[0]}" ] || parts=()
		bin/tare replicate "$name" "$archive" "${parts[@]}" --out "$gallery/$name/report.html" >"$gallery/$name/claims.txt"
	fi
done

# Not --quiet, which hides warnings from strict mode.
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --config-file site/mkdocs.yml
echo "build/site/html/index.html"
