#!/usr/bin/env bash
# Packs the Helm chart of a version into dist/. The chart installs the operator of
# the same version. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?usage: hack/chart.sh X.Y.Z}
version=${version#v}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -R config/chart/critical-service-operator "$work/"
go run ./hack/chart -version "$version" -chart "$work/critical-service-operator"

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
bin/tools/helm lint --strict --quiet "$work/critical-service-operator"
mkdir -p dist
bin/tools/helm package --destination dist "$work/critical-service-operator"
