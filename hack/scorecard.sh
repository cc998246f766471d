#!/usr/bin/env bash
# Runs scorecard, its own tests and ours, against the operator that is installed in the cluster. On the devcluster
# the operator is deployed if it is not there. Arguments go to `operator-sdk scorecard`, for example
# `hack/scorecard.sh --selector=test=outage`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

namespace=critical-service-scorecard
pods=app.kubernetes.io/name=critical-service-operator,app.kubernetes.io/component=manager
config=bin/scorecard/config.yaml
results=bin/scorecard/results.json
evidence=bin/scorecard/evidence

# need_operator: scorecard itself installs nothing.
need_operator() {
  if [[ -n $("$kubectl" get pods --all-namespaces --selector "$pods" --output name) ]]; then return; fi
  if [[ $provider != devcluster ]]; then
    fail "the operator is not installed in this cluster. Install it first, for example
  KUBECONFIG=$KUBECONFIG make deploy IMG=quay.io/critical-service/operator:TAG
docs/install.md has all ways."
  fi
  deliver_images
  say "Deploying the operator $IMG"
  deployed=true
  hack/render.sh "$IMG" | "$kubectl" apply --server-side --force-conflicts --filename - >/dev/null
  "$kubectl" --namespace critical-service-system rollout status deployment/critical-service-operator --timeout=5m
}

# deliver_tests builds and delivers the image of our tests, and writes the configuration of the bundle with its name.
# The name follows from the content, because a node keeps an image that it has.
deliver_tests() {
  local arch
  arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
  make --no-print-directory scorecard-binary ARCH="$arch"
  SCORECARD_IMG=$(tagged "${SCORECARD_IMG:-quay.io/critical-service/operator-scorecard}" "bin/linux-$arch/scorecard")
  say "Building and delivering $SCORECARD_IMG"
  if [[ $provider != devcluster ]]; then tool=${CONTAINER_TOOL:-$(hack/container-tool.sh)}; fi
  deliver "$SCORECARD_IMG" --file test/scorecard/Dockerfile "bin/linux-$arch"
  sed "s#quay.io/critical-service/operator-scorecard:[^ \"]*#$SCORECARD_IMG#" bundle/tests/scorecard/config.yaml > "$config"
  grep --quiet "$SCORECARD_IMG" "$config" || fail "bundle/tests/scorecard/config.yaml has no test of quay.io/critical-service/operator-scorecard: run 'make bundle'"
}

# run_tests keeps what scorecard prints, and the files of the tests, under bin/scorecard.
run_tests() {
  local status=0
  bin/tools/operator-sdk scorecard bundle --config "$config" --kubeconfig "$KUBECONFIG" --namespace "$namespace" \
    --service-account critical-service-scorecard --wait-time 10m --test-output "$evidence" --output json "$@" > "$results" || status=$?
  if [[ ! -s $results ]]; then fail "operator-sdk scorecard ended with status $status and printed no result.
See 'kubectl get events --namespace $namespace'. Can the nodes pull the images of scorecard?"; fi
  bin/scorecard/judge judge --junit bin/reports/scorecard.xml < "$results"
}

# clean waits for the namespaces that the tests have deleted, and removes what this script has brought.
# shellcheck disable=SC2317 # the trap calls it
clean() {
  local status=$?
  trap - EXIT
  say "Cleaning up"
  # The namespaces of the tests have this label, with their own name as its value.
  "$kubectl" wait namespaces --selector critical-service-scorecard --for=delete --timeout=3m >/dev/null || {
    status=1
    echo "a test has left its namespace behind: kubectl get namespaces --selector critical-service-scorecard" >&2
  }
  "$kubectl" delete --filename config/scorecard/rbac.yaml --ignore-not-found >/dev/null
  if $deployed; then hack/render.sh "$IMG" | "$kubectl" delete --ignore-not-found --filename - >/dev/null; fi
  exit "$status"
}

deployed=false
use_cluster
# With OLM come the images of operator-sdk's own tests and helpers.
if [[ $provider == devcluster ]]; then bin/devcluster olm up; fi
rm -rf bin/scorecard
mkdir -p bin/scorecard bin/reports
trap clean EXIT
need_operator
deliver_tests
go build -buildvcs=false -o bin/scorecard/judge ./test/scorecard
"$kubectl" apply --server-side --filename config/scorecard/rbac.yaml

say "Scorecard"
status=0
run_tests "$@" || status=$?
echo "What the tests saw is in $evidence."
exit "$status"
