#!/usr/bin/env bash
# Runs Go tests, and writes what came of them into bin/reports/NAME.xml:
#
#   hack/gotest.sh NAME 'PACKAGES' [ARGUMENTS OF go test...]
#
# With RERUN_FAILS=1, as in CI, a test that fails is run once more, with all its subtests, unless many
# fail. One that then passes stands in bin/reports/NAME.flaky; .ci/run names it, and it is to be fixed all the same.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

name=${1:?usage: hack/gotest.sh NAME PACKAGES [ARGUMENTS]} packages=${2:?which packages?}
shift 2
mkdir -p "$root/bin/reports"
rm -f "$root/bin/reports/$name".*
again=()
if [[ ${RERUN_FAILS:-} == 1 ]]; then
  again=(--rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-abort-on-data-race --rerun-fails-run-root-test
    --rerun-fails-report "$root/bin/reports/$name.flaky")
fi
exec "$root/bin/tools/gotestsum" --format "${FORMAT:-standard-verbose}" --junitfile "$root/bin/reports/$name.xml" \
  "${again[@]}" --packages "$packages" -- "$@"
