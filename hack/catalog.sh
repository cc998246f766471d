#!/usr/bin/env bash
# Writes the file-based catalog (FBC) that OLM installs from.
#
#   hack/catalog.sh [--project DIR] [--bundle DIR] [--catalog DIR] [--bundle-image REF] [--version X.Y.Z]
#                   [--channels A,B] [--default-channel NAME]
#     Renders bundle/ into catalog/: the package, and one file for this version. The files of earlier versions
#     and the channels, which a person writes, stay as they are. So does the file of this version once it names its
#     image by digest: it is released then, and is refused another image. The same bundle gives the same bytes.
#     With --version it refuses a bundle of another one. The version must be in the channels, which are those of the
#     bundle unless --channels says otherwise. What is refused changes nothing.
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

project='' output='' bundle='' catalog=$root/catalog version='' bundle_image='' given_channels='' default_channel=''
bundles=()
while (($#)); do
  case $1 in
    --project) project=${2:?}; shift 2 ;;
    --output) output=${2:?}; shift 2 ;;
    --bundle) bundle=${2:?}; shift 2 ;;
    --catalog) catalog=${2:?}; shift 2 ;;
    --bundle-image) bundle_image=${2:?}; shift 2 ;;
    --version) version=${2:?}; shift 2 ;;
    --channels) given_channels=${2:?}; shift 2 ;;
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
  "$opm" init "$package" --output yaml --default-channel "${default_channel:-stable-v1}" \
    --icon "$project/config/manifests/icon.svg" \
    --description <(sed -n 's/.*image\.description="\(.*\)".*/\1./p' "$project/Dockerfile") > "$1/package.yaml"
}

# render_bundle BUNDLE_DIR writes $work/bundle.yaml, and sets name to the version's.
render_bundle() {
  "$opm" render "$1" --output yaml --migrate-level bundle-object-to-csv-metadata \
    --alpha-image-ref-template "${bundle_image:-$published_image}" > "$work/bundle.yaml"
  name=$(sed -n 's/^name: //p' "$work/bundle.yaml")
}

# annotation NAME prints an annotation of the bundle.
annotation() { sed -n "s/^  operators.operatorframework.io.bundle.$1: //p" "$bundle/metadata/annotations.yaml"; }

# need_channel CHANNEL: opm accepts a bundle that is in no channel, and nothing installs it.
need_channel() {
  awk -v channel="$1" -v name="$name" '
    /^name: / { current = $2 }
    /^- name: / && current == channel && $3 == name { found = 1 }
    END { exit !found }
  ' "$graph" || refuse "$graph does not name $name in the channel $1. If there is such a channel,
add an entry to it, which replaces the version before it; if not, add the channel:
---
schema: olm.channel
package: $package
name: $1
entries:
- name: $name"
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
  graph=$catalog/$package/channels.yaml
  render_bundle "$bundle"
  [[ -z $version || $name == "$package.v$version" ]] ||
    refuse "$bundle is the bundle $name, and not of version $version: run 'make bundle' with the same variables first."
  file=$catalog/$package/bundles/${name#"$package".}.yaml
  released=$(sed -n '/@sha256:/s/^image: //p' "$file" 2>/dev/null) || released=''
  # A release is known by the name that its image was pushed as, too.
  [[ -z $released || -z $bundle_image || $bundle_image == "$released" || $bundle_image == "${released%@*}:${name#"$package".}" ]] ||
    refuse "$file is released, as $released: another image must have another version."
  given_channels=${given_channels:-$(annotation channels.v1)} default_channel=${default_channel:-$(annotation channel.default.v1)}
  for channel in ${given_channels//,/ }; do need_channel "$channel"; done
  grep --quiet --line-regexp --fixed-strings "name: $default_channel" "$graph" ||
    refuse "$graph has no channel $default_channel, which is the default: give another DEFAULT_CHANNEL, or add it."

  # The package alone: that of the other operator may be between two commands.
  mkdir "$work/catalog"
  cp -R "$catalog/$package" "$work/catalog"
  mkdir -p "$work/catalog/$package/bundles"
  render_package "$work/catalog/$package"
  [[ $released ]] || cp "$work/bundle.yaml" "$work/catalog/$package/bundles/${file##*/}"
  said=$("$opm" validate "$work/catalog" 2>&1) || refuse "opm does not accept the channels in $graph and the files in ${file%/*}. Correct them:
$said"
  mkdir -p "${file%/*}"
  cp -R "$work/catalog/$package/." "$catalog/$package/"
  echo "${catalog#"$root/"}/$package has $name in ${given_channels//,/, } (default: $default_channel), as the image $(sed -n 's/^image: //p' "$file")."
  exit
fi

((${#bundles[@]})) || usage
catalog=$output/catalog/$package
rm -rf "$catalog"
mkdir -p "$catalog/bundles"
render_package "$catalog"
names=()
for bundle in "${bundles[@]}"; do
  render_bundle "$bundle"
  cp "$work/bundle.yaml" "$catalog/bundles/${name#"$package".}.yaml"
  names+=("$name")
done
write_channels "${names[@]}" > "$catalog/channels.yaml"
cp "$root/catalog.Dockerfile" "$output/catalog.Dockerfile"
"$opm" validate "$output/catalog"
