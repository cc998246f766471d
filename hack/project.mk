# What the two projects of this repository have in common: that of the root, and its sibling workloads/. Each is a project
# of Operator SDK, in a Go module of its own. A Makefile that includes this says before:
#
#   ROOT          the way to the root of the repository: empty, or ../
#   PROJECT       the folder of the project from there: empty, or workloads
#   NAMESPACE     where the operator is installed
#   PROGRAMS      what `make build` compiles, each as NAME=PACKAGE
#   VERSION       of the bundle and the chart: X.Y.Z, or vX.Y.Z
#   IMAGE_TAG_BASE, with which the names of all images begin, and IMG, the operator's image
#
# and may say RUN_SETTINGS, WEBHOOKS, IMAGE_PROGRAMS, MODULES and LINT_ALSO, which are explained below.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# given NAME is the value of a variable if the user set it, on the command line or in the environment.
given = $(if $(filter command environment,$(firstword $(origin $1))),$($1))
# refuse GOALS,NAMES,WHY stops make with one of these goals if variables with these names are given.
refused = $(strip $(foreach name,$1,$(if $(call given,$(name)),$(name))))
refuse = $(if $(and $(filter $1,$(MAKECMDGOALS)),$(call refused,$2)),$(error $(call refused,$2): not supported, because $3))
# formed GOALS,NAME,VALUE,PATTERN,FORM stops make with one of these goals if the value that follows from a variable has
# another form.
formed = $(if $(filter $1,$(MAKECMDGOALS)),$(if $(shell [[ '$3' =~ $4 ]] && echo yes),,$(error $2 is '$($2)', and must be $5)))
# named GOALS,NAME stops make unless a variable names an image by tag or digest: without, one tool would take :latest, and
# another the tag that config/ has.
reference = ^([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]*|(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?@sha256:[0-9a-f]{64})$$
image_form = an image in lower case with its tag or digest, for example registry.example.com/you/operator:v1.0.0
named = $(call formed,$1,$2,$($2),$(reference),$(image_form))
# own GOALS,NAME,FILES stops make if one of the other operator's files has the image of a variable: one would be pushed over
# the other, as when variables that were exported for the one are still there.
own = $(if $(filter $1,$(MAKECMDGOALS)),$(if $(shell grep --quiet '[iI]mage: $($2)$$' /dev/null $3 2>/dev/null && echo yes),\
  $(error $2 is '$($2)', which is an image of the other operator: give each its own, for example by another IMAGE_TAG_BASE)))

# The name of the operator, of all objects that are its own, and of its package.
NAME := $(shell sed -n 's/^projectName: //p' PROJECT)
NUMBER = $(VERSION:v%=%)
# What binaries and images say they are: the version if it is given, else what Git says.
BUILD_VERSION = $(if $(call given,VERSION),$(if $(findstring .,$(VERSION)),v$(NUMBER),$(VERSION)),$(shell git describe --tags --always --dirty 2>/dev/null || echo dev))

# Versions are those of semver.org, but for +build: the tag of an image cannot have it.
counter = (0|[1-9][0-9]*)
identifier = ($(counter)|[0-9]*[A-Za-z-][0-9A-Za-z-]*)
version_form = X.Y.Z, vX.Y.Z or X.Y.Z-rc.1
semver = ^v?$(counter)\.$(counter)\.$(counter)(-$(identifier)(\.$(identifier))*)?$$
$(call formed,bundle run-bundle bundle-build bundle-push catalog catalog-build catalog-push chart chart-package,VERSION,$(VERSION),$(semver),$(version_form))

COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The architecture of `make binaries` and of `make docker-build PREBUILT=1`.
ARCH ?= $(shell go env GOARCH)
# docker, podman or buildah: the first one that works.
CONTAINER_TOOL ?= $(shell $(ROOT)hack/container-tool.sh)
KUBECTL ?= $(shell command -v kubectl || echo "$$($(ROOT)bin/devcluster assets --kubernetes '$(KUBERNETES)')/kubectl")
# The Kubernetes of the devcluster, and so of all tests: a minor version that hack/devcluster/components has, for example 1.28.
# Without it, the newest.
KUBERNETES ?=
export KUBERNETES

TOOLS := $(abspath $(ROOT)bin/tools)
# All that is built is in one folder at the root.
BIN := $(ROOT)bin$(addprefix /,$(PROJECT))
# For example TEST_ARGS="-run TestDecide".
TEST_ARGS ?=
# The folders of the Go modules that are checked here.
MODULES ?= .

# Static binaries, and one set of compiled packages for nearly everything.
# With RACE=1, as every night, the unit tests run under the race detector. It needs a C compiler and another compilation of
# all packages, and doubles the processor time of the tests.
RACE ?=
export CGO_ENABLED = 0
# How long tests wait that name no time: Gomega's own second is short on a busy machine.
export GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT = 1m

LDFLAGS := -s -w \
  -X github.com/critical-service/operator/internal/version.Version=$(BUILD_VERSION) \
  -X github.com/critical-service/operator/internal/version.Commit=$(COMMIT)
GO_BUILD := go build -buildvcs=false -ldflags "$(LDFLAGS)"

define newline


endef
# compile SETTINGS,FOLDER,PROGRAMS are the commands that compile programs into a folder.
compile = $(foreach program,$3,$1$(GO_BUILD) -o $2/$(subst =, ,$(program))$(newline))

# unit_tests NAME runs the tests of the module, with those against a real API server, for the report NAME. Vet is a
# part of `make lint`; without the tables for debuggers linking takes two thirds of its time. No result is taken from the
# cache of go: it does not see what a TestMain reads, which is the version of Kubernetes and the manifests. One package more
# than there are processors runs at once, as those with an API server mostly wait; at most 9, as a container may have fewer.
unit_tests = echo "building etcd and kube-apiserver (once; the first time takes minutes)"; assets=$$($(ROOT)bin/devcluster assets) && \
  CGO_ENABLED=$(if $(filter 1,$(RACE)),1,0) KUBEBUILDER_ASSETS="$$assets" FORMAT=pkgname-and-test-fails \
  $(ROOT)hack/gotest.sh $1 ./... -p $$(n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 8 ? n + 1 : 9))) $(if $(filter 1,$(RACE)),-race) -count=1 -vet=off -ldflags=-w -timeout 25m $(unit_args) $(TEST_ARGS)

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
build: ## Compile the programs of this project into bin/.
	$(call compile,,$(BIN),$(PROGRAMS))

