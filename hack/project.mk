# What both projects of this repository have in common: the operator, and the sibling in workloads/.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# given NAME is the value of a variable if the user set it, on the command line or in the environment.
given = $(if $(filter command environment,$(firstword $(origin $1))),$($1))

# The version of the bundle, the catalog and the chart: X.Y.Z, or vX.Y.Z. `make release` wants it given.
VERSION ?= 1.0.0
NUMBER = $(VERSION:v%=%)
# What binaries and images say they are: the version if it is given, else what Git says.
BUILD_VERSION = $(if $(call given,VERSION),$(if $(findstring .,$(VERSION)),v$(NUMBER),$(VERSION)),$(shell git describe --tags --always --dirty 2>/dev/null || echo dev))

# The names of all images begin with this. A fork gives its own.
IMAGE_TAG_BASE ?= quay.io/critical-service/operator
# The operator's image. The demo and the end-to-end tests see it, and DEMO_IMG, only if the user
# gives them, and choose names that follow from the content otherwise: see hack/cluster.sh.
IMG ?= $(IMAGE_TAG_BASE):$(if $(call given,VERSION)$(call given,IMAGE_TAG_BASE),v$(NUMBER),dev)

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
	  /^##@ / {section = substr($$0, 5); if (!seen[section]++) order[++n] = section} \
	  /^[a-z0-9-]+:.*## / {targets[section] = targets[section] sprintf("  %-16s %s\n", $$1, $$2)} \
	  END {for (i = 1; i <= n; i++) printf "\n%s\n%s", order[i], targets[order[i]]}' $(MAKEFILE_LIST)

.PHONY: all
all: build ## The same as build.

##@ Develop

.PHONY: build
build: ## Compile the operator into bin/manager and the responder into bin/responder.
	$(GO_BUILD) -o bin/manager .
	$(GO_BUILD) -o bin/responder ./cmd/responder

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

.PHONY: chart
chart: $(TOOLS)/kustomize ## Generate the templates of the Helm chart from config/default and config/certmanager, and set its version to VERSION.
	@go run ./hack/chart -kustomize $(TOOLS)/kustomize -version $(NUMBER)

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## Format all Go code and sort its imports.
	$(TOOLS)/golangci-lint fmt

.PHONY: vet
vet: ## Run go vet over all Go code.
	go vet -tags e2e ./...
	go -C hack/devcluster vet ./...

##@ Check

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

.PHONY: verify
verify: $(addprefix $(TOOLS)/,controller-gen crd-ref-docs golangci-lint kustomize operator-sdk opm) ## Check that everything generated is up to date; says what to run if not.
	hack/verify.sh

.PHONY: vuln
vuln: ## Look for known vulnerabilities in the code that is called (needs internet access).
	hack/vuln.sh

##@ Image

IMAGE_ARGS = --build-arg VERSION=$(BUILD_VERSION) --build-arg COMMIT=$(COMMIT) \
  $(if $(PREBUILT),--target prebuilt --build-arg BASE=scratch) $(BUILD_ARGS)

.PHONY: docker-build
docker-build: $(if $(PREBUILT),binaries) ## Build the image IMG. PREBUILT=1 packs binaries compiled here on an empty base and needs no registry.
	$(CONTAINER_TOOL) build --tag $(IMG) $(if $(PLATFORM),--platform $(PLATFORM)) \
	  $(IMAGE_ARGS) .

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: binaries
binaries: ## Compile operator, responder and demo workload for images into bin/linux-ARCH.
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/manager .
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/responder ./cmd/responder
	GOOS=linux GOARCH=$(ARCH) $(GO_BUILD) -o bin/linux-$(ARCH)/workload ./test/workload

##@ Bundle

# The image that the bundle installs: that of the release, or one of your own.
BUNDLED_IMG = $(or $(call given,IMG),$(IMAGE_TAG_BASE):v$(NUMBER))
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(NUMBER)
SCORECARD_IMG ?= $(IMAGE_TAG_BASE)-scorecard:v$(NUMBER)
# The channels of the bundle; without them, those of the upgrade graph (docs/maintainers/release.md).
CHANNELS ?=
DEFAULT_CHANNEL ?=

.PHONY: bundle
bundle: $(TOOLS)/kustomize $(TOOLS)/operator-sdk $(if $(filter true,$(USE_IMAGE_DIGESTS)),$(TOOLS)/crane) ## Generate the OLM bundle of VERSION, IMG, CHANNELS and DEFAULT_CHANNEL. USE_IMAGE_DIGESTS=true names the image by digest.
	TOOLS=$(TOOLS) hack/bundle.sh --version $(NUMBER) --image $(BUNDLED_IMG) --scorecard-image $(SCORECARD_IMG) \
	  $(if $(CHANNELS),--channels '$(CHANNELS)') $(if $(DEFAULT_CHANNEL),--default-channel '$(DEFAULT_CHANNEL)')

.PHONY: bundle-validate
bundle-validate: $(TOOLS)/operator-sdk ## Hold the bundle against every validator that applies.
	TOOLS=$(TOOLS) hack/bundle-validate.sh

.PHONY: bundle-build
bundle-build: ## Build the image of the bundle, BUNDLE_IMG.
	$(CONTAINER_TOOL) build --file bundle.Dockerfile --tag $(BUNDLE_IMG) .

.PHONY: bundle-push
bundle-push: ## Push the image of the bundle.
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

# Of the image of the bundle, if it is not that of the project; what it is otherwise follows from the bundle.
GIVEN_BUNDLE_IMG = $(if $(call given,BUNDLE_IMG)$(call given,IMAGE_TAG_BASE),$(BUNDLE_IMG))
# The scaffold adds bundles to an index image. A file-based catalog is a folder.
refuse_index = $(if $(call given,BUNDLE_IMGS),$(error BUNDLE_IMGS is not supported, because a catalog is rendered from bundle/, one version at a time: run 'make catalog BUNDLE_IMG=...' for each))\
  $(if $(call given,CATALOG_BASE_IMG),$(error CATALOG_BASE_IMG is not supported, because a catalog is made from the folder catalog/ and no other index: add earlier versions there, and give the image that has opm as OPM_IMAGE))
$(if $(filter catalog catalog-build,$(MAKECMDGOALS)),$(refuse_index))

.PHONY: catalog
catalog: $(TOOLS)/opm ## Render the bundle into the file-based catalog under catalog/, as the image BUNDLE_IMG.
	TOOLS=$(TOOLS) hack/catalog.sh $(if $(call given,VERSION),--version $(NUMBER)) \
	  $(if $(GIVEN_BUNDLE_IMG),--bundle-image $(GIVEN_BUNDLE_IMG)) $(if $(DEFAULT_CHANNEL),--default-channel '$(DEFAULT_CHANNEL)')

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

.PHONY: setup-envtest
setup-envtest: bin/devcluster ## Build etcd and kube-apiserver for tests, and print where they are: KUBEBUILDER_ASSETS.
	@bin/devcluster assets

.PHONY: envtest
envtest: setup-envtest ## The same as setup-envtest.

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
