#!/usr/bin/env bash
# Deploys the operator from its image, and lets a responder scale with its load: on the devcluster with
# metrics-server, or on the cluster of KUBECONFIG, which has it. Arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

use_cluster
if [[ $provider == devcluster ]]; then bin/devcluster metrics up; fi
deliver_images
export AUTOSCALE_MANIFEST=$PWD/bin/autoscale-install.yaml
hack/render.sh "$IMG" > "$AUTOSCALE_MANIFEST"

say "A responder under load, and when the load has gone: about eight minutes"
hack/gotest.sh autoscale ./test/autoscale -tags e2e -count=1 -timeout 30m "$@"
