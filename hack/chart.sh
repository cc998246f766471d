#!/usr/bin/env bash
# Packs the Helm chart of a project, that of the root or workloads, into dist/. The chart installs the operator
# of the same version. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/project.sh
source hack/project.sh

version=${1:?usage: hack/chart.sh X.Y.Z [PROJECT]}
version=${version#v}
use_project "${2:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -R "$project/config/chart/$package" "$work/"
go run ./hack/chart -project "$project" -version "$version" -chart "$work/$package"

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
bin/tools/helm lint --strict --quiet "$work/$package"
mkdir -p dist
bin/tools/helm package --destination dist "$work/$package"
