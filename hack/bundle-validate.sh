#!/usr/bin/env bash
# Holds a bundle (default: bundle/) against the default validators of Operator
# SDK and every optional one that applies. An error fails, and so does a warning
# that is not explained here.
#
#   hack/bundle-validate.sh [DIR]
set -euo pipefail
cd "$(dirname "$0")/.."

readonly bundle=${1:-bundle}
readonly sdk=${TOOLS:-$PWD/bin/tools}/operator-sdk
# The newest Kubernetes that the tests run on.
readonly kubernetes=1.37

# A warning that matches is known, and stays for the reason given.
declare -rA explained=(
  ['Migrate the API\(s\) for ((events|horizontalpodautoscalers): \(\[[^,]*\]\),?)+"$']='this version of operator-sdk has an older library.
    The newer one, which test/bundle runs, does not warn: a permission names no version, and beta versions are what was removed.'
  ['The \\"operatorhub\\" validator is deprecated']='the pipeline of the catalog in OpenShift still runs it.'
)

failed=0
validate() {
  local output line message known reason
  echo "operator-sdk bundle validate $bundle $*"
  output=$("$sdk" bundle validate "$bundle" "$@" 2>&1) || failed=1
  while IFS= read -r line; do
    case $line in
      *level=warning*|*WARN*) ;;
      *level=info*|'') continue ;;
      *) echo "  $line"; continue ;;
    esac
    message=${line#*"msg="}
    reason=''
    for known in "${!explained[@]}"; do
      [[ ! $message =~ $known ]] || reason=${explained[$known]}
    done
    if [[ $reason ]]; then
      echo "  a known warning: $message"
      echo "    It stays: $reason"
    else
      echo "  a warning that is not explained: $message"
      failed=1
    fi
  done <<< "$output"
}

validate
# operatorhubv2, capabilities, categories, good-practices and alpha-deprecated-apis: all but one that
# is deprecated (community), and one that pulls the images and wants docker (multiarch).
validate --select-optional suite=operatorframework --optional-values="k8s-version=$kubernetes"
validate --select-optional name=operatorhub --optional-values="k8s-version=$kubernetes"

if ((failed)); then
  echo "The bundle is not valid: see above. It is generated, so fix config/manifests or the code, and run 'make bundle'." >&2
  exit 1
fi
echo "The bundle is valid."
