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

targets=(test workloads e2e e2e-workloads consumers)
# The API server of 1.28 refuses the CRDs of the second operator.
[[ ${KUBERNETES:-} != 1.28 ]] || targets=(test e2e consumers)

# reported TARGET writes a report with one failure for a target that failed though no test in its reports did: else the table
# would show that all passed, or that the target does not exist on this version.
reported() {
  local reports report
  case $1 in
    test) reports='unit devcluster' ;;
    consumers) reports='consumers-nftables consumers-iptables' ;;
    *) reports=$1 ;;
  esac
  for report in $reports; do
    if grep --quiet --no-messages '<failure' "bin/reports/$report.xml"; then return; fi
  done
  mkdir -p bin/reports
  echo "<testsuites><testsuite name=\"make $1\"><testcase classname=\"make $1\" name=\"TestMain\"><failure>although no test did</failure></testcase></testsuite></testsuites>" >"bin/reports/failed-$1.xml"
}

# What earlier runs have left is of other versions.
rm -f bin/reports/{unit,devcluster,workloads,e2e,e2e-workloads,consumers-*,failed-*}.*
status=0
for target in "${targets[@]}"; do
  # The cluster may have another version.
  [[ $target != e2e ]] || bin/devcluster down
  make --no-print-directory "$target" || { status=1 && reported "$target"; }
done
go run ./hack/reports matrix docs/versions.md "$version" bin/reports && exit "$status"
