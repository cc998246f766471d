#!/usr/bin/env bash
# The end-to-end tests, with the operator deployed from its image. Arguments go to `go test`,
# for example `hack/e2e.sh -run TestStory/selector`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

use_cluster
deliver_images
export E2E_MANIFEST=$PWD/bin/e2e-install.yaml
hack/render.sh "$IMG" > "$E2E_MANIFEST"

say "The end-to-end tests"
mkdir -p bin/reports
bin/tools/gotestsum --format standard-verbose --junitfile bin/reports/e2e.xml -- \
  -tags e2e -count=1 -timeout 30m ./test/e2e/... "$@"
