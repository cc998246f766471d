#!/usr/bin/env bash
# Compares every CustomResourceDefinition with that of the last release, by the rules by which OLM v1
# refuses an upgrade. What it refuses needs a new version of the API.
set -euo pipefail
cd "$(dirname "$0")/.."

release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || {
  echo "There is no release in the history yet, and so no definition to compare with."
  exit 0
}
failed=
old=$(mktemp)
trap 'rm -f "$old"' EXIT
for definition in config/crd/bases/*.yaml workloads/config/crd/bases/*.yaml; do
  git show "$release:$definition" > "$old" 2>/dev/null || { echo "$definition is new since $release."; continue; }
  bin/tools/crdify --config hack/crdify.yaml "file://$old" "file://$definition" ||
    { echo "$definition: OLM v1 would refuse the upgrade from $release." >&2; failed=1; }
done
[[ -z $failed ]] || exit 1
echo "All definitions may replace those of $release."
