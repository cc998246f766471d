# Sourced by demo.sh, e2e.sh and others: the cluster they use, and how the images get there.
#
# Without KUBECONFIG, or with the devcluster's own, it is the devcluster, started if need be, with the version
# KUBERNETES and the IP families IP_FAMILIES. It enforces NetworkPolicies if NETWORK_POLICIES is true.
# With another KUBECONFIG it is that cluster: kind and minikube get the images loaded, others
# pull them from the registry of IMG (or IMAGE_TAG_BASE, which gets a tag) and DEMO_IMG.
# shellcheck shell=bash

say() { printf '\n==> %s\n' "$*"; }

fail() {
  printf '\nerror: %s\n' "$*" >&2
  exit 1
}

# on_devcluster is true without KUBECONFIG and with that of the devcluster, which users export when they have seen it.
on_devcluster() {
  [[ -z ${KUBECONFIG:-} || $KUBECONFIG -ef $(bin/devcluster kubeconfig 2>/dev/null) ]]
}

# need_programs PROGRAM:PACKAGE... installs the packages (Debian's names) whose program, or file, is missing here.
need_programs() {
  local missing=() need
  for need in "$@"; do
    [[ -e ${need%%:*} ]] || command -v "${need%%:*}" >/dev/null || missing+=("${need#*:}")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    fail "the tests run programs that are missing here. Install the packages (Debian's names): ${missing[*]}"
  fi
  say "Installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# use_cluster sets KUBECONFIG (and exports it), kubectl and provider.
use_cluster() {
  if on_devcluster; then
    say "Cluster: the devcluster on this machine (give KUBECONFIG=... for another one)"
    # One that another target has left with more nodes, or other addresses, is of no use to those that ask for none.
    DEVCLUSTER_NODES=${DEVCLUSTER_NODES:-1} DEVCLUSTER_IP_FAMILIES=${IP_FAMILIES:-${DEVCLUSTER_IP_FAMILIES:-ipv4}} \
      DEVCLUSTER_NETWORK_POLICIES=${NETWORK_POLICIES:-${DEVCLUSTER_NETWORK_POLICIES:-false}} bin/devcluster up
    provider=devcluster
    KUBECONFIG=$(bin/devcluster kubeconfig)
  fi
  # Some commands run in another folder.
  KUBECONFIG=$(sed -E "s#(^|:)([^/:])#\1$PWD/\2#g" <<<"$KUBECONFIG")
  export KUBECONFIG
  find_kubectl
  [[ ${provider:-} == devcluster ]] || use_foreign_cluster
}

find_kubectl() {
  kubectl=$(command -v kubectl) || kubectl=$(bin/devcluster assets)/kubectl
}

use_foreign_cluster() {
  local context
  [[ -z ${KUBERNETES:-} ]] || fail "KUBERNETES=$KUBERNETES chooses the version of the devcluster, and KUBECONFIG is that of another cluster: give one of them"
  context=$("$kubectl" config current-context) || fail "no current context in KUBECONFIG=$KUBECONFIG"
  node_fact() { "$kubectl" get nodes --output "jsonpath={.items[0]$1}"; }
  node_fact .metadata.name >/dev/null || fail "the cluster of context $context does not answer"

  # kind://docker/<cluster>/<node>
  provider_id=$(node_fact .spec.providerID)
  minikube_profile=$(node_fact '.metadata.labels.minikube\.k8s\.io/name')
  if [[ $provider_id == kind://* ]]; then
    provider=kind
  elif [[ -n $minikube_profile ]]; then
    provider=minikube
  else
    provider=registry
  fi
  say "Cluster: context $context ($provider), from KUBECONFIG=$KUBECONFIG"
}

# deliver_images builds both images, brings them to the cluster and sets IMG and DEMO_IMG to their names.
deliver_images() {
  local arch
  arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
  say "Building the binaries for linux/$arch"
  make --no-print-directory binaries ARCH="$arch"

  IMG=$(tagged "${IMG:-${IMAGE_TAG_BASE:-quay.io/critical-service/operator}}" "bin/linux-$arch/manager" "bin/linux-$arch/responder")
  DEMO_IMG=$(tagged "${DEMO_IMG:-quay.io/critical-service/demo}" "bin/linux-$arch/workload")
  export IMG DEMO_IMG

  say "Building and delivering $IMG and $DEMO_IMG"
  if [[ $provider != devcluster ]]; then
    tool=${CONTAINER_TOOL:-$(hack/container-tool.sh)}
    # Images are imported more easily without what docker adds about their origin.
    export BUILDX_NO_DEFAULT_ATTESTATIONS=1
  fi
  # The base is empty, because the binaries are static: no registry is needed to build.
  deliver "$IMG" --target prebuilt --build-arg BASE=scratch .
  deliver "$DEMO_IMG" --file test/workload/Dockerfile "bin/linux-$arch"
}

# deliver_workloads does the same with the workloads operator, and sets WORKLOADS_IMG.
deliver_workloads() {
  local arch
  arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
  make --no-print-directory --directory=workloads binaries ARCH="$arch"
  WORKLOADS_IMG=$(tagged "${WORKLOADS_IMG:-quay.io/critical-service/workloads}" "bin/workloads/linux-$arch"/{manager,meter,snapshot})
  export WORKLOADS_IMG
  say "Building and delivering $WORKLOADS_IMG"
  deliver "$WORKLOADS_IMG" --file workloads/Dockerfile --target prebuilt --build-arg BASE=scratch .
}

# deliver_databases brings etcd and the stand-ins for the images of databases to the devcluster, which has no other registry than
# its own. Other clusters pull the official images.
deliver_databases() {
  local images image
  [[ $provider == devcluster ]] || return 0
  images=$(workloads/test/images/build.sh)
  for image in mongo:4.0 mysql:8.0 postgres:16; do
    say "Building and delivering a stand-in for $image"
    deliver "docker.io/library/$image" "$images/${image%:*}"
  done
  for image in "$images"/etcd-*; do
    say "Building and delivering etcd ${image##*/etcd-}"
    deliver "quay.io/coreos/etcd:${image##*/etcd-}" "$image"
  done
}

# tagged IMAGE BINARY...: an image without a tag gets one that follows from its content. So no node
# runs an older image of the same name, and a Deployment is rolled out exactly if its image has changed.
tagged() {
  case ${1##*/} in
    *[:@]*) echo "$1" ;;
    *) echo "$1:dev-$(digest "${@:2}")" ;;
  esac
}

# digest FILE...: a few letters that follow from the content of files.
digest() { git hash-object "$@" | git hash-object --stdin | cut -c 1-12; }

# deliver IMAGE BUILD-ARGUMENTS...
deliver() {
  local image=$1
  shift
  if [[ $provider == devcluster ]]; then
    bin/devcluster image build --tag "$image" "$@"
    return
  fi
  "$tool" build --platform "linux/$arch" --tag "$image" "$@"
  case $provider in
    kind) with_archive "$image" kind load image-archive --name "$(cut -d/ -f4 <<<"$provider_id")" ;;
    minikube) with_archive "$image" minikube image load --profile "$minikube_profile" ;;
    registry)
      "$tool" push "$image" || ask_for_names "cannot push $image"
      ;;
  esac
}

# A command with names that the user may push to. Who needs others, says so.
own_names='make demo IMG=registry.example.com/you/operator DEMO_IMG=registry.example.com/you/demo'

# ask_for_names REASON...: an image does not get to the cluster under its name.
ask_for_names() {
  fail "$*.
Give names in a registry that you may push to and the cluster can pull from, for example
  KUBECONFIG=$KUBECONFIG $own_names"
}

# with_archive IMAGE COMMAND...: runs the command with the image as a file, which all three tools can write.
with_archive() {
  local image=$1 archive status=0
  shift
  archive=$(mktemp -d)
  case $tool in
    buildah) buildah push "$image" "docker-archive:$archive/image.tar:$image" ;;
    *) "$tool" save --output "$archive/image.tar" "$image" ;;
  esac && "$@" "$archive/image.tar" || status=$?
  rm -rf "$archive"
  return $status
}
