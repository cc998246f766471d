#!/usr/bin/env bash
# Prints the whole install (config/default) of a project, that of the root or workloads, with the given image of its
# operator, with its NetworkPolicy where NETWORK_POLICIES says that the cluster enforces them. The image goes into an overlay
# of its own, so that config/ stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/project.sh
source hack/project.sh

image=${1:?usage: hack/render.sh IMAGE [PROJECT]}
use_project "${2:-}"
overlay=$(mktemp -d bin/install.XXXXXX)
trap 'rm -rf "$overlay"' EXIT

cat > "$overlay/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../../$project/config/default
EOF
if [[ ${NETWORK_POLICIES:-} == true ]]; then echo "- ../../$project/config/network-policy" >> "$overlay/kustomization.yaml"; fi
(cd "$overlay" && ../tools/kustomize edit set image "$repository=$image")
manifests=$(bin/tools/kustomize build "$overlay")
need_image "$image" <<< "$manifests"
printf '%s\n' "$manifests"
