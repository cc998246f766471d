#!/usr/bin/env bash
# Writes the file-based catalog (FBC) that OLM installs from.
#
#   hack/catalog.sh [--project DIR] [--bundle DIR] [--catalog DIR] [--bundle-image REF] [--version X.Y.Z] [--default-channel NAME]
#     Renders bundle/ into catalog/: the package, and one file for this version. The files of earlier versions
#     and the channels, which a person writes, stay as they are. So does the file of this version once it names its
#     image by digest: it is released then, and is refused another image. The same bundle gives the same bytes.
#     With --version it refuses a bundle of another one.
#
#   hack/catalog.sh [--project DIR] --output DIR [--bundle-image REF] BUNDLE_DIR...
#     Writes DIR/catalog and DIR/catalog.Dockerfile with these bundles in both channels: the first is the oldest,
#     and each of the others replaces the one before it. Other packages in DIR/catalog stay. For tests.
#
# The project is that of the root, or --project workloads: one catalog has both packages. A bundle's image has the name
# that a release gives it, unless --bundle-image says otherwise; in it, opm puts the version for {{.Version}}. No registry
# is asked.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
readonly root
# shellcheck source=hack/project.sh
source "$root/hack/project.sh"
readonly channels=(stable-v1 candidate-v1)
readonly opm=${TOOLS:-$root/bin/tools}/opm

usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

project='' output='' bundle='' catalog=$root/catalog version='' bundle_image='' default_channel=stable-v1
bundles=()
while (($#)); do
  case $1 in
    --project) project=${2:?}; shift 2 ;;
    --output) output=${2:?}; shift 2 ;;
    --bundle) bundle=${2:?}; shift 2 ;;
    --catalog) catalog=${2:?}; shift 2 ;;
    --bundle-image) bundle_image=${2:?}; shift 2 ;;
    --version) version=${2:?}; shift 2 ;;
    --default-channel) default_channel=${2:?}; shift 2 ;;
    -*) usage ;;
    *) bundles+=("$1"); shift ;;
  esac
done

use_project "$root${project:+/$project}"
readonly project package repository
readonly published_image="$repository-bundle:v{{.Version}}"
bundle=${bundle:-$project/bundle}

refuse() {
  echo "There is no catalog: $*" >&2
  exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# render_package DIR writes what belongs to no version. The sentence that describes it is that of the operator's image.
render_package() {
  "$opm" init "$package" --output yaml --default-channel "$default_channel" \
    --icon "$project/config/manifests/icon.svg" \
    --description <(sed -n 's/.*image\.description="\(.*\)".*/\1./p' "$project/Dockerfile") > "$1/package.yaml"
}

# render_bundle BUNDLE_DIR DIR writes DIR/bundles/vX.Y.Z.yaml, if it is not released, and prints the version's name.
render_bundle() {
  local name file
  "$opm" render "$1" --output yaml --migrate-level bundle-object-to-csv-metadata \
    --alpha-image-ref-template "${bundle_image:-$published_image}" > "$work/bundle.yaml"
  name=$(sed -n 's/^name: //p' "$work/bundle.yaml")
  [[ -z $version || $name == "$package.v$version" ]] ||
    refuse "$1 is the bundle $name, and not of version $version: run 'make bundle VERSION=$version' first."
  mkdir -p "$2/bundles"
  file=$2/bundles/${name#"$package".}.yaml
  if ! grep --quiet '^image: .*@sha256:' "$file" 2>/dev/null; then
    cp "$work/bundle.yaml" "$file"
  elif [[ $bundle_image ]] && ! grep --quiet --line-regexp --fixed-strings "image: $bundle_image" "$file"; then
    refuse "$file is released, as $(sed -n 's/^image: //p' "$file"): another image must have another version."
  fi
  echo "$name"
}

# write_channels NAME... prints every channel, with these versions from the oldest on.
write_channels() {
  local channel name previous
  for channel in "${channels[@]}"; do
    previous=''
    printf -- '---\nschema: olm.channel\npackage: %s\nname: %s\nentries:\n' "$package" "$channel"
    for name; do
      printf -- '- name: %s\n' "$name"
      [[ -z $previous ]] || printf -- '  replaces: %s\n' "$previous"
      previous=$name
    done
  done
}

if [[ -z $output ]]; then
  ((${#bundles[@]} == 0)) || usage
  mkdir -p "$catalog/$package"
  render_package "$catalog/$package"
  name=$(render_bundle "$bundle" "$catalog/$package")
  grep --quiet --line-regexp --fixed-strings -- "- name: $name" "$catalog/$package/channels.yaml" ||
    refuse "$catalog/$package/channels.yaml does not name $name: add an entry to a channel, which replaces the version before it."
  exit
fi

((${#bundles[@]})) || usage
catalog=$output/catalog/$package
rm -rf "$catalog"
mkdir -p "$catalog"
render_package "$catalog"
names=()
for bundle in "${bundles[@]}"; do names+=("$(render_bundle "$bundle" "$catalog")"); done
write_channels "${names[@]}" > "$catalog/channels.yaml"
cp "$root/catalog.Dockerfile" "$output/catalog.Dockerfile"
"$opm" validate "$output/catalog"
