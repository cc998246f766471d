#!/usr/bin/env bash
# The end-to-end tests of the workloads operator, with both operators deployed from their images. Arguments go to
# `go test`, for example `hack/e2e-workloads.sh -run TestTheOperator`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/cluster.sh
source hack/cluster.sh

need_programs psql:postgresql-client mariadb:mariadb-client npm:npm curl:curl
use_cluster
# The scenarios type what the documents say.
export E2E_KUBECTL=$kubectl
make --no-print-directory plugin PLUGIN=bin/kubectl-critsvc
export E2E_PLUGIN=$PWD/bin/kubectl-critsvc
deliver_images
deliver_workloads
deliver_databases
E2E_MONGODB=$(test/mongodb/build.sh)
export E2E_MONGODB
# The tests install both, and see also what holds without the first.
export E2E_MANIFEST=$PWD/bin/e2e-install.yaml E2E_WORKLOADS_MANIFEST=$PWD/bin/e2e-install-workloads.yaml
hack/render.sh "$IMG" > "$E2E_MANIFEST"
hack/render.sh "$WORKLOADS_IMG" workloads > "$E2E_WORKLOADS_MANIFEST"
# A scenario stops the API server, which is possible only where it is a process of this machine.
if [[ $provider == devcluster ]]; then export E2E_DEVCLUSTER=$PWD/bin/devcluster; fi

say "The end-to-end tests of the workloads operator"
cd workloads
../hack/gotest.sh e2e-workloads ./test/e2e/... -tags e2e -count=1 -timeout 30m "$@"
