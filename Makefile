# Critical Service Operator. `make help` lists the targets.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The operator's image, and the image of the workload that the demo and the end-to-end tests deploy.
# Both are passed on to the scripts under hack/ only when the user sets them: see hack/images.sh.
IMG ?= quay.io/critical-service/operator:dev
DEMO_IMG ?= quay.io/critical-service/demo:dev

TOOLS := $(CURDIR)/bin/tools

##@ General

.PHONY: help
help: ## Explain every target.
	@awk 'BEGIN {FS = ":.*##"} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*##/ {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Generated files

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Generate the DeepCopy methods of the API types.
	$(TOOLS)/controller-gen object paths=./api/...

.PHONY: manifests
manifests: $(TOOLS)/controller-gen ## Generate the CRDs and the operator's role from the markers in the code.
	$(TOOLS)/controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	$(TOOLS)/controller-gen rbac:roleName=critical-service-operator paths=./controllers/... output:rbac:dir=config/rbac

##@ Tools

# Every tool is pinned by a module file of its own, and rebuilt when that file changes.
$(TOOLS)/%: hack/tools/%.mod hack/tools/%.sum
	@echo "building $* (once)"
	cd hack/tools && go build -modfile=$*.mod -o $@ tool
	@touch $@
