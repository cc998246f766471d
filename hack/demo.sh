#!/usr/bin/env bash
# The demo: `hack/demo.sh up` shows a failover, `hack/demo.sh down` removes what it made.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

up() {
  use_cluster
  deliver_images
  hack/render.sh "$IMG" > bin/demo-install.yaml
  go build -o bin/demo ./test/demo

  local unattended=true
  if [[ -t 0 && -t 1 ]]; then unattended=false; fi
  say "The demo"
  bin/demo --kubeconfig "$KUBECONFIG" --manifest bin/demo-install.yaml --image "$IMG" --demo-image "$DEMO_IMG" --non-interactive=$unattended
}

down() {
  if [[ -z ${KUBECONFIG:-} ]]; then
    bin/devcluster down
    return
  fi
  find_kubectl
  # With the CRD go the CriticalServices, and with them the fallback Pods that they own.
  "$kubectl" delete namespace critical-service-demo --ignore-not-found
  hack/render.sh "${IMG:-any}" | "$kubectl" delete --ignore-not-found -f -
}

case ${1:-} in
  up | down) "$1" ;;
  *) fail "usage: hack/demo.sh up|down" ;;
esac