# Where the API server reaches the conversion webhook of `make run`: an API server on this machine
# (the devcluster) by this address; one in a container, for example, by https://host.docker.internal:9443.
WEBHOOK_URL ?= https://127.0.0.1:9443

# And its further settings, each as NAME=VALUE.
RUN_SETTINGS ?=

$(call refuse,run,ENABLE_WEBHOOKS,the webhooks are always served: WEBHOOK_URL says where the API server reaches them)
$(call refuse,run,WATCH_NAMESPACE,namespaces are limited by the setting NAMESPACES)

.PHONY: run
run: ## Run the operator on this machine against the current kubeconfig (first: make install).
	$(KUBECTL) apply --server-side --force-conflicts -f config/manager/namespace.yaml
	POD_NAMESPACE=$(NAMESPACE) LEADER_ELECT=false LOG_FORMAT=text \
	  WEBHOOK_URL=$(WEBHOOK_URL) $(RUN_SETTINGS) go run -ldflags "$(LDFLAGS)" .

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Generate the DeepCopy methods of the API types.
	$(TOOLS)/controller-gen object paths=./api/...

# The packages with webhooks that a configuration has to name. A conversion webhook is named by its CRD.
WEBHOOKS ?=

.PHONY: manifests
manifests: $(TOOLS)/controller-gen ## Generate the CRDs, the webhook and the operator's ClusterRole from the markers in the code.
	$(TOOLS)/controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	$(if $(WEBHOOKS),$(TOOLS)/controller-gen webhook paths=$(WEBHOOKS) output:webhook:dir=config/webhook)
	$(TOOLS)/controller-gen rbac:roleName=$(NAME) $(patsubst %,paths=./%/...,$(wildcard controllers internal)) output:rbac:dir=config/rbac

.PHONY: api-docs
api-docs: $(TOOLS)/crd-ref-docs ## Generate docs/reference/api.md (of workloads: workloads-api.md) from the Go types.
	@mkdir -p $(ROOT)docs/reference
	@$(TOOLS)/crd-ref-docs --source-path=api --config=$(ROOT)hack/api-docs/config.yaml --templates-dir=$(ROOT)hack/api-docs \
	  $(addprefix --template-value=project=,$(PROJECT)) --renderer=markdown --output-path=$(ROOT)docs/reference/$(addsuffix -,$(PROJECT))api.md --log-level=ERROR

