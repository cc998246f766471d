#!/usr/bin/env bash
# Writes what is submitted to the community's catalog of a project: operators/PACKAGE, as k8s-operatorhub/community-operators
# has it, with the bundle of a version, ci.yaml, and the catalog's template. See docs/maintainers/operatorhub.md.
#
#   hack/submission.sh [--project DIR] [--bundle DIR] [--catalog DIR] [--bundle-image REF] [--reviewers A,B] --output DIR
#
# The project is that of the root, or --project workloads. Bundle and catalog are those of the release in dist/, or without
# one those of the project, whose images have a tag. Images of bundles are those of the catalog; --bundle-image is another
# one for this version, as the community's pipeline names it when it has built it. The same arguments give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/project.sh
source hack/project.sh

usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

folder='' bundle='' catalog='' bundle_image='' reviewers='' output=''
while (($#)); do
  case $1 in
    --project) folder=${2:?} ;;
    --bundle) bundle=${2:?} ;;
    --catalog) catalog=${2:?} ;;
    --bundle-image) bundle_image=${2:?} ;;
    --reviewers) reviewers=${2:?} ;;
    --output) output=${2:?} ;;
    *) usage ;;
  esac
  shift 2
done
[[ $output ]] || usage
folder=${folder#.}
use_project "$folder"

refuse() {
  echo "There is no submission: $*" >&2
  exit 1
}

released=dist/bundle${folder:+-$folder}
if [[ -z $bundle ]]; then
  bundle=${folder:+$folder/}bundle
  if [[ -d $released ]]; then bundle=$released; fi
fi
if [[ -z $catalog ]]; then
  catalog=catalog
  if [[ -d dist/catalog ]]; then catalog=dist/catalog; fi
fi
catalog=$catalog/$package

csv=$bundle/manifests/$package.clusterserviceversion.yaml
version=$(sed -n 's/^  version: //p' "$csv")
[[ $version ]] || refuse "$csv has no version. Run 'make bundle'."
file=$catalog/bundles/v$version.yaml
[[ -e $file ]] || refuse "$catalog has no v$version, which $bundle is. Run 'make catalog', or 'make release' again."

# entries prints YAML documents as entries of a list.
entries() { sed '/^#/d' | awk '/^---$/ {begins = 1; next} {print (begins || NR == 1 ? "- " : "  ") $0; begins = 0}'; }

# image_of FILE prints the image of a bundle in the catalog.
image_of() {
  if [[ $bundle_image && $1 == "$file" ]]; then echo "$bundle_image"; else sed -n 's/^image: //p' "$1"; fi
}

# template prints the catalog in the form that opm renders it from: a bundle by its image alone.
template() {
  local one
  printf -- '---\nschema: olm.template.basic\nentries:\n'
  entries < "$catalog/package.yaml"
  entries < "$catalog/channels.yaml"
  for one in "$catalog"/bundles/*.yaml; do
    printf -- '- schema: olm.bundle\n  image: %s\n' "$(image_of "$one")"
  done
}

# settings prints ci.yaml: that the graph is the template's, and who may approve later versions.
settings() {
  cat <<'YAML'
---
# Of a bundle that no template has yet: it names the version that it replaces.
updateGraph: replaces-mode
fbc:
  enabled: true
  catalog_mapping:
  - template_name: basic.yaml
    catalog_names: [latest]
    type: olm.template.basic
YAML
  [[ $reviewers ]] || return 0
  local names
  IFS=', ' read -ra names <<< "$reviewers"
  printf 'addReviewers: true\nreviewers:\n'
  printf -- '- %s\n' "${names[@]}"
}

target=$output/operators/$package
rm -rf "$target"
mkdir -p "$target/catalog-templates" "$target/$version"
cp -R "$bundle/manifests" "$bundle/metadata" "$bundle/tests" "$target/$version/"
template > "$target/catalog-templates/basic.yaml"
settings > "$target/ci.yaml"

echo "$target has $package.v$version, from $bundle and $catalog."
! grep --quiet --extended-regexp '^ *(- )?(image|containerImage): [^@]*$' "$csv" ||
  echo "It names images by tag: submit what 'make release' has made, which names them by digest."
[[ $reviewers ]] || echo "Its ci.yaml names no reviewers: give REVIEWERS, the GitHub names of who may approve later versions, with commas."
