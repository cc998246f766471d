#!/usr/bin/env bash
# Makes a release of this commit in a copy, for all architectures, and checks it as `make release-check` does: nothing is
# published. What the copy has besides is the day in its changelog. The base of the catalog's image is a stand-in, in which
# only the opm of this machine works, so that no registry of others is asked.
#
#   hack/release-test.sh X.Y.Z
set -euo pipefail
cd "$(dirname "$0")/.."

readonly number=${1:?usage: hack/release-test.sh X.Y.Z} work=$PWD/bin/release-test tools=${TOOLS:-$PWD/bin/tools}
readonly copy=$work/copy

# clone makes the copy, in which the version is ready. The tools are those of the original.
clone() {
  git clone --quiet --no-tags . "$copy"
  mkdir "$copy/bin"
  ln -s "$tools" "$copy/bin/tools"
  # With their times, by which make knows whether a tool is out of date.
  cp -Rp hack/tools "$copy/hack/"
  sed -i "s/^## \[\(Unreleased\]\|$number\] - unreleased\)\$/## [$number] - $(date --utc +%F)/" "$copy/CHANGELOG.md"
  # After the release of the version itself: as before it.
  sed -i "/^image: /s/@sha256:.*/:v$number/" "$copy"/catalog/*/bundles/"v$number.yaml"
  git -C "$copy" -c user.name=Test -c user.email=test@example.com commit --quiet --all --message "Release v$number"
}

# serve starts a registry, which ends with this script, and sets registry.
serve() {
  mkdir "$work/registry"
  "$tools/crane" registry serve --address 127.0.0.1:0 --disk "$work/registry" > "$work/registry.log" 2>&1 &
  process=$!
  local port=''
  until [[ $port ]]; do
    kill -0 "$process"
    port=$(sed -n 's/.*serving on port \([0-9]*\).*/\1/p' "$work/registry.log")
    sleep 0.1
  done
  registry=127.0.0.1:$port
  # For podman and buildah; docker takes a loopback registry without TLS.
  printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$registry" > "$work/registries.conf"
  export CONTAINERS_REGISTRIES_CONF=$work/registries.conf
}

# base pushes the stand-in for opm's image, and sets OPM_IMAGE.
base() {
  local arch members=()
  mkdir -p "$work/_stand-in"
  printf 'package main\n\nfunc main() {}\n' > "$work/_stand-in/main.go"
  for arch in amd64 arm64 ppc64le s390x; do
    mkdir -p "$work/base/$arch/bin"
    if [[ $arch == "$(go env GOARCH)" ]]; then
      cp "$tools/opm" "$work/base/$arch/bin/opm"
    else
      CGO_ENABLED=0 GOARCH=$arch go build -o "$work/base/$arch/bin/opm" "$work/_stand-in/main.go"
    fi
    tar --create --file "$work/base/$arch.tar" --directory "$work/base/$arch" bin
    "$tools/crane" append --oci-empty-base --new_layer "$work/base/$arch.tar" --new_tag "$registry/opm:$arch"
    "$tools/crane" mutate --set-platform "linux/$arch" --tag "$registry/opm:$arch" "$registry/opm:$arch" > /dev/null
    members+=(--manifest "$registry/opm:$arch")
  done
  "$tools/crane" index append "${members[@]}" --tag "$registry/opm:base"
  OPM_IMAGE=$registry/opm@$("$tools/crane" digest "$registry/opm:base")
}

process=''
trap '[[ -z $process ]] || kill "$process"' EXIT
rm -rf "$work"
mkdir -p "$work"
clone
serve
base
(cd "$copy" && TOOLS=$tools OPM_IMAGE=$OPM_IMAGE hack/release.sh "v$number")
DIST=$copy/dist hack/release-check.sh
