#!/usr/bin/env bash
# Publishes what hack/release.sh has made in dist/: the images, the charts, the signatures of both, then the page of the release
# with its files. It needs a login to the registry (docker login quay.io) and gh with a token (GH_TOKEN). Who signs is who
# cosign finds: in a workflow that is the workflow, else it asks for a login in the browser. It can be repeated: what is published
# already stays, and a version that is published with another content is refused. See docs/maintainers/release.md.
#
#   hack/publish.sh vX.Y.Z
set -euo pipefail
cd "$(dirname "$0")/.."

readonly version=${1:-}
readonly crane=${TOOLS:-$PWD/bin/tools}/crane

refuse() {
  echo "Not published: $*" >&2
  exit 1
}

# check refuses what `make release` has not made, or has made of another version.
check() {
  [[ $version ]] || refuse "no version is given. Run for example: make publish VERSION=v1.0.0"
  [[ -e dist/SHA256SUMS && -e dist/images.txt ]] ||
    refuse "there is no release in dist/. Run 'make release VERSION=$version' first."
  (cd dist && sha256sum --check --quiet SHA256SUMS) ||
    refuse "dist/ is not what dist/SHA256SUMS says. Run 'make release VERSION=$version' again."
  ! grep --invert-match --fixed-strings ":$version@sha256:" dist/images.txt >&2 ||
    refuse "the images above are not of $version."
}

# published REFERENCE prints the digest of an image in its registry, or nothing if it is not there.
published() {
  local said
  if said=$("$crane" digest "$1" 2>&1); then
    echo "${said##*$'\n'}" # crane warns when it has to ask in another way.
  elif [[ $said != *MANIFEST_UNKNOWN* && $said != *NAME_UNKNOWN* ]]; then
    refuse "whether $1 is published already cannot be seen: $said"
  fi
}

# push REFERENCE DIGEST pushes an image of dist/images, and refuses what has another digest then.
push() {
  local name=${1##*/} present
  "$crane" push "dist/images/${name%:*}" "$1" >/dev/null
  present=$(published "$1")
  same "$1" "$present" "$2"
}

# same REFERENCE PRESENT DIGEST refuses an image that is published with another content.
same() {
  [[ $2 == "$3" ]] ||
    refuse "$1 is $2 in the registry, and $3 in dist/. A version is published once: take the next one."
}

# image NAME:VERSION@DIGEST publishes an image of dist/images.
image() {
  local reference=${1%@*} digest=${1##*@} present
  present=$(published "$reference")
  if [[ $present ]]; then
    same "$reference" "$present" "$digest"
  else
    # Before its own name: so a publication that was interrupted gets there, and one that is repeated later does not.
    [[ $reference != */operator-catalog:* ]] || latest "${reference%:*}:latest" "$digest"
    push "$reference" "$digest"
  fi
  echo "$1"
}

# latest REFERENCE DIGEST makes the catalog the one that OLM asks for, unless it would lose a version by that: a patch
# of an earlier minor version comes from a branch whose catalog has no later one.
latest() {
  local there lost
  there=$(published "$1")
  if [[ $there ]]; then
    there=$("$crane" export "$1" - | tar --extract --to-stdout --wildcards "*configs/*/channels.yaml") ||
      refuse "which versions $1 has cannot be seen."
    lost=$(LC_ALL=C comm -13 <(cat dist/catalog/*/channels.yaml | versions) <(versions <<< "$there"))
    if [[ $lost ]]; then
      echo "$1 stays: it has ${lost//$'\n'/, }, and this catalog has not."
      return
    fi
  fi
  push "$1" "$2"
}

# versions prints which versions the channels of a catalog have.
versions() { sed -n 's/^- name: //p' | LC_ALL=C sort --unique; }

# page makes the page of the release on GitHub, with its section of the changelog and its files.
page() {
  local number=${version#v} kind=()
  if gh release view "$version" >/dev/null 2>&1; then return; fi
  [[ $version != *-* ]] || kind=(--prerelease)
  awk -v heading="## [$number]" '/^## / {on = index($0, heading) == 1; next} on' CHANGELOG.md |
    gh release create "$version" --verify-tag --title "$version" --notes-file - "${kind[@]}" dist/install.yaml dist/install-workloads.yaml \
      dist/critical-service-{operator,workloads}-"$number".tgz dist/kubectl-critsvc_* dist/critsvc.yaml dist/sbom/* dist/images.txt dist/provenance.json dist/SHA256SUMS dist/SHA256SUMS.sigstore.json
}

check
# In the order of the file: the catalog, which names the others, is the last.
mapfile -t images < dist/images.txt
for line in "${images[@]}"; do image "$line"; done
# A release of the catalog alone has no charts, and no page.
if [[ -e dist/install.yaml ]]; then
  for chart in dist/critical-service-{operator,workloads}-"${version#v}".tgz; do
    hack/push-chart.sh "$chart" quay.io/critical-service
  done
fi
hack/sign.sh "$version" quay.io/critical-service
[[ ! -e dist/install.yaml ]] || page
