#!/usr/bin/env bash
# Deploys the operator from its image, and looks at an outage with a real Prometheus. Arguments go to
# `go test`, for example `hack/observability.sh -args -update`, which draws docs/images/outage-timeline.svg.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

use_cluster
PROMETHEUS_PROGRAMS=$(hack/prometheus.sh)
export PROMETHEUS_PROGRAMS
deliver_images
export OBSERVABILITY_MANIFEST=$PWD/bin/observability-install.yaml
hack/render.sh "$IMG" > "$OBSERVABILITY_MANIFEST"

say "An outage as Prometheus sees it"
hack/gotest.sh observability ./test/observability -tags e2e -count=1 -timeout 15m "$@"
