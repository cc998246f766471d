#!/usr/bin/env bash
# Runs Go tests, and writes what came of them into bin/reports/NAME.xml:
#
#   hack/gotest.sh NAME 'PACKAGES' [ARGUMENTS OF go test...]
#
# With RERUN_FAILS=1, as in CI, tests of hack/retries.txt that fail are run once more, if no other test fails. What came
# of that is in bin/reports/NAME.retry.xml; .ci/run names them, and they are to be fixed all the same.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

name=${1:?usage: hack/gotest.sh NAME PACKAGES [ARGUMENTS]} packages=${2:?which packages?}
shift 2
if [[ ${1:-} == ./* ]]; then
  echo "hack/gotest.sh: packages are one argument: '$packages $1'. Only $1 would be tested." >&2
  exit 2
fi
mkdir -p "$root/bin/reports"
rm -f "$root/bin/reports/$name".*

# run REPORT PACKAGES ARGUMENTS...
run() {
  "$root/bin/tools/gotestsum" --format "${FORMAT:-standard-verbose}" --junitfile "$root/bin/reports/$1.xml" --packages "$2" -- "${@:3}"
}

status=0
run "$name" "$packages" "$@" || status=$?
if ((status == 0)) || [[ ${RERUN_FAILS:-} != 1 ]]; then exit "$status"; fi
again=$(go -C "$root" run ./hack/reports retry hack/retries.txt "bin/reports/$name.xml") || exit "$status"
{ read -r packages && read -r tests; } <<<"$again"
printf '\n======== once more, as hack/retries.txt allows: %s in %s\n' "$tests" "$packages"
run "$name.retry" "$packages" -run "$tests" "$@"
