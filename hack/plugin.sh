#!/usr/bin/env bash
# Makes what is published of the kubectl plugin, in dist/: an archive for every system, with the licences and what kubectl
# completes with, and the manifest for krew (critsvc.yaml), which names each by checksum. See docs/plugin.md.
#
#   hack/plugin.sh vX.Y.Z [COMMIT]
set -euo pipefail
cd "$(dirname "$0")/.."

readonly version=${1:-} commit=${2:-$(git rev-parse HEAD)}
readonly systems=(linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64 windows_arm64)

# krew knows no other versions.
if ! [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
  echo "'$version' is no version of the plugin. Run for example: make plugin-release VERSION=v1.0.0" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p dist
# Without the folder it was compiled in, a binary is the same wherever it is compiled.
export GOFLAGS="${GOFLAGS:-} -trimpath" SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
go build -o "$work/" ./hack/archive ./hack/licenses
cp config/krew/critsvc.yaml "$work/critsvc.yaml"
sed -i.orig -e "s/{{version}}/$version/g" -e '/^# hack\/plugin.sh puts/d' "$work/critsvc.yaml"

for system in "${systems[@]}"; do
  os=${system%_*} arch=${system#*_} program=kubectl-critsvc packed=kubectl-critsvc_$system.tar.gz
  files=(LICENSE cmd/kubectl-critsvc/kubectl_complete-critsvc)
  if [[ $os == windows ]]; then program+=.exe packed=kubectl-critsvc_$system.zip files=(LICENSE); fi
  echo "dist/$packed"
  make --no-print-directory plugin PLUGIN_OS="$os" ARCH="$arch" PLUGIN="$work/$system/$program" VERSION="$version" COMMIT="$commit" > /dev/null
  "$work/licenses" -os "$os" -arch "$arch" "$work/THIRD_PARTY_LICENSES" ./cmd/kubectl-critsvc
  "$work/archive" "dist/$packed" "$work/$system/$program" "${files[@]}" "$work/THIRD_PARTY_LICENSES"
  hack/sbom.sh "$version" "$work/$system/$program" "dist/kubectl-critsvc_$system.cdx.json"
  sum=$(sha256sum "dist/$packed" | cut -d ' ' -f 1)
  sed -i.orig -e "s/{{sha256 $system}}/$sum/" "$work/critsvc.yaml"
done

if grep --quiet '{{' "$work/critsvc.yaml"; then
  echo "config/krew/critsvc.yaml has a placeholder that nothing is known for: $(grep --max-count=1 '{{' "$work/critsvc.yaml")" >&2
  exit 1
fi
cp "$work/critsvc.yaml" dist/critsvc.yaml
echo dist/critsvc.yaml
