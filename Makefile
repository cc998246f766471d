# Critical Service Operator. `make help` lists the targets.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# given NAME is the value of a variable if the user set it, on the command line or in the environment.
given = $(if $(filter command environment,$(firstword $(origin $1))),$($1))
# refuse GOALS,NAMES,WHY stops make with one of these goals if variables with these names are given.
refused = $(strip $(foreach name,$1,$(if $(call given,$(name)),$(name))))
refuse = $(if $(and $(filter $1,$(MAKECMDGOALS)),$(call refused,$2)),$(error $(call refused,$2): not supported, because $3))

# The version of the bundle, the catalog and the chart: X.Y.Z, or vX.Y.Z. `make release` wants it given.
VERSION ?= 1.0.0
NUMBER = $(VERSION:v%=%)
# What binaries and images say they are: the version if it is given, else what Git says.
BUILD_VERSION = $(if $(call given,VERSION),$(if $(findstring .,$(VERSION)),v$(NUMBER),$(VERSION)),$(shell git describe --tags --always --dirty 2>/dev/null || echo dev))

# The names of all images begin with this. A fork gives its own, or changes it here: scripts see it, too.
IMAGE_TAG_BASE ?= quay.io/critical-service/operator
export IMAGE_TAG_BASE
# The operator's image, which is built, deployed and named by the bundle. The demo and the end-to-end
# tests see it, and DEMO_IMG, only if the user gives them, and choose names that follow from the
# content otherwise: see hack/cluster.sh.
IMG ?= $(IMAGE_TAG_BASE):v$(NUMBER)

COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The architecture of `make binaries` and of `make docker-build PREBUILT=1`.
ARCH ?= $(shell go env GOARCH)
# docker, podman or buildah: the first one that works.
CONTAINER_TOOL ?= $(shell hack/container-tool.sh)
KUBECTL ?= $(shell command -v kubectl || echo "$$(bin/devcluster assets)/kubectl")

TOOLS := $(CURDIR)/bin/tools
# For example BENCH_ARGS="--rounds=5".
BENCH_ARGS ?=
# For example TEST_ARGS="-run TestDecide".
TEST_ARGS ?=
# How long each fuzz target looks, and for example FUZZ=FuzzDetect for one of them.
FUZZTIME ?= 1m
FUZZ ?= .

# Static binaries, and one set of compiled packages for nearly everything.
# The race detector of the unit tests needs a C compiler; without one they run without it.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
export CGO_ENABLED = 0

LDFLAGS := -s -w \
  -X github.com/critical-service/operator/internal/version.Version=$(BUILD_VERSION) \
  -X github.com/critical-service/operator/internal/version.Commit=$(COMMIT)
GO_BUILD := go build -buildvcs=false -ldflags "$(LDFLAGS)"

##@ General

.PHONY: help
help: ## Explain every target.
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: all
all: build ## The same as build.

.PHONY: clean
clean: ## Remove everything that was built (bin/ and dist/).
	@if [[ -x bin/devcluster ]] && bin/devcluster status >/dev/null 2>&1; then \
	  echo "the devcluster still runs from bin/: run 'make demo-down' first" >&2; exit 1; fi
	rm -rf bin dist cover.out

##@ Try it

.PHONY: demo
demo: bin/devcluster $(TOOLS)/kustomize ## Watch a Service that lost all its Pods keep answering (KUBECONFIG=... make demo: on your cluster).
	hack/demo.sh up

.PHONY: demo-down
demo-down: bin/devcluster $(TOOLS)/kustomize ## Remove what the demo made.
	hack/demo.sh down

##@ Develop

.PHONY: build
build: ## Compile the operator into bin/manager and the responder into bin/responder.
	$(GO_BUILD) -o bin/manager .
	$(GO_BUILD) -o bin/responder ./cmd/responder

# The kubectl plugin: where it goes, and for which system it is compiled (with ARCH).
PLUGIN ?= bin/kubectl-critsvc
PLUGIN_OS ?= $(shell go env GOOS)

.PHONY: plugin
plugin: ## Compile the kubectl plugin into bin/kubectl-critsvc; on the PATH it is `kubectl critsvc`.
	GOOS=$(PLUGIN_OS) GOARCH=$(ARCH) $(GO_BUILD) -o $(PLUGIN) ./cmd/kubectl-critsvc

