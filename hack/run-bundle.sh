#!/usr/bin/env bash
# `hack/run-bundle.sh up` builds the operator and its bundle from this clone and has OLM install them, by
# `operator-sdk run bundle`; `hack/run-bundle.sh down` removes them. On the devcluster, which has a registry for
# images of any name, or on the cluster of KUBECONFIG.
#
# VERSION, IMG, BUNDLE_IMG, SCORECARD_IMG, CHANNELS and DEFAULT_CHANNEL are as `make run-bundle` has them. The bundle
# is written below bin/run-bundle: bundle/ stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

# A namespace that does not enforce Pod Security: a Pod of operator-sdk would not be admitted.
readonly namespace=critical-service-trial package=critical-service-operator
readonly pods=app.kubernetes.io/name=$package,app.kubernetes.io/component=manager
readonly work=bin/run-bundle bundle=bin/run-bundle/bundle
readonly timeout=6m

# operator_sdk runs operator-sdk where the images are reached under their names, and in a folder of its own, for what
# it leaves there.
operator_sdk() {
  local command=("$PWD/bin/tools/operator-sdk" "$@")
  [[ $provider != devcluster ]] || command=("$PWD/bin/devcluster" with-registry -- "${command[@]}")
  mkdir -p "$work"
  (cd "$work" && "${command[@]}")
}

# need_olm: the devcluster gets OLM; another cluster has it.
need_olm() {
  if [[ $provider == devcluster ]]; then
    say "Installing OLM"
    bin/devcluster olm up
    return
  fi
  "$kubectl" get customresourcedefinition clusterserviceversions.operators.coreos.com --output name >/dev/null ||
    fail "this cluster has no OLM. Install it first, for example by: operator-sdk olm install"
}

# need_registry: operator-sdk reads the bundle from a registry, so that loading an image into a node is not enough.
need_registry() {
  [[ $provider != devcluster ]] || return 0
  provider=registry tool=${CONTAINER_TOOL:-$(hack/container-tool.sh)}
  [[ $IMG != quay.io/critical-service/* && $BUNDLE_IMG != quay.io/critical-service/* ]] ||
    fail "$IMG and $BUNDLE_IMG are names of the project. Give the beginning of your own, in a registry that you may
push to and the cluster can pull from, for example
  KUBECONFIG=$KUBECONFIG make run-bundle IMAGE_TAG_BASE=registry.example.com/you/operator"
}

# need_room: OLM must not meet an operator that runs already.
need_room() {
  local found
  found=$("$kubectl" get pods --all-namespaces --selector "$pods" --output 'jsonpath={.items[*].metadata.namespace}')
  [[ -z $found ]] ||
    fail "the operator runs already, in namespace ${found%% *}. Remove it first: by 'make cleanup-bundle' where
'make run-bundle' installed it, by 'make demo-down' where 'make demo' did, else as docs/install.md says"
}

up() {
  local arch options=()
  use_cluster
  need_registry
  need_olm
  need_room

  arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
  say "Building the binaries for linux/$arch, as v$VERSION"
  make --no-print-directory binaries ARCH="$arch" VERSION="v$VERSION"
  say "Building and delivering $IMG"
  deliver "$IMG" --target prebuilt --build-arg BASE=scratch --build-arg VERSION="v$VERSION" .

  say "Building and delivering $BUNDLE_IMG"
  [[ -z ${CHANNELS:-} ]] || options+=(--channels "$CHANNELS")
  [[ -z ${DEFAULT_CHANNEL:-} ]] || options+=(--default-channel "$DEFAULT_CHANNEL")
  hack/bundle.sh --version "$VERSION" --image "$IMG" --scorecard-image "$SCORECARD_IMG" --output "$bundle" "${options[@]}"
  deliver "$BUNDLE_IMG" --file "$bundle/bundle.Dockerfile" "$bundle"

  say "operator-sdk run bundle $BUNDLE_IMG"
  "$kubectl" create namespace "$namespace" --dry-run=client --output yaml | "$kubectl" apply --filename -
  operator_sdk run bundle "$BUNDLE_IMG" --namespace "$namespace" --timeout "$timeout"
  say "The operator runs in namespace $namespace. To use it:
  export KUBECONFIG=$KUBECONFIG
  $kubectl apply -f config/samples/mycrd.com_v2_criticalservice_page.yaml
To remove it, with all objects of its kinds: make cleanup-bundle"
}

# down does what docs/install.md says about a trial, in its order.
down() {
  local slices=(endpointslices --all-namespaces --selector endpointslice.kubernetes.io/managed-by=critical-service-operator.mycrd.com)
  use_cluster
  if [[ $("$kubectl" get customresourcedefinitions --output name) == *criticalservices.mycrd.com* ]]; then
    say "Deleting all Maintenances, ServiceFallbacks and CriticalServices"
    "$kubectl" delete maintenances,servicefallbacks --all --all-namespaces
    "$kubectl" delete criticalservices --all
    if [[ -n $("$kubectl" get "${slices[@]}" --output name) ]]; then
      "$kubectl" wait "${slices[@]}" --for=delete --timeout=2m >/dev/null
    fi
  fi
  say "operator-sdk cleanup $package"
  operator_sdk cleanup "$package" --namespace "$namespace" --timeout "$timeout"
  "$kubectl" --namespace kube-system delete rolebinding "$package-service-auth-reader" --ignore-not-found
  "$kubectl" delete namespace "$namespace" --ignore-not-found
  "$kubectl" delete operators.operators.coreos.com "$package.$namespace" --ignore-not-found
}

case ${1:-} in
  up | down) "$1" ;;
  *) fail "usage: hack/run-bundle.sh up|down" ;;
esac
