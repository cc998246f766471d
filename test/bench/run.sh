#!/usr/bin/env bash
# Measures failover on the devcluster (or on the cluster of KUBECONFIG, from one of its nodes), and
# writes the table into docs/failover.md. Arguments go to the program, for example --rounds=10.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

use_cluster
deliver_images
say "Installing the operator"
hack/render.sh "$IMG" | "$kubectl" apply --server-side --force-conflicts -f - >/dev/null
"$kubectl" --namespace critical-service-system rollout status deployment/critical-service-operator --timeout 3m

say "Measuring: each outage with no operator, with v1 and with v2, side by side"
go run ./test/bench --document docs/failover.md "$@"