# Where the API server reaches the conversion webhook of `make run`: an API server on this machine
# (the devcluster) by this address; one in a container, for example, by https://host.docker.internal:9443.
WEBHOOK_URL ?= https://127.0.0.1:9443

.PHONY: run
run: ## Run the operator on this machine against the current kubeconfig (first: make install).
	$(KUBECTL) apply --server-side --force-conflicts -f config/manager/namespace.yaml
	POD_NAMESPACE=critical-service-system LEADER_ELECT=false LOG_FORMAT=text \
	  WEBHOOK_URL=$(WEBHOOK_URL) RESPONDER_IMAGE=$(IMG) go run -ldflags "$(LDFLAGS)" .

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Generate the DeepCopy methods of the API types.
	$(TOOLS)/controller-gen object paths=./api/...

.PHONY: manifests
manifests: $(TOOLS)/controller-gen ## Generate the CRD, the webhook and the operator's ClusterRole from the markers in the code.
	$(TOOLS)/controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	$(TOOLS)/controller-gen webhook paths=./internal/operator/webhook/... output:webhook:dir=config/webhook
	$(TOOLS)/controller-gen rbac:roleName=critical-service-operator paths=./controllers/... paths=./internal/... output:rbac:dir=config/rbac

.PHONY: api-docs
api-docs: $(TOOLS)/crd-ref-docs ## Generate docs/reference/api.md from the Go types.
	@mkdir -p docs/reference
	@$(TOOLS)/crd-ref-docs --source-path=api --config=hack/api-docs/config.yaml --templates-dir=hack/api-docs \
	  --renderer=markdown --output-path=docs/reference/api.md --log-level=ERROR

.PHONY: chart
chart: $(TOOLS)/kustomize ## Generate the templates of the Helm chart from config/default and config/certmanager, and set its version to VERSION.
	@go run ./hack/chart -kustomize $(TOOLS)/kustomize -version $(NUMBER)

.PHONY: dashboard
dashboard: ## Generate the Grafana dashboard from hack/dashboard.
	@go run ./hack/dashboard -out config/grafana/critical-service-operator.json

.PHONY: plugin-picture
plugin-picture: ## Draw docs/images/plugin.svg from what the plugin prints in its tests.
	@go run ./hack/terminal -out docs/images/plugin.svg

.PHONY: pictures
pictures: plugin-picture ## Take the pictures of the built-in page in docs/images, with Debian's Chromium; and draw the plugin's.
	@go run ./hack/pictures -out docs/images

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## Format all Go code and sort its imports.
	$(TOOLS)/golangci-lint fmt

.PHONY: vet
vet: ## Run go vet over all Go code.
	go vet -tags e2e ./...
	go -C hack/devcluster vet ./...

.PHONY: tidy
tidy: ## Tidy the module files of the operator, the devcluster and the tools.
	@for mod in $$(find . -name go.mod -not -path './bin/*'); do \
	  echo "go mod tidy: $$mod"; (cd "$$(dirname "$$mod")" && go mod tidy); done
	@cd hack/tools && for mod in *.mod; do \
	  [[ $$mod == go.mod ]] || { echo "go mod tidy: hack/tools/$$mod"; go mod tidy -modfile="$$mod"; }; done
	@test/consumers/build.sh tidy

##@ Check

.PHONY: test
test: bin/devcluster $(addprefix $(TOOLS)/,gotestsum controller-gen crd-ref-docs golangci-lint kustomize helm operator-sdk opm) ## Run the unit tests and the tests against a real API server. Needs only Go.
	@hack/prometheus.sh >/dev/null || echo "note: without promtool the tests of the alerts are skipped"
	@echo "building etcd and kube-apiserver (once; the first time takes minutes)"
	@assets=$$(bin/devcluster assets); export FORMAT=pkgname-and-test-fails; status=0; \
	CGO_ENABLED=$(if $(RACE),1,0) KUBEBUILDER_ASSETS="$$assets" \
	  hack/gotest.sh unit ./... $(RACE) -timeout 25m $(TEST_ARGS) || status=1; \
	(cd hack/devcluster && ../gotest.sh devcluster ./... -timeout 25m $(TEST_ARGS)) || status=1; \
	exit $$status

