#!/usr/bin/env bash
# Prints the whole install (config/default) with the given image of the
# operator. The image goes into an overlay of its own, so that config/ stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

image=${1:?usage: hack/render.sh IMAGE}
overlay=$(mktemp -d bin/install.XXXXXX)
trap 'rm -rf "$overlay"' EXIT

cat > "$overlay/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../../config/default
EOF
(cd "$overlay" && ../tools/kustomize edit set image "quay.io/critical-service/operator=$image")
bin/tools/kustomize build "$overlay"
