#!/usr/bin/env bash
# Runs what depends on the version of Kubernetes, on the one of KUBERNETES (the newest unless given), and writes what came
# of it into docs/versions.md. A target that fails stops no other, and is in the table too. Restarts the devcluster.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

module=hack/devcluster/components/kubernetes${KUBERNETES:+-$KUBERNETES}/go.mod
[[ -f $module ]] || {
  echo "KUBERNETES=$KUBERNETES: there is no $module. Leave it out for the newest." >&2
  exit 1
}
version=$(sed -nE 's#^(require)?[[:space:]]*k8s.io/kubernetes v([0-9.]+).*#\2#p' "$module")

targets=(test workloads e2e consumers)
# The API server of 1.28 refuses the CRDs of the second operator.
[[ ${KUBERNETES:-} != 1.28 ]] || targets=(test e2e consumers)

# reported TARGET writes a report with one failure for a target that failed before it wrote one: else the table would have a
# dash for it, as if it did not exist on this version.
reported() {
  local report=$1
  case $1 in
    test) report=unit ;;
    consumers) report=consumers-iptables ;; # All versions have that mode.
  esac
  [[ -e bin/reports/$report.xml ]] || {
    mkdir -p bin/reports
    echo "<testsuites><testsuite name=\"make $1\"><testcase classname=\"make $1\" name=\"TestMain\"><failure>without a report</failure></testcase></testsuite></testsuites>" >"bin/reports/$report.xml"
  }
}

# What earlier runs have left is of other versions.
rm -f bin/reports/{unit,workloads,e2e,consumers-*}.*
status=0
for target in "${targets[@]}"; do
  # The cluster may have another version.
  [[ $target != e2e ]] || bin/devcluster down
  make --no-print-directory "$target" || { status=1 && reported "$target"; }
done
go run ./hack/reports matrix docs/versions.md "$version" bin/reports && exit "$status"
