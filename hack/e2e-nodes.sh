#!/usr/bin/env bash
# What becomes of Services when nodes are lost or drained: on a devcluster of three nodes, with the operator deployed from
# its image. Arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

on_devcluster || fail "the tests cut the power of nodes, which only the devcluster allows: run them without KUBECONFIG"
export DEVCLUSTER_NODES=3
need_programs curl:curl
use_cluster
deliver_images
export NODES_MANIFEST=$PWD/bin/nodes-install.yaml NODES_DEVCLUSTER=$PWD/bin/devcluster NODES_KUBECTL=$kubectl
hack/render.sh "$IMG" > "$NODES_MANIFEST"

say "Three nodes"
hack/gotest.sh e2e-nodes ./test/nodes -tags e2e -count=1 -timeout 40m "$@"
