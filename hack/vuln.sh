#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that the operators really call.
# Exits with 77 where the vulnerability database cannot be reached and nothing was found before:
# the caller decides whether that will do.
set -euo pipefail
cd "$(dirname "$0")/.."
# A copy of the database beside the checkout serves where the network does not.
if [[ -z ${GOVULNDB:-} && -d ../shared/vulndb ]]; then GOVULNDB=file://$(cd ../shared/vulndb && pwd); fi
make --no-print-directory "$PWD/bin/tools/govulncheck"

result=0
for module in . workloads; do
  status=0
  output=$(bin/tools/govulncheck ${GOVULNDB:+-db "$GOVULNDB"} -C "$module" ./... 2>&1) || status=$?
  printf '%s\n' "$output"
  if [[ $status -ne 0 && $output == *"fetching vulnerabilities"* ]]; then
    echo "The Go vulnerability database (${GOVULNDB:-https://vuln.go.dev}) cannot be reached, so $module was not checked." >&2
    echo "Try again with internet access, or point GOVULNDB at a mirror." >&2
    exit "$((result ? result : 77))"
  fi
  [[ $status -eq 0 ]] || result=$status
done
exit "$result"
