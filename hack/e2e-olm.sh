#!/usr/bin/env bash
# The end-to-end tests with the operator installed from its catalog by OLM, on the devcluster, which has
# a registry under the images' real names. With --v1 first, those with OLM v1. Other arguments go to `go test`,
# for example `hack/e2e-olm.sh -run TestABundleIsTriedAndJudged`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

# What differs by the version of OLM. The tests of v1 need both: they remove what earlier ones of v0 have left.
olm=(olm) report=e2e-olm tests=(-skip '^TestOLMv1')
if [[ ${1:-} == --v1 ]]; then
  shift
  olm=(olm olmv1) report=e2e-olm-v1 tests=(-run '^TestOLMv1')
fi

# The version of bundle/, and the one before it. There is no release before the first one: it is this
# code, as it was when CriticalServices were still stored as v1.
current=$(sed -n 's/^  version: //p' bundle/manifests/critical-service-operator.clusterserviceversion.yaml)
readonly current previous=0.9.0
readonly registry=quay.io/critical-service work=bin/olm

# deliver_operator VERSION builds the operator of a version, and whatever else has its version.
deliver_operator() {
  make --no-print-directory binaries scorecard-binary ARCH="$arch" VERSION="v$1"
  deliver "$registry/operator:v$1" --target prebuilt --build-arg BASE=scratch .
}

# make_previous writes the bundle of the version before, in which v1 is stored.
make_previous() {
  local bundle=$work/v$previous crd
  hack/bundle.sh --version "$previous" --image "$registry/operator:v$previous" --output "$bundle"
  crd=$bundle/manifests/mycrd.com_criticalservices.yaml
  cat > "$bundle/kustomization.yaml" <<YAML
resources: [$(realpath --relative-to "$bundle" "$crd")]
patches:
- patch: |
    - {op: test, path: /spec/versions/0/name, value: v1}
    - {op: replace, path: /spec/versions/0/storage, value: true}
    - {op: replace, path: /spec/versions/1/storage, value: false}
  target: {kind: CustomResourceDefinition}
YAML
  bin/tools/kustomize build "$bundle" > "$bundle/crd"
  mv "$bundle/crd" "$crd"
  rm "$bundle/kustomization.yaml"
}

# deliver_second_package builds the workloads operator and its bundle.
deliver_second_package() {
  make --no-print-directory --directory=workloads binaries scorecard-binary ARCH="$arch" VERSION="v$current"
  deliver "$registry/workloads:v$current" --file workloads/Dockerfile --target prebuilt --build-arg BASE=scratch .
  deliver "$registry/workloads-bundle:v$current" --file workloads/bundle.Dockerfile workloads
}

# deliver_scorecards builds the tests by which operator-sdk judges the bundles, and what they run.
deliver_scorecards() {
  deliver "$registry/operator-scorecard:v$current" --file test/scorecard/Dockerfile "bin/linux-$arch"
  deliver "$registry/workloads-scorecard:v$current" --file test/scorecard/Dockerfile "bin/workloads/linux-$arch"
  deliver_databases
}

# deliver_catalog VERSION BUNDLE... builds the catalog in which VERSION is the newest, with the second package.
deliver_catalog() {
  local version=$1
  shift
  hack/catalog.sh --output "$work/catalog-v$version" "$@"
  hack/catalog.sh --project workloads --output "$work/catalog-v$version" workloads/bundle
  deliver "$registry/operator-catalog:e2e-v$version" --file "$work/catalog-v$version/catalog.Dockerfile" "$work/catalog-v$version"
}

on_devcluster || fail "these tests need the devcluster, with its registry under the images' real names: unset KUBECONFIG"
say "Validating the bundles"
make --no-print-directory bundle-validate
make --no-print-directory --directory=workloads bundle-validate

use_cluster
say "Installing ${olm[*]}"
for each in "${olm[@]}"; do bin/devcluster "$each" up; done
# OLM must not meet an operator that was installed by other means.
for project in workloads .; do
  hack/render.sh "$registry/operator:dev" "$project" | "$kubectl" delete --ignore-not-found --wait -f - >/dev/null
done

say "Building and delivering the operator, its bundles and catalogs: v$previous and v$current"
mkdir -p "$work"
arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
deliver_operator "$previous"
deliver_operator "$current"
DEMO_IMG=$registry/demo:e2e-olm
deliver "$DEMO_IMG" --file test/workload/Dockerfile "bin/linux-$arch"
make_previous
deliver "$registry/operator-bundle:v$previous" --file "$work/v$previous/bundle.Dockerfile" "$work/v$previous"
deliver "$registry/operator-bundle:v$current" --file bundle.Dockerfile .
deliver_second_package
[[ $report == e2e-olm-v1 ]] || deliver_scorecards
deliver_catalog "$previous" "$work/v$previous"
deliver_catalog "$current" "$work/v$previous" bundle

say "The end-to-end tests with OLM"
export DEMO_IMG OLM_PREVIOUS=$previous OLM_CURRENT=$current
# The tests run the commands of docs/install.md.
PATH=$(dirname "$kubectl"):$PATH
export OLM_DEVCLUSTER=$PWD/bin/devcluster OLM_SDK=$PWD/bin/tools/operator-sdk
hack/gotest.sh "$report" ./test/olm/... -tags e2e -count=1 -timeout 30m "${tests[@]}" "$@"
