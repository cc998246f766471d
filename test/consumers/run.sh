#!/usr/bin/env bash
# What consumers do with a standby: builds them, installs Debian's HAProxy if there is none, and runs
# the tests on the devcluster with kube-proxy in the modes given (nftables and iptables unless given).
# With another mode or KUBERNETES than it has, the devcluster starts afresh: what is in it is lost.
set -euo pipefail
cd "$(dirname "$0")/../.."

main() {
  packages
  CONSUMERS=$(test/consumers/build.sh)
  export CONSUMERS
  # The kube-proxy of Kubernetes 1.28 has one mode only.
  if (($# == 0)) && [[ ${KUBERNETES:-} == 1.28 ]]; then set -- iptables; fi
  (($#)) || set -- nftables iptables
  local mode
  for mode; do run "$mode"; done
}

# packages installs HAProxy and the Lua library that HAProxy Ingress expects beside it.
packages() {
  local missing=()
  command -v haproxy >/dev/null || missing+=(haproxy)
  [[ -e /usr/share/lua/5.3/json.lua ]] || missing+=(lua-json)
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (Debian's names). Install them and try again." >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
}

run() {
  # One that another target has left with other addresses, or with NetworkPolicies, is not what the tests expect.
  DEVCLUSTER_NODES=1 DEVCLUSTER_IP_FAMILIES=ipv4 DEVCLUSTER_NETWORK_POLICIES=false bin/devcluster up --proxy-mode "$1"
  KUBECONFIG=$(bin/devcluster kubeconfig)
  export KUBECONFIG
  CGO_ENABLED=0 go build -buildvcs=false -ldflags "-s -w" -o bin/consumers/image/workload ./test/workload
  export DEMO_IMG=quay.io/critical-service/demo:consumers
  bin/devcluster image build --tag "$DEMO_IMG" --file test/workload/Dockerfile bin/consumers/image
  hack/gotest.sh "consumers-$1" ./test/consumers/... -tags e2e -count=1 -timeout 10m
}

main "$@"
