#!/usr/bin/env bash
# The end-to-end tests, with the operator deployed from its image. Arguments go to `go test`,
# for example `hack/e2e.sh -run TestStory/selector`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

# need_programs installs what the scenarios run on this machine: clients of databases, and the proxy
# of an ingress controller.
need_programs() {
  local missing=() need
  for need in psql:postgresql-client mariadb:mariadb-client redis-cli:redis-tools haproxy:haproxy; do
    command -v "${need%%:*}" >/dev/null || missing+=("${need#*:}")
  done
  # HAProxy Ingress expects it beside HAProxy; it has no command of its own.
  [[ -e /usr/share/lua/5.3/json.lua ]] || missing+=(lua-json)
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    fail "the end-to-end tests run programs that are missing here. Install the packages (Debian's names): ${missing[*]}"
  fi
  say "Installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# deliver_next builds the operator once more, as another version, to which a scenario upgrades it.
deliver_next() {
  local arch
  arch=$("$kubectl" get nodes --output 'jsonpath={.items[0].status.nodeInfo.architecture}')
  make --no-print-directory binaries ARCH="$arch" VERSION=e2e-next
  E2E_NEXT_IMG=${IMG%[:@]*}:e2e-next-$(digest "bin/linux-$arch/manager" "bin/linux-$arch/responder")
  say "Building and delivering $E2E_NEXT_IMG"
  deliver "$E2E_NEXT_IMG" --target prebuilt --build-arg BASE=scratch .
  export E2E_NEXT_IMG
}

# build_plugin compiles the kubectl plugin for this machine.
build_plugin() {
  say "Building the kubectl plugin"
  make --no-print-directory plugin PLUGIN=bin/kubectl-critsvc
  export E2E_PLUGIN=$PWD/bin/kubectl-critsvc
}

need_programs
use_cluster
build_plugin
CONSUMERS=$(test/consumers/build.sh)
export CONSUMERS
deliver_images
deliver_next
export E2E_MANIFEST=$PWD/bin/e2e-install.yaml
hack/render.sh "$IMG" > "$E2E_MANIFEST"
# A scenario stops the API server, which is possible only where it is a process of this machine.
if [[ $provider == devcluster ]]; then export E2E_DEVCLUSTER=$PWD/bin/devcluster; fi

say "The end-to-end tests"
hack/gotest.sh e2e ./test/e2e/... -tags e2e -count=1 -timeout 30m "$@"
