#!/usr/bin/env bash
# The demo: `hack/demo.sh up` shows a failover, `hack/demo.sh down` removes what it made.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

up() {
  use_cluster
  [[ $provider == devcluster ]] || refuse_installed
  deliver_images
  hack/render.sh "$IMG" > bin/demo-install.yaml
  go build -o bin/demo ./test/demo

  local unattended=true
  if [[ -t 0 && -t 1 ]]; then unattended=false; fi
  say "The demo"
  bin/demo --kubeconfig "$KUBECONFIG" --manifest bin/demo-install.yaml --image "$IMG" --demo-image "$DEMO_IMG" --non-interactive=$unattended
}

down() {
  if on_devcluster; then
    bin/devcluster down
    return
  fi
  find_kubectl
  refuse_in_use
  # With the CRD go the CriticalServices, and with them the fallback Pods that they own.
  "$kubectl" delete namespace critical-service-demo --ignore-not-found
  hack/render.sh any:tag | "$kubectl" delete --ignore-not-found -f -
}

# refuse_installed keeps the demo from replacing an operator that it did not install.
refuse_installed() {
  "$kubectl" get crd criticalservices.mycrd.com >/dev/null 2>&1 || return 0
  "$kubectl" get namespace critical-service-demo >/dev/null 2>&1 && return
  fail "the operator is installed in the cluster of context $("$kubectl" config current-context), and not by the demo, which would replace it.
Use another cluster, or see there what the demo shows by hand: kubectl critsvc drill --live"
}

# refuse_in_use keeps the demo from deleting what others made: with the CRDs go all objects of their kinds.
refuse_in_use() {
  local others
  others=$("$kubectl" get criticalservices,servicefallbacks,maintenances --all-namespaces --ignore-not-found \
    --output 'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}' 2>/dev/null |
    grep -vxF 'CriticalService /shop' | grep -v ' critical-service-demo/') || return 0
  fail "the cluster of context $("$kubectl" config current-context) has objects that the demo did not make, and that would be deleted with the operator:
$others
Delete them first, or keep the operator and remove the shop only: kubectl delete namespace critical-service-demo; kubectl delete criticalservice shop"
}

case ${1:-} in
  up | down) "$1" ;;
  *) fail "usage: hack/demo.sh up|down" ;;
esac
