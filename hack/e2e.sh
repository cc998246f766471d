#!/usr/bin/env bash
# The end-to-end tests, with the operator deployed from its image. Arguments go to `go test`,
# for example `hack/e2e.sh -run TestStory/selector`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

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

# HAProxy Ingress expects lua-json beside HAProxy.
need_programs psql:postgresql-client mariadb:mariadb-client redis-cli:redis-tools haproxy:haproxy /usr/share/lua/5.3/json.lua:lua-json
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
