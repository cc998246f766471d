#!/usr/bin/env bash
# Writes olm.yaml: the chart of the OLM that components/olm/go.mod pins, without
# its CRDs. (The rendered files in OLM's repository are of an older version.)
# Run it after that version has changed.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd ../../../.. && pwd)
module=github.com/operator-framework/operator-lifecycle-manager

make --silent -C "$repo" "$repo/bin/tools/helm"
cd ../../components/olm
version=$(go list -m -f '{{.Version}}' "$module")
source=$(go list -m -f '{{.Dir}}' "$module")
cd - >/dev/null

chart=$(mktemp -d)
trap 'rm -rf "$chart"' EXIT
cp -r --no-preserve=mode "$source/deploy/chart/." "$chart"
# The chart's version becomes that of the packageserver.
sed -i "s/^[Vv]ersion:.*/version: ${version#v}/" "$chart/Chart.yaml"

image=quay.io/operator-framework/olm:$version
{
  echo "# OLM $version without its CRDs, rendered by render.sh from values.yaml and the chart in $module. Do not edit."
  "$repo/bin/tools/helm" template olm "$chart" --namespace olm --values values.yaml \
    --set "olm.image.ref=$image,catalog.image.ref=$image,package.image.ref=$image"
} >olm.yaml
