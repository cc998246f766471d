#!/usr/bin/env bash
# Checks what hack/release.sh has made in DIST (dist/): the images of all architectures, their programs and licences, and
# that all can be signed and verified, with a key that is thrown away, in a registry on this machine. Publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

DIST=$(realpath "${DIST:-dist}")
[[ -e $DIST/SHA256SUMS ]] || {
  echo "There is no release in $DIST. Run 'make release' first." >&2
  exit 1
}
export DIST
hack/gotest.sh release ./test/release/made -tags e2e -count=1 -timeout=30m "$@"
