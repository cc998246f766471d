#!/usr/bin/env bash
# Signs with cosign what hack/publish.sh has published of dist/: every image, with those of its platforms, and every chart,
# with the provenance of each, and with the SBOM of each program that is in the image of a platform. In the workflow of a
# release the identity that signs is that of the workflow, which has no key; `--key FILE` in the flags gives one.
#
#   hack/sign.sh vX.Y.Z REPOSITORY [FLAG OF cosign...]
#
# It can be repeated: what is signed twice has two signatures.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly version=${1:?usage: hack/sign.sh vX.Y.Z REPOSITORY} repository=${2:?in which repository are the images?}
shift 2
readonly flags=(--yes "$@")
readonly tools=${TOOLS:-$PWD/bin/tools}

# sign SUBJECT [FLAG...] signs what a digest names, and who made it how.
sign() {
  echo "$1"
  "$tools/cosign" sign "${flags[@]}" "${@:2}" "$1"
  attest "$1" slsaprovenance1 dist/provenance.json
}

# attest SUBJECT TYPE PREDICATE signs a statement about what a digest names.
attest() { "$tools/cosign" attest "${flags[@]}" --type "$2" --predicate "$3" "$1"; }

# chart FILE signs a chart, if what is published is what dist/ has.
chart() {
  local name=${1##*/} digest
  name=$repository/${name%-"${version#v}".tgz}
  digest=$("$tools/crane" digest "$name:${version#v}")
  "$tools/crane" manifest "$name@$digest" | grep --quiet --fixed-strings "sha256:$(sha256sum "$1" | cut -d ' ' -f 1)" || {
    echo "Not signed: $name:${version#v} is not $1." >&2
    exit 1
  }
  sign "$name@$digest"
}

declare -A image
while IFS= read -r line; do
  name=${line##*/}
  image[${name%:*@*}]=$repository/${name%:*@*}@${line##*@}
done < dist/images.txt
for name in "${!image[@]}"; do sign "${image[$name]}" --recursive; done

# A release of the catalog alone has neither charts nor programs.
for file in dist/critical-service-*-"${version#v}".tgz; do
  [[ ! -e $file ]] || chart "$file"
done
for file in dist/sbom/*_linux_*.cdx.json; do
  [[ -e $file ]] || continue
  # critical-service-operator-manager_linux_amd64.cdx.json: the program of an image, which has its name but for the scorecard's.
  program=${file##*/critical-service-} arch=${file##*_linux_}
  program=${program%_linux_*}
  name=${program%-*}
  [[ $program != *-scorecard ]] || name=$program
  digest=$("$tools/crane" digest --platform "linux/${arch%.cdx.json}" "${image[$name]}")
  attest "${image[$name]%@*}@$digest" cyclonedx "$file"
done

"$tools/cosign" sign-blob "${flags[@]}" --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS
