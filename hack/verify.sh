#!/usr/bin/env bash
# Regenerates everything in a copy of the working tree, committed or not, and
# fails if a file comes out different. The tree itself is not touched.
#
#   hack/verify.sh [TARGET...]   those of the Makefile that generate; without any, all, of both projects.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/tree" "$copy/regenerated"

git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do
    # A file may be deleted and not yet committed.
    if [[ -e $file ]]; then printf '%s\0' "$file"; fi
  done > "$copy/files"
tar --create --null --files-from="$copy/files" | tar --extract --directory="$copy/tree"
tar --create --null --files-from="$copy/files" | tar --extract --directory="$copy/regenerated"

# What is generated is what the repository says, whatever images or versions the user has set.
unset MAKEFLAGS MAKEOVERRIDES VERSION IMAGE_TAG_BASE IMG BUNDLE_IMG SCORECARD_IMG CHANNELS DEFAULT_CHANNEL USE_IMAGE_DIGESTS
# In this order: the chart and the bundle are made of the manifests and the dashboard, the catalog of the bundle.
targets=("$@") sibling=()
((${#targets[@]})) || {
  targets=(tidy generate manifests api-docs dashboard plugin-picture diagrams redraw chart bundle catalog fmt)
  sibling=(generate manifests api-docs chart bundle catalog)
  # A picture that nothing draws does not come back.
  find "$copy/regenerated" -name '*.svg' -not -name icon.svg -not \( -path '*/docs/images/*' -exec grep --quiet '<metadata>' {} \; \) -delete
}
commands="make ${targets[*]}${sibling[*]:+ && make -C workloads ${sibling[*]}}"
regenerate() { make --no-print-directory --directory="$copy/regenerated" TOOLS="$PWD/bin/tools" "$@"; }
{ regenerate "${targets[@]}" && { ((!${#sibling[@]})) || regenerate --directory=workloads "${sibling[@]}"; }; } ||
  { echo "Nothing could be generated: run '$commands' and fix what it reports." >&2; exit 1; }

if ! diff --unified --recursive --new-file --exclude=bin "$copy/tree" "$copy/regenerated" > "$copy/diff"; then
  sed -e "s#$copy/tree/#a/#; s#$copy/regenerated/#b/#" -e 100q "$copy/diff"
  echo
  echo "These files are not what their sources generate:"
  awk -F '\t' -v root="$copy/regenerated/" '/^\+\+\+ / {print "  " substr($1, length(root) + 5)}' "$copy/diff"
  echo "Run '$commands' and commit the result."
  exit 1
fi
# Pictures of pages differ by the fonts of a machine, so that they are not taken again.
go run ./hack/pictures -verify
hack/crdify.sh
echo "Everything that is generated is up to date."
