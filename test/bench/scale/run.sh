#!/usr/bin/env bash
# Measures the operator with thousands of Services on the devcluster (or on the cluster of KUBECONFIG,
# from the operator's node), and writes docs/scale.md. The cluster must have nothing else to do: in some
# worlds its nodes are cordoned. Arguments go to the program, for example --worlds=1x1000 --phases=fail.
set -euo pipefail
cd "$(dirname "$0")/../../.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

use_cluster
deliver_images
say "Installing the operator"
hack/render.sh "$IMG" | "$kubectl" apply --server-side --force-conflicts -f - >/dev/null
"$kubectl" --namespace critical-service-system rollout status deployment/critical-service-operator --timeout 3m
go build -o bin/bench-scale ./test/bench/scale

# Applications and Pods on paper have addresses of RFC 2544, for benchmarks. Nothing may leave the machine.
say "Making 198.18.0.0/15 unreachable"
ip route add blackhole 198.18.0.0/15 || fail "198.18.0.0/15 has a route already: remove it with 'ip route del 198.18.0.0/15' if an earlier run left it"
trap 'ip route del blackhole 198.18.0.0/15' EXIT

say "Measuring"
bin/bench-scale --document docs/scale.md --picture docs/images/scale.svg "$@"