.PHONY: setup-envtest
setup-envtest: bin/devcluster ## Build etcd and kube-apiserver for tests, and print where they are: KUBEBUILDER_ASSETS.
	@bin/devcluster assets

.PHONY: envtest
envtest: setup-envtest ## The same as setup-envtest.

.PHONY: lint
lint: $(addprefix $(TOOLS)/,actionlint golangci-lint kustomize) ## Check code, scripts, kustomizations and workflows.
	@status=0; check() { echo "$$*"; "$$@" || status=1; }; \
	check make --no-print-directory vet; \
	check $(TOOLS)/golangci-lint run; \
	(cd hack/devcluster && check $(TOOLS)/golangci-lint run; exit $$status) || status=1; \
	for dir in config/default config/certmanager config/samples config/scorecard config/manifests config/prometheus config/grafana; do check $(TOOLS)/kustomize build -o /dev/null "$$dir"; done; \
	check $(TOOLS)/actionlint; \
	if command -v shellcheck >/dev/null; then check shellcheck -x hack/*.sh test/*/*.sh .ci/run; \
	else echo "note: shellcheck is not installed, the scripts were not checked"; fi; \
	exit $$status

.PHONY: lint-fix
lint-fix: $(TOOLS)/golangci-lint ## Fix what golangci-lint can fix by itself.
	$(TOOLS)/golangci-lint run --fix
	cd hack/devcluster && $(TOOLS)/golangci-lint run --fix

.PHONY: lint-config
lint-config: $(TOOLS)/golangci-lint ## Check the configuration of golangci-lint (needs internet access).
	$(TOOLS)/golangci-lint config verify

.PHONY: verify
verify: $(addprefix $(TOOLS)/,controller-gen crd-ref-docs golangci-lint kustomize operator-sdk opm) ## Check that everything generated is up to date; says what to run if not.
	hack/verify.sh

.PHONY: fuzz
fuzz: ## Let every fuzz target look for inputs that fail, FUZZTIME each.
	hack/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: docs
docs: ## Build the documents as a site in dist/site; a link or heading that is missing fails. Needs mkdocs-material.
	@command -v mkdocs >/dev/null || { echo "missing: mkdocs and its theme (on Debian: apt-get install mkdocs-material)" >&2; exit 1; }
	PYTHONDONTWRITEBYTECODE=1 mkdocs build --clean

.PHONY: vuln
vuln: ## Look for known vulnerabilities in the code that is called (needs internet access).
	hack/vuln.sh

.PHONY: e2e
e2e: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## Run the end-to-end tests on the devcluster, or on the cluster of KUBECONFIG.
	hack/e2e.sh $(TEST_ARGS)

.PHONY: test-e2e
test-e2e: e2e ## The same as e2e.

.PHONY: setup-test-e2e
setup-test-e2e: bin/devcluster ## Start the devcluster, as e2e does by itself.
	bin/devcluster up

.PHONY: cleanup-test-e2e
cleanup-test-e2e: bin/devcluster ## Remove the devcluster.
	bin/devcluster down

.PHONY: observability
observability: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## See an outage on the devcluster with a real Prometheus: metrics, alerts, every query of the dashboard.
	hack/observability.sh $(TEST_ARGS)

.PHONY: e2e-olm
e2e-olm: bin/devcluster $(addprefix $(TOOLS)/,gotestsum kustomize operator-sdk opm) ## Run the end-to-end tests with OLM: catalog, upgrade, uninstall, scorecard. On the devcluster only.
	hack/e2e-olm.sh $(TEST_ARGS)

.PHONY: scorecard
scorecard: bin/devcluster $(addprefix $(TOOLS)/,kustomize operator-sdk) ## Run scorecard, its own tests and ours, against the operator in the cluster (docs/maintainers/scorecard.md).
	hack/scorecard.sh

.PHONY: consumers
consumers: bin/devcluster $(TOOLS)/gotestsum ## Test who honours a standby: kube-proxy in both modes, DNS, ingress controllers. Restarts the devcluster.
	test/consumers/run.sh

.PHONY: bench-failover
bench-failover: bin/devcluster $(TOOLS)/kustomize ## Measure failover side by side (no operator, v1, v2) and write docs/failover.md.
	test/bench/run.sh $(BENCH_ARGS)

