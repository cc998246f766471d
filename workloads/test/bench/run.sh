#!/usr/bin/env bash
# Measures the workloads operator, and writes docs/workloads.md:
#
#   run.sh start    on the devcluster (or on the cluster of KUBECONFIG, from one of its nodes): a Database beside the same by hand
#   run.sh settled  with etcd and an API server of its own: what the operator costs while nothing happens
#   run.sh meter    with two processes of this machine: an application behind the meter of a WebApp, beside the same without
#   run.sh backup   with etcd and an API server of its own: a backup, beside `etcdctl snapshot save`; it prints what it
#                   measures, and writes nothing
#
# Further arguments go to the program, for example --rounds=20.
set -euo pipefail
cd "$(dirname "$0")/../../.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

readonly page=$PWD/docs/workloads.md

start() {
  use_cluster
  deliver_images
  deliver_workloads
  deliver_databases
  say "Installing both operators"
  hack/render.sh "$IMG" | "$kubectl" apply --server-side --force-conflicts -f - >/dev/null
  hack/render.sh "$WORKLOADS_IMG" workloads | "$kubectl" apply --server-side --force-conflicts -f - >/dev/null
  "$kubectl" --namespace critical-service-system rollout status deployment/critical-service-operator --timeout 3m
  "$kubectl" --namespace critical-service-workloads-system rollout status deployment/critical-service-workloads --timeout 3m
  go -C test/mongodb build -o "$PWD/bin/bench-mongodb" .
  go -C workloads build -o "$PWD/bin/bench-start" ./test/bench

  say "Measuring: a Database, and the same by hand, side by side"
  bin/bench-start --client "$PWD/bin/bench-mongodb" --document "$page" "$@"
}

settled() {
  make --no-print-directory --directory=workloads build
  go -C workloads build -o "$PWD/bin/bench-settled" ./test/bench/settled
  say "Measuring: many Databases and AppConfigs, and nothing happens"
  KUBEBUILDER_ASSETS=$(bin/devcluster assets) bin/bench-settled --manager bin/workloads/manager --document "$page" "$@"
}

meter() {
  go build -o "$PWD/bin/bench-meter/application" ./test/workload
  go -C workloads build -o "$PWD/bin/bench-meter/meter" ./cmd/meter
  go -C workloads build -o "$PWD/bin/bench-meter/bench" ./test/bench/meter
  say "Measuring: an application behind the meter, and without"
  bin/bench-meter/bench --application bin/bench-meter/application --meter bin/bench-meter/meter --document "$page" "$@"
}

backup() {
  go -C workloads build -o "$PWD/bin/bench-backup" ./test/bench/backup
  go -C workloads/test/images/etcd/v3.7 build -o "$PWD/bin/bench-etcdctl" go.etcd.io/etcd/etcdctl/v3
  say "Measuring: a backup, and etcdctl snapshot save"
  KUBEBUILDER_ASSETS=$(bin/devcluster assets) bin/bench-backup --etcdctl "$PWD/bin/bench-etcdctl" "$@"
}

case ${1:-} in
  start | settled | meter | backup) "$@" ;;
  *) fail "say what to measure: $0 start, settled, meter or backup" ;;
esac
