#!/usr/bin/env bash
# Writes olmv1.yaml and cert-manager.yaml: the charts of the versions that
# components/operator-controller and components/cert-manager pin. OLM v1 has its
# standard features: of its feature gates those are on that the chart has on.
# Run it after one of the versions has changed.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd ../../../.. && pwd)
helm=$repo/bin/tools/helm kustomize=$repo/bin/tools/kustomize
components=../../components

make --silent -C "$repo" "$helm" "$kustomize"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# module COMPONENT MODULE FIELD
module() { (cd "$components/$1" && go list -m -f "{{.$3}}" "$2"); }

olm=github.com/operator-framework/operator-controller
version=$(module operator-controller "$olm" Version) source=$(module operator-controller "$olm" Dir)
images=quay.io/operator-framework
"$helm" template olmv1 "$source/helm/olmv1" --values "$source/helm/cert-manager.yaml" --values values.yaml \
  --set "options.catalogd.deployment.image=$images/catalogd:$version" \
  --set "options.operatorController.deployment.image=$images/operator-controller:$version" >"$work/chart.yaml"
cp registries/*.yaml "$work"
{
  echo "# OLM v1 $version, rendered by render.sh from values.yaml and the chart in $olm. Do not edit."
  "$kustomize" build "$work"
} >olmv1.yaml

certmanager=github.com/cert-manager/cert-manager
version=$(module cert-manager "$certmanager" Version) source=$(module cert-manager "$certmanager" Dir)
cp -r --no-preserve=mode "$source/deploy/charts/cert-manager" "$work/cert-manager"
{
  echo "# cert-manager $version, rendered by render.sh from programs.yaml and $certmanager. Do not edit."
  (cd "$components/cert-manager" && go run ./definitions "$source"/deploy/crds/cert-manager.io_*.yaml)
  echo "---"
  sed "s/:VERSION$/:$version/" programs.yaml
  "$helm" template cert-manager "$work/cert-manager" --namespace cert-manager \
    --set global.leaderElection.namespace=cert-manager \
    --show-only=templates/{rbac,serviceaccount,cainjector-rbac,cainjector-serviceaccount}.yaml
} >cert-manager.yaml
