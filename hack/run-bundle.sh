#!/usr/bin/env bash
# `hack/run-bundle.sh up` builds the operator and its bundle from this clone and has OLM install them, by
# `operator-sdk run bundle`, which gets further arguments; `hack/run-bundle.sh down` removes them. On the devcluster,
# which has a registry for images of any name, or on the cluster of KUBECONFIG.
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
own_names='make run-bundle IMAGE_TAG_BASE=registry.example.com/you/operator'

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
    ask_for_names "$IMG and $BUNDLE_IMG are names of the project"
}

# elsewhere prints the first namespace, but one, in which the operator runs.
elsewhere() {
  "$kubectl" get pods --all-namespaces --selector "$pods" --output 'jsonpath={range .items[*]}{.metadata.namespace}{"\n"}{end}' |
    awk -v but="${1:-}" '$1 != but && !found++'
}

# need_room: OLM must not meet an operator that runs already.
need_room() {
  local found
  found=$(elsewhere)
  [[ -z $found ]] ||
    fail "the operator runs already, in namespace $found. Remove it first: by 'make cleanup-bundle' where
'make run-bundle' installed it, by 'make demo-down' where 'make demo' did, else as docs/install.md says"
}

# need_trial: with the operator go all objects of its kinds, so it must be the one that run-bundle installed.
need_trial() {
  local found context
  context=$("$kubectl" config current-context)
  found=$("$kubectl" --namespace "$namespace" get subscriptions.operators.coreos.com,catalogsources.operators.coreos.com --output name) || found=''
  [[ $found == */"$package"-* ]] ||
    fail "'make run-bundle' has installed nothing in the cluster of context $context: namespace $namespace has neither
Subscription nor CatalogSource of $package. Remove an operator that was installed by other means as docs/install.md says"
  found=$(elsewhere "$namespace")
  [[ -z $found ]] ||
    fail "in the cluster of context $context the operator runs in namespace $found as well, and would lose all objects of its kinds.
Remove one of the two as docs/install.md says"
}

up() {
  local arch options=()
  # First, because it refuses what is given, and needs no cluster.
  say "Generating the bundle"
  [[ -z ${CHANNELS:-} ]] || options+=(--channels "$CHANNELS")
  [[ -z ${DEFAULT_CHANNEL:-} ]] || options+=(--default-channel "$DEFAULT_CHANNEL")
  hack/bundle.sh --version "$VERSION" --image "$IMG" --scorecard-image "$SCORECARD_IMG" --output "$bundle" "${options[@]}"

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
  deliver "$BUNDLE_IMG" --file "$bundle/bundle.Dockerfile" "$bundle"

  say "operator-sdk run bundle $BUNDLE_IMG"
  "$kubectl" create namespace "$namespace" --dry-run=client --output yaml | "$kubectl" apply --filename -
  operator_sdk run bundle "$BUNDLE_IMG" --namespace "$namespace" --timeout "$timeout" "$@"
  say "The operator runs in namespace $namespace. To use it:
  export KUBECONFIG=$KUBECONFIG
  $kubectl apply -f config/samples/mycrd.com_v2_criticalservice_page.yaml
To remove it, with all objects of its kinds: make cleanup-bundle"
}

# wait_for_none SELECTION...: until none is left of what the operator withdraws.
wait_for_none() {
  [[ -z $("$kubectl" get "$@" --all-namespaces --output name) ]] ||
    "$kubectl" wait "$@" --all-namespaces --for=delete --timeout=2m >/dev/null
}

# down does what docs/install.md says about an uninstall, in its order.
down() {
  local teams
  if on_devcluster && ! bin/devcluster kubeconfig >/dev/null; then
    fail "the devcluster does not run. 'make demo-down' removes it, with all that is on it"
  fi
  use_cluster
  need_trial
  if [[ $("$kubectl" get customresourcedefinitions --output name) == *criticalservices.mycrd.com* ]]; then
    say "Deleting all objects of the operator's kinds"
    teams=$(sed -n 's/^    plural: //p' config/crd/bases/*.yaml | grep --invert-match --line-regexp criticalservices | paste -sd , -)
    "$kubectl" delete "$teams" --all --all-namespaces
    "$kubectl" delete criticalservices --all
    wait_for_none endpointslices --selector endpointslice.kubernetes.io/managed-by=critical-service-operator.mycrd.com
    wait_for_none deployments,poddisruptionbudgets,horizontalpodautoscalers,configmaps --field-selector metadata.name=critical-service-responder
    wait_for_none pods --selector mycrd.com/fallback-for
  fi
  say "operator-sdk cleanup $package"
  operator_sdk cleanup "$package" --namespace "$namespace" --timeout "$timeout"
  "$kubectl" delete namespace "$namespace" --ignore-not-found
  "$kubectl" delete operators.operators.coreos.com "$package.$namespace" --ignore-not-found
  "$kubectl" delete clusterroles --selector "olm.owner.kind=OperatorGroup,olm.owner.namespace=$namespace"
  "$kubectl" --namespace kube-system delete rolebinding "$package-service-auth-reader" --ignore-not-found
}

case ${1:-} in
  up | down) "$@" ;;
  *) fail "usage: hack/run-bundle.sh up [ARGUMENTS OF operator-sdk run bundle] | down" ;;
esac
