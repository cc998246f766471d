#!/usr/bin/env bash
# Runs scorecard, its own tests and ours, against the operator that is installed in the cluster. On the devcluster
# the operator is deployed if it is not there. Arguments go to `operator-sdk scorecard`, for example
# `hack/scorecard.sh --selector=test=outage`.
#
#   hack/scorecard.sh [--project workloads] [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh
# shellcheck source=hack/project.sh
source hack/project.sh

own=
if [[ ${1:-} == --project ]]; then
  own=$2
  shift 2
fi
use_project "$own"
readonly own project package repository
# In config/scorecard/rbac.yaml, the namespace and the ServiceAccount have one name.
readonly name=${package%-operator}-scorecard
readonly pods=app.kubernetes.io/name=$package,app.kubernetes.io/component=manager
readonly work=bin${own:+/$own}/scorecard report=bin/reports/scorecard${own:+-$own}.xml
readonly config=$work/config.yaml results=$work/results.json evidence=$work/evidence

# need_operator: scorecard itself installs nothing.
need_operator() {
  if [[ -n $("$kubectl" get pods --all-namespaces --selector "$pods" --output name) ]]; then return; fi
  if [[ $provider != devcluster ]]; then
    fail "the operator is not installed in this cluster. Install it first, for example
  KUBECONFIG=$KUBECONFIG make${own:+ -C $own} deploy IMG=$repository:TAG
docs/install.md has all ways."
  fi
  if [[ $own ]]; then
    deliver_workloads
    deployed=$WORKLOADS_IMG
  else
    deliver_images
    deployed=$IMG
  fi
  say "Deploying the operator $deployed"
  hack/render.sh "$deployed" "$own" | "$kubectl" apply --server-side --force-conflicts --filename - >/dev/null
  "$kubectl" --namespace "${package%-operator}-system" rollout status "deployment/$package" --timeout=5m
}

# deliver_tests builds and delivers the image of our tests, and writes the configuration of the bundle with its name.
# The name follows from the content, because a node keeps an image that it has.
deliver_tests() {
  local arch binaries
  arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
  binaries=bin${own:+/$own}/linux-$arch
  make --no-print-directory --directory="$project" scorecard-binary ARCH="$arch"
  SCORECARD_IMG=$(tagged "${SCORECARD_IMG:-$repository-scorecard}" "$binaries/scorecard")
  say "Building and delivering $SCORECARD_IMG"
  if [[ $provider != devcluster ]]; then tool=${CONTAINER_TOOL:-$(hack/container-tool.sh)}; fi
  deliver "$SCORECARD_IMG" --file test/scorecard/Dockerfile "$binaries"
  if [[ $own ]]; then deliver_databases; fi
  sed "s#$repository-scorecard:[^ \"]*#$SCORECARD_IMG#" "$project/bundle/tests/scorecard/config.yaml" > "$config"
  grep --quiet "$SCORECARD_IMG" "$config" ||
    fail "$project/bundle/tests/scorecard/config.yaml has no test of $repository-scorecard: run 'make${own:+ -C $own} bundle'"
}

# run_tests keeps what scorecard prints, and the files of the tests, in the folder.
run_tests() {
  local status=0
  bin/tools/operator-sdk scorecard "$project/bundle" --config "$config" --kubeconfig "$KUBECONFIG" --namespace "$name" \
    --service-account "$name" --wait-time 10m --test-output "$evidence" --output json "$@" > "$results" || status=$?
  if [[ ! -s $results ]]; then fail "operator-sdk scorecard ended with status $status and printed no result.
See 'kubectl get events --namespace $name'. Can the nodes pull the images of scorecard?"; fi
  "$work/judge" judge --junit "$report" < "$results"
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
  "$kubectl" delete --filename "$project/config/scorecard/rbac.yaml" --ignore-not-found >/dev/null
  if [[ $deployed ]]; then hack/render.sh "$deployed" "$own" | "$kubectl" delete --ignore-not-found --filename - >/dev/null; fi
  exit "$status"
}

deployed=
use_cluster
# With OLM come the images of operator-sdk's own tests and helpers.
if [[ $provider == devcluster ]]; then bin/devcluster olm up; fi
rm -rf "$work"
mkdir -p "$work" bin/reports
trap clean EXIT
need_operator
deliver_tests
go build -buildvcs=false -o "$work/judge" ./test/scorecard
"$kubectl" apply --server-side --filename "$project/config/scorecard/rbac.yaml"

say "Scorecard"
status=0
run_tests "$@" || status=$?
echo "What the tests saw is in $evidence."
exit "$status"
