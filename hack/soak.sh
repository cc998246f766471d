#!/usr/bin/env bash
# Deploys the operator from its image, and injects faults for SOAK, chosen by SEED, while clients ask. What came of it is in
# bin/reports/soak.md. Arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

on_devcluster || fail "the soak kills processes and drains nodes of a cluster of its own, the devcluster: run it without KUBECONFIG"
export SOAK=${SOAK:-5m} SEED=${SEED:-}
# One of them is drained from time to time.
export DEVCLUSTER_NODES=2
use_cluster
deliver_images
export SOAK_MANIFEST=$PWD/bin/soak-install.yaml SOAK_REPORT=$PWD/bin/reports/soak.md
hack/render.sh "$IMG" > "$SOAK_MANIFEST"

say "Faults for $SOAK"
# A run that has failed is not run again, which would hide it. Its time is limited by its own settings.
RERUN_FAILS=0 hack/gotest.sh soak ./test/soak -tags e2e -count=1 -timeout 0 "$@"
