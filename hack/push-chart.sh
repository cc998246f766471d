#!/usr/bin/env bash
# Pushes a Helm chart to a registry: helm install NAME oci://REPOSITORY/CHART. It can be repeated: a chart that is there
# stays, and one that is there with another content is refused.
#
#   hack/push-chart.sh CHART-X.Y.Z.tgz REPOSITORY [FLAG OF helm...]
set -euo pipefail

archive=${1:?usage: hack/push-chart.sh CHART-X.Y.Z.tgz REPOSITORY} repository=${2:?to which repository?}
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
readonly helm=${TOOLS:-$root/bin/tools}/helm

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chart=$("$helm" show chart "$archive")
name=$(sed -n 's/^name: //p' <<< "$chart") version=$(sed -n 's/^version: //p' <<< "$chart")
reference=oci://$repository/$name

if said=$("$helm" pull "$reference" --version "$version" --destination "$work" "$@" 2>&1); then
  cmp --silent "$work/$name-$version.tgz" "$archive" || {
    echo "Not published: $reference has $version with another content. A version is published once: take the next one." >&2
    exit 1
  }
elif [[ $said == *"not found"* || $said == *MANIFEST_UNKNOWN* || $said == *NAME_UNKNOWN* ]]; then
  "$helm" push "$archive" "oci://$repository" "$@"
else
  echo "Not published: whether $reference has $version already cannot be seen: $said" >&2
  exit 1
fi