.PHONY: chart
chart: $(TOOLS)/kustomize ## Generate the templates of the Helm chart from config/default and config/certmanager, and set its version to VERSION.
	@go $(if $(ROOT),-C $(ROOT) )run ./hack/chart $(addprefix -project ,$(PROJECT)) -kustomize $(TOOLS)/kustomize -version $(NUMBER)

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## Format all Go code and sort its imports.
	$(TOOLS)/golangci-lint fmt

.PHONY: vet
vet: ## Run go vet over all Go code.
	$(foreach module,$(MODULES),go -C $(module) vet -tags e2e ./...$(newline))

##@ Check

.PHONY: setup-envtest
setup-envtest: $(ROOT)bin/devcluster ## Build etcd and kube-apiserver for tests, and print where they are: KUBEBUILDER_ASSETS.
	@$(ROOT)bin/devcluster assets

.PHONY: envtest
envtest: setup-envtest ## The same as setup-envtest.

# Targets that are checks as well.
LINT_ALSO ?=

.PHONY: lint
lint: $(addprefix $(TOOLS)/,golangci-lint kustomize) ## Check code and kustomizations; at the root, also scripts and workflows.
	@status=0; check() { echo "$$*"; "$$@" || status=1; }; \
	check make --no-print-directory vet; \
	for module in $(MODULES); do (cd "$$module" && check $(TOOLS)/golangci-lint run && exit $$status) || status=1; done; \
	for dir in $(foreach module,$(MODULES),$(wildcard $(module)/config/*/kustomization.yaml)); do check $(TOOLS)/kustomize build -o /dev/null "$${dir%/*}"; done; \
	for target in $(LINT_ALSO); do check make --no-print-directory "$$target"; done; \
	exit $$status

.PHONY: lint-fix
lint-fix: $(TOOLS)/golangci-lint ## Fix what golangci-lint can fix by itself.
	$(foreach module,$(MODULES),cd $(module) && $(TOOLS)/golangci-lint run --fix$(newline))

.PHONY: lint-config
lint-config: $(TOOLS)/golangci-lint ## Check the configuration of golangci-lint (needs internet access).
	$(TOOLS)/golangci-lint config verify

.PHONY: verify
verify: $(addprefix $(TOOLS)/,controller-gen crd-ref-docs crdify golangci-lint kustomize operator-sdk opm) ## Check that everything generated is up to date, in both projects; says what to run if not.
	$(ROOT)hack/verify.sh

.PHONY: scorecard
scorecard: $(ROOT)bin/devcluster $(addprefix $(TOOLS)/,kustomize operator-sdk) ## Run scorecard, its own tests and ours, against the operator in the cluster (docs/maintainers/scorecard.md).
	$(ROOT)hack/scorecard.sh $(addprefix --project ,$(PROJECT))

.PHONY: vuln
vuln: ## Look for known vulnerabilities in the code that both projects call (needs internet access, or GOVULNDB).
	$(ROOT)hack/vuln.sh

##@ Image

images := docker-build docker-push docker-buildx bundle run-bundle deploy build-installer
image_base_form = the beginning of all names of images, in lower case and without a tag, for example registry.example.com/you/operator
$(call formed,$(images) undeploy bundle-build bundle-push scorecard-build catalog catalog-build catalog-push,IMAGE_TAG_BASE,$(IMAGE_TAG_BASE):v1,\
  $(reference),$(image_base_form))
$(call named,$(images) undeploy,IMG)
$(call own,$(images),IMG,$(ROOT)$(if $(PROJECT),,workloads/)bundle/manifests/*.clusterserviceversion.yaml)

$(if $(filter docker-build docker-push docker-buildx bundle-build bundle-push scorecard-build catalog-build catalog-push,$(MAKECMDGOALS)),\
  $(if $(CONTAINER_TOOL),,$(error CONTAINER_TOOL is empty: install docker, podman or buildah, or give the name of one)))

IMAGE_ARGS = --build-arg VERSION=$(BUILD_VERSION) --build-arg COMMIT=$(COMMIT) \
  $(if $(PREBUILT),--target prebuilt --build-arg BASE=scratch) $(BUILD_ARGS)

.PHONY: docker-build
docker-build: $(if $(PREBUILT),binaries) ## Build the image IMG. PREBUILT=1 packs binaries compiled here on an empty base and needs no registry.
	$(CONTAINER_TOOL) build --file $(abspath Dockerfile) --tag $(IMG) $(if $(PLATFORM),--platform $(PLATFORM)) \
	  $(IMAGE_ARGS) $(or $(ROOT),.)

# Names of the project are those of releases.
refuse_push = @[[ $1 != quay.io/critical-service/* ]] || \
  { echo "$1 is a name of the project, which only 'make publish' pushes: give IMAGE_TAG_BASE." >&2; exit 1; }

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(call refuse_push,$(IMG))
	$(CONTAINER_TOOL) push $(IMG)

# licenses FILE,PROGRAMS writes the licences of what is compiled into programs beside them.
licenses = go $(if $(ROOT),-C $(ROOT) )run ./hack/licenses $(addprefix -C ,$(PROJECT)) -os linux -arch $(ARCH) \
  $(patsubst $(ROOT)%,%,$(BIN))/linux-$(ARCH)/$1 $(foreach program,$2,$(lastword $(subst =, ,$(program))))

# What images are made of.
IMAGE_PROGRAMS ?= $(PROGRAMS)

.PHONY: binaries
binaries: ## Compile the programs of the images of this project into bin/linux-ARCH, with the licences of what is in them.
	$(call compile,GOOS=linux GOARCH=$(ARCH) ,$(BIN)/linux-$(ARCH),$(IMAGE_PROGRAMS))
	$(call licenses,THIRD_PARTY_LICENSES,$(PROGRAMS))

.PHONY: scorecard-binary
scorecard-binary: ## Compile the scorecard tests for their image into bin/linux-ARCH.
	$(call compile,GOOS=linux GOARCH=$(ARCH) ,$(BIN)/linux-$(ARCH),scorecard=./test/scorecard)
	$(call licenses,scorecard.THIRD_PARTY_LICENSES,scorecard=./test/scorecard)
	cp $(ROOT)LICENSE $(BIN)/linux-$(ARCH)/LICENSE

.PHONY: sbom
sbom: binaries scorecard-binary $(TOOLS)/cyclonedx-gomod ## Write dist/sbom: which modules are compiled into each program of the images, in CycloneDX.
	@mkdir -p $(ROOT)dist/sbom
	$(foreach program,$(foreach one,$(PROGRAMS),$(firstword $(subst =, ,$(one)))) scorecard,$(ROOT)hack/sbom.sh $(BUILD_VERSION) $(BIN)/linux-$(ARCH)/$(program) $(ROOT)dist/sbom/$(NAME)-$(program)_linux_$(ARCH).cdx.json$(newline))

##@ Bundle

BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(NUMBER)
SCORECARD_IMG ?= $(IMAGE_TAG_BASE)-scorecard:v$(NUMBER)
$(call named,bundle-build bundle-push catalog catalog-build run-bundle submission,BUNDLE_IMG)
$(call own,bundle-build bundle-push catalog run-bundle,BUNDLE_IMG,$(filter-out $(ROOT)catalog/$(NAME)/%,$(wildcard $(ROOT)catalog/*/bundles/*.yaml)))
$(call named,bundle run-bundle scorecard-build,SCORECARD_IMG)
USE_IMAGE_DIGESTS ?=
$(call formed,bundle run-bundle,USE_IMAGE_DIGESTS,$(USE_IMAGE_DIGESTS),^(true|false)?$$,true or false)
# The channels of the bundle; without them, those of the upgrade graph (docs/maintainers/release.md).
CHANNELS ?=
DEFAULT_CHANNEL ?=

why_flags = hack/bundle.sh says how operator-sdk is run: give VERSION, CHANNELS and DEFAULT_CHANNEL, or edit it
$(call refuse,bundle run-bundle,BUNDLE_GEN_FLAGS BUNDLE_METADATA_OPTS BUNDLE_CHANNELS BUNDLE_DEFAULT_CHANNEL,$(why_flags))

.PHONY: bundle
bundle: manifests $(TOOLS)/kustomize $(TOOLS)/operator-sdk $(if $(filter true,$(USE_IMAGE_DIGESTS)),$(TOOLS)/crane) ## Generate the OLM bundle of VERSION, IMG, CHANNELS and DEFAULT_CHANNEL. USE_IMAGE_DIGESTS=true names the image by digest.
	@TOOLS=$(TOOLS) USE_IMAGE_DIGESTS=$(USE_IMAGE_DIGESTS) $(ROOT)hack/bundle.sh $(addprefix --project ,$(PROJECT)) --version $(NUMBER) --image $(IMG) --scorecard-image $(SCORECARD_IMG) \
	  $(if $(CHANNELS),--channels '$(CHANNELS)') $(if $(DEFAULT_CHANNEL),--default-channel '$(DEFAULT_CHANNEL)')

.PHONY: bundle-validate
bundle-validate: $(TOOLS)/operator-sdk ## Hold the bundle against every validator that applies.
	TOOLS=$(TOOLS) $(ROOT)hack/bundle-validate.sh $(addsuffix /bundle,$(PROJECT))

# names_image IMAGE,FIELD,FILES fails unless one of the files has the image in this field, by its tag or by digest.
names_image = image='$1'; grep --quiet --extended-regexp "^ *$2: ($$image|$${image%:*}@sha256:.*)$$" $3

.PHONY: bundle-build
bundle-build: ## Build the image of the bundle, BUNDLE_IMG.
	@grep --quiet --line-regexp '  version: $(NUMBER)' bundle/manifests/*.clusterserviceversion.yaml || \
	  { echo "bundle/ is not of version $(NUMBER): run 'make bundle' with the same variables first." >&2; exit 1; }
	$(if $(call refused,IMG IMAGE_TAG_BASE),@$(call names_image,$(IMG),containerImage,bundle/manifests/*.clusterserviceversion.yaml) || \
	  { echo "bundle/ does not install the image $$image: run 'make bundle' with the same variables first." >&2; exit 1; })
	$(CONTAINER_TOOL) build --file $(abspath bundle.Dockerfile) --tag $(BUNDLE_IMG) .

.PHONY: bundle-push
bundle-push: ## Push the image of the bundle.
	$(call refuse_push,$(BUNDLE_IMG))
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: scorecard-build
scorecard-build: scorecard-binary ## Build the image of the scorecard tests, SCORECARD_IMG.
	$(CONTAINER_TOOL) build --file $(ROOT)test/scorecard/Dockerfile --tag $(SCORECARD_IMG) --platform linux/$(ARCH) $(BIN)/linux-$(ARCH)

why_index = a catalog is the folder catalog/, and not an index image: run 'make bundle' and then 'make catalog' for each version, \
  which stays there, and give the image that has opm as OPM_IMAGE
$(call refuse,catalog catalog-build catalog-push,BUNDLE_IMGS CATALOG_BASE_IMG FROM_INDEX_OPT,$(why_index))

.PHONY: catalog
catalog: $(TOOLS)/opm ## Render the bundle into the file-based catalog, catalog/ at the root, as the image BUNDLE_IMG.
	@TOOLS=$(TOOLS) $(ROOT)hack/catalog.sh $(addprefix --project ,$(PROJECT)) --version $(NUMBER) --bundle-image $(BUNDLE_IMG) \
	  $(if $(CHANNELS),--channels '$(CHANNELS)') $(if $(DEFAULT_CHANNEL),--default-channel '$(DEFAULT_CHANNEL)')

# The GitHub names of who may approve later versions in the community's catalog, with commas.
REVIEWERS ?=

.PHONY: submission
submission: ## Write dist/submission, the tree for community-operators: the bundle, ci.yaml with REVIEWERS, the catalog's template.
	@$(ROOT)hack/submission.sh $(addprefix --project ,$(PROJECT)) $(addprefix --bundle-image ,$(call given,BUNDLE_IMG)) \
	  $(if $(REVIEWERS),--reviewers '$(REVIEWERS)') --output dist/submission

##@ Install (into the current kubeconfig's cluster)

.PHONY: install
install: $(TOOLS)/kustomize ## Install the CRDs only.
	$(TOOLS)/kustomize build config/crd | $(KUBECTL) apply --server-side --force-conflicts -f -

.PHONY: uninstall
uninstall: $(TOOLS)/kustomize ## Remove the CRDs, and with them all objects of their kinds.
	$(TOOLS)/kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: $(TOOLS)/kustomize ## Install everything, with the image IMG.
	$(ROOT)hack/render.sh $(IMG) $(PROJECT) | $(KUBECTL) apply --server-side --force-conflicts -f -

.PHONY: undeploy
undeploy: $(TOOLS)/kustomize ## Remove everything that deploy installed, with all objects of its kinds.
	$(ROOT)hack/render.sh $(IMG) $(PROJECT) | $(KUBECTL) delete --ignore-not-found -f -

INSTALLER := $(ROOT)dist/install$(addprefix -,$(PROJECT)).yaml

.PHONY: build-installer
build-installer: $(TOOLS)/kustomize ## Write dist/install.yaml (of workloads: dist/install-workloads.yaml), the whole install in one file, with the image IMG.
	@mkdir -p $(ROOT)dist
	$(ROOT)hack/render.sh $(IMG) $(PROJECT) > $(INSTALLER)
	@echo "kubectl apply --server-side --force-conflicts -f $(INSTALLER)"

.PHONY: chart-package
chart-package: $(TOOLS)/helm $(TOOLS)/kustomize ## Write dist/NAME-X.Y.Z.tgz: the Helm chart of VERSION.
	$(ROOT)hack/chart.sh $(NUMBER) $(PROJECT)

# The tools in bin/tools, each a target as in the scaffold; the heading says which, for `make help`.
##@ Tools, pinned: actionlint controller-gen cosign crane crd-ref-docs crdify cyclonedx-gomod golangci-lint gotestsum govulncheck helm kustomize operator-sdk opm

TOOL_NAMES := $(filter-out go,$(basename $(notdir $(wildcard $(ROOT)hack/tools/*.mod))))
.PHONY: $(TOOL_NAMES)
$(TOOL_NAMES): %: $(TOOLS)/%

why_pinned = tools are those of hack/tools, built into bin/tools, and Kubernetes one of hack/devcluster, chosen by KUBERNETES: change the versions there
# The targets that use tools in the scaffold, by prerequisites as well, and those of ours that are like them.
TOOL_USERS := $(TOOL_NAMES) setup-envtest envtest test test-e2e all build run manifests generate lint lint-fix lint-config bundle run-bundle \
  catalog catalog-build build-installer install uninstall deploy undeploy
$(call refuse,$(TOOL_USERS),LOCALBIN KUSTOMIZE CONTROLLER_GEN ENVTEST GOLANGCI_LINT OPERATOR_SDK OPM OPERATOR_SDK_VERSION \
  KUSTOMIZE_VERSION CONTROLLER_TOOLS_VERSION GOLANGCI_LINT_VERSION ENVTEST_VERSION ENVTEST_K8S_VERSION,$(why_pinned))

# What these need besides: libraries of containers without C, and their own version, which operator-sdk
# writes into what it generates.
OLM_TAGS := containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper
SDK_VERSION := $(shell awk '$$1 == "github.com/operator-framework/operator-sdk" {print $$2}' $(ROOT)hack/tools/operator-sdk.mod)
SDK_PACKAGE := github.com/operator-framework/operator-sdk/internal/version
$(TOOLS)/operator-sdk: TOOL_FLAGS = -tags=$(OLM_TAGS) -ldflags="-s -w -X $(SDK_PACKAGE).Version=$(SDK_VERSION) \
  -X $(SDK_PACKAGE).GitVersion=$(SDK_VERSION) -X $(SDK_PACKAGE).ImageVersion=$(SDK_VERSION)"
$(TOOLS)/opm: TOOL_FLAGS = -tags=$(OLM_TAGS),json1 -ldflags="-s -w"

# Every tool is pinned by a module file of its own, and rebuilt when that file changes.
$(TOOLS)/%: $(ROOT)hack/tools/%.mod $(ROOT)hack/tools/%.sum
	@echo "building $* (once)"
	@cd $(ROOT)hack/tools && go build -modfile=$*.mod $(TOOL_FLAGS) -o $@ tool
	@touch $@

# Always asked, because Go knows best what has changed; it takes a second.
.PHONY: $(ROOT)bin/devcluster
$(ROOT)bin/devcluster:
	@cd $(ROOT)hack/devcluster && go build -buildvcs=false -o $(abspath $(ROOT)bin/devcluster) .