.PHONY: bench-scale
bench-scale: bin/devcluster $(TOOLS)/kustomize ## Measure the operator with 1,000 and 10,000 Services and write docs/scale.md.
	test/bench/scale/run.sh $(BENCH_ARGS)

##@ Image

IMAGE_ARGS = --build-arg VERSION=$(BUILD_VERSION) --build-arg COMMIT=$(COMMIT) \
  $(if $(PREBUILT),--target prebuilt --build-arg BASE=scratch) $(BUILD_ARGS)

.PHONY: docker-build
docker-build: $(if $(PREBUILT),binaries) ## Build the image IMG. PREBUILT=1 packs binaries compiled here on an empty base and needs no registry.
	$(CONTAINER_TOOL) build --tag $(IMG) $(if $(PLATFORM),--platform $(PLATFORM)) \
	  $(IMAGE_ARGS) .

# Names of the project are those of releases.
refuse_push = @[[ $1 != quay.io/critical-service/* ]] || \
  { echo "$1 is a name of the project, which only 'make publish' pushes: give IMAGE_TAG_BASE." >&2; exit 1; }

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(call refuse_push,$(IMG))
	$(CONTAINER_TOOL) push $(IMG)

# For what `make docker-buildx` builds.
PLATFORMS ?= linux/amd64,linux/arm64

.PHONY: docker-buildx
docker-buildx: ## Build the image IMG for all PLATFORMS and push it, as one. PREBUILT=1 as with docker-build.
	$(call refuse_push,$(IMG))
	PREBUILT=$(PREBUILT) CONTAINER_TOOL=$(CONTAINER_TOOL) hack/buildx.sh $(IMG) $(PLATFORMS) $(IMAGE_ARGS)

.PHONY: binaries
binaries: ## Compile operator, responder and demo workload for images into bin/linux-ARCH.
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/manager .
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/responder ./cmd/responder
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/workload ./test/workload

.PHONY: scorecard-binary
scorecard-binary: ## Compile the scorecard tests for their image into bin/linux-ARCH.
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/scorecard ./test/scorecard

##@ Bundle

BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(NUMBER)
SCORECARD_IMG ?= $(IMAGE_TAG_BASE)-scorecard:v$(NUMBER)
# The channels of the bundle; without them, those of the upgrade graph (docs/maintainers/release.md).
CHANNELS ?=
DEFAULT_CHANNEL ?=
# For example RUN_BUNDLE_ARGS="--pull-secret-name registry".
RUN_BUNDLE_ARGS ?=

why_flags = hack/bundle.sh says how operator-sdk is run: give VERSION, CHANNELS and DEFAULT_CHANNEL, or edit it
$(call refuse,bundle run-bundle,BUNDLE_GEN_FLAGS BUNDLE_METADATA_OPTS BUNDLE_CHANNELS BUNDLE_DEFAULT_CHANNEL,$(why_flags))
$(call refuse,run-bundle,USE_IMAGE_DIGESTS,the image is built after its bundle: give IMG by tag)

.PHONY: bundle
bundle: manifests $(TOOLS)/kustomize $(TOOLS)/operator-sdk $(if $(filter true,$(USE_IMAGE_DIGESTS)),$(TOOLS)/crane) ## Generate the OLM bundle of VERSION, IMG, CHANNELS and DEFAULT_CHANNEL. USE_IMAGE_DIGESTS=true names the image by digest.
	@TOOLS=$(TOOLS) hack/bundle.sh --version $(NUMBER) --image $(IMG) --scorecard-image $(SCORECARD_IMG) \
	  $(if $(CHANNELS),--channels '$(CHANNELS)') $(if $(DEFAULT_CHANNEL),--default-channel '$(DEFAULT_CHANNEL)')

.PHONY: bundle-validate
bundle-validate: $(TOOLS)/operator-sdk ## Hold the bundle against every validator that applies.
	TOOLS=$(TOOLS) hack/bundle-validate.sh

.PHONY: bundle-build
bundle-build: ## Build the image of the bundle, BUNDLE_IMG.
	$(CONTAINER_TOOL) build --file bundle.Dockerfile --tag $(BUNDLE_IMG) .

.PHONY: scorecard-build
scorecard-build: scorecard-binary ## Build the image of the scorecard tests, SCORECARD_IMG.
	$(CONTAINER_TOOL) build --file test/scorecard/Dockerfile --tag $(SCORECARD_IMG) --platform linux/$(ARCH) bin/linux-$(ARCH)

.PHONY: bundle-push
bundle-push: ## Push the image of the bundle.
	$(call refuse_push,$(BUNDLE_IMG))
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: run-bundle
run-bundle: bin/devcluster $(addprefix $(TOOLS)/,kustomize operator-sdk) ## Build operator and bundle of this clone, and install them by `operator-sdk run bundle`. On the devcluster, or on the cluster of KUBECONFIG.
	VERSION=$(NUMBER) IMG=$(IMG) BUNDLE_IMG=$(BUNDLE_IMG) CHANNELS='$(CHANNELS)' DEFAULT_CHANNEL='$(DEFAULT_CHANNEL)' \
	  SCORECARD_IMG=$(SCORECARD_IMG) hack/run-bundle.sh up $(RUN_BUNDLE_ARGS)

.PHONY: cleanup-bundle
cleanup-bundle: bin/devcluster $(TOOLS)/operator-sdk ## Remove what run-bundle installed, with all objects of the operator's kinds.
	hack/run-bundle.sh down

##@ Catalog and release

CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(NUMBER)
# What the image of the catalog is made from; without it, what catalog.Dockerfile says. A release wants a digest.
OPM_IMAGE ?=

why_index = a catalog is the folder catalog/, and not an index image: run 'make bundle' and then 'make catalog' for each version, \
  which stays there, and give the image that has opm as OPM_IMAGE
$(call refuse,catalog catalog-build catalog-push,BUNDLE_IMGS CATALOG_BASE_IMG,$(why_index))

.PHONY: catalog
catalog: $(TOOLS)/opm ## Render the bundle into the file-based catalog under catalog/, as the image BUNDLE_IMG.
	@TOOLS=$(TOOLS) hack/catalog.sh --version $(NUMBER) --bundle-image $(BUNDLE_IMG) \
	  $(if $(CHANNELS),--channels '$(CHANNELS)') $(if $(DEFAULT_CHANNEL),--default-channel '$(DEFAULT_CHANNEL)')

.PHONY: catalog-validate
catalog-validate: $(TOOLS)/opm ## Hold the catalog against opm's rules and those of its upgrade graph.
	$(TOOLS)/opm validate catalog
	go test ./test/catalog

.PHONY: catalog-build
catalog-build: ## Build the image of the catalog, CATALOG_IMG.
	@image='$(BUNDLE_IMG)'; grep --quiet --extended-regexp "^image: ($$image|$${image%:*}@sha256:.*)$$" catalog/*/bundles/v$(NUMBER).yaml || \
	  { echo "No bundle in catalog/ is the image $$image: run 'make catalog' with the same variables first." >&2; exit 1; }
	$(CONTAINER_TOOL) build --file catalog.Dockerfile --tag $(CATALOG_IMG) \
	  $(if $(OPM_IMAGE),--build-arg OPM_IMAGE=$(OPM_IMAGE)) --build-arg VERSION=v$(NUMBER) .

.PHONY: catalog-push
catalog-push: ## Push the image of the catalog.
	$(call refuse_push,$(CATALOG_IMG))
	$(CONTAINER_TOOL) push $(CATALOG_IMG)

# A release is of no version but a given one.
GIVEN_VERSION = '$(if $(call given,VERSION),v$(NUMBER))'
# And it has the names that are published.
why_names = a release is what this project publishes: names are those of hack/release.sh, channels those of catalog/critical-service-operator/channels.yaml
$(call refuse,release release-catalog,IMG IMAGE_TAG_BASE BUNDLE_IMG BUNDLE_IMGS CATALOG_IMG CATALOG_BASE_IMG CHANNELS DEFAULT_CHANNEL,$(why_names))

.PHONY: release
release: $(addprefix $(TOOLS)/,crane helm kustomize operator-sdk opm) ## Make everything that is published of VERSION=vX.Y.Z, in dist/. Publishes nothing. See docs/maintainers/release.md.
	TOOLS=$(TOOLS) OPM_IMAGE=$(OPM_IMAGE) hack/release.sh $(GIVEN_VERSION)

.PHONY: publish
publish: $(TOOLS)/crane ## Publish what `make release` has made of VERSION=vX.Y.Z: images, and the page of the release.
	TOOLS=$(TOOLS) hack/publish.sh $(GIVEN_VERSION)

.PHONY: plugin-release
plugin-release: ## Make the archives of the kubectl plugin of VERSION=vX.Y.Z, and its krew manifest, in dist/.
	hack/plugin.sh $(GIVEN_VERSION)

.PHONY: release-catalog
release-catalog: $(addprefix $(TOOLS)/,crane opm) ## Make the image of the catalog alone, as VERSION=vX.Y.Z-WORD, when a channel has changed.
	TOOLS=$(TOOLS) OPM_IMAGE=$(OPM_IMAGE) hack/release.sh $(GIVEN_VERSION) catalog

##@ Install (into the current kubeconfig's cluster)

.PHONY: install
install: $(TOOLS)/kustomize ## Install the CRD only.
	$(TOOLS)/kustomize build config/crd | $(KUBECTL) apply --server-side --force-conflicts -f -

.PHONY: uninstall
uninstall: $(TOOLS)/kustomize ## Remove the CRD, and with it all CriticalServices and their fallbacks.
	$(TOOLS)/kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: $(TOOLS)/kustomize ## Install everything, with the image IMG.
	hack/render.sh $(IMG) | $(KUBECTL) apply --server-side --force-conflicts -f -

.PHONY: undeploy
undeploy: $(TOOLS)/kustomize ## Remove everything that deploy installed, CriticalServices included.
	hack/render.sh $(IMG) | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: build-installer
build-installer: $(TOOLS)/kustomize ## Write dist/install.yaml: the whole install in one file, with the image IMG.
	@mkdir -p dist
	hack/render.sh $(IMG) > dist/install.yaml
	@echo "kubectl apply --server-side --force-conflicts -f dist/install.yaml"

.PHONY: chart-package
chart-package: $(TOOLS)/helm $(TOOLS)/kustomize ## Write dist/critical-service-operator-X.Y.Z.tgz: the Helm chart of VERSION.
	hack/chart.sh $(NUMBER)

# The tools, each a target as in the scaffold; the heading says which, for `make help`.
##@ Tools, built from hack/tools into bin/tools: actionlint controller-gen crane crd-ref-docs golangci-lint gotestsum govulncheck helm kustomize operator-sdk opm

TOOL_NAMES := $(filter-out go,$(basename $(notdir $(wildcard hack/tools/*.mod))))
.PHONY: $(TOOL_NAMES)
$(TOOL_NAMES): %: $(TOOLS)/%

why_pinned = tools are those of hack/tools, built into bin/tools, and Kubernetes that of hack/devcluster: change the versions there
$(call refuse,$(TOOL_NAMES) setup-envtest envtest test bundle,LOCALBIN OPERATOR_SDK_VERSION KUSTOMIZE_VERSION CONTROLLER_TOOLS_VERSION \
  GOLANGCI_LINT_VERSION ENVTEST_VERSION ENVTEST_K8S_VERSION,$(why_pinned))

# What these need besides: libraries of containers without C, and their own version, which operator-sdk
# writes into what it generates.
OLM_TAGS := containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper
SDK_VERSION := $(shell awk '$$1 == "github.com/operator-framework/operator-sdk" {print $$2}' hack/tools/operator-sdk.mod)
SDK_PACKAGE := github.com/operator-framework/operator-sdk/internal/version
$(TOOLS)/operator-sdk: TOOL_FLAGS = -tags=$(OLM_TAGS) -ldflags="-s -w -X $(SDK_PACKAGE).Version=$(SDK_VERSION) \
  -X $(SDK_PACKAGE).GitVersion=$(SDK_VERSION) -X $(SDK_PACKAGE).ImageVersion=$(SDK_VERSION)"
$(TOOLS)/opm: TOOL_FLAGS = -tags=$(OLM_TAGS),json1 -ldflags="-s -w"

# Every tool is pinned by a module file of its own, and rebuilt when that file changes.
$(TOOLS)/%: hack/tools/%.mod hack/tools/%.sum
	@echo "building $* (once)"
	@cd hack/tools && go build -modfile=$*.mod $(TOOL_FLAGS) -o $@ tool
	@touch $@

# Always asked, because Go knows best what has changed; it takes a second.
.PHONY: bin/devcluster
bin/devcluster:
	@cd hack/devcluster && go build -buildvcs=false -o $(CURDIR)/$@ .
