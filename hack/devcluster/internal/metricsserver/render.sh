#!/usr/bin/env bash
# Writes metrics-server.yaml: the manifests of the version that components/metrics-server
# pins, as kustomization.yaml changes them. Run it after that version has changed.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd ../../../.. && pwd)
module=sigs.k8s.io/metrics-server

make --silent -C "$repo" "$repo/bin/tools/kustomize"
cd ../../components/metrics-server
version=$(go list -m -f '{{.Version}}' "$module")
source=$(go list -m -f '{{.Dir}}' "$module")
cd - >/dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r --no-preserve=mode "$source/manifests/base" "$work/base"
sed "s/VERSION$/$version/" kustomization.yaml >"$work/kustomization.yaml"
{
  echo "# metrics-server $version, rendered by render.sh from the manifests in $module. Do not edit."
  "$repo/bin/tools/kustomize" build "$work" 2>/dev/null
} >metrics-server.yaml
