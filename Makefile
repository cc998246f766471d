# Critical Service Operator. `make help` lists the targets.

ROOT :=
PROJECT :=
NAMESPACE := critical-service-system
# The version of the bundle, the catalog and the charts of both projects: X.Y.Z, or vX.Y.Z. `make release` wants it given.
VERSION ?= 1.0.0
# The names of all images begin with this. A fork gives its own, or changes it here: scripts see it, too.
IMAGE_TAG_BASE ?= quay.io/critical-service/operator
export IMAGE_TAG_BASE
# The operator's image, which is built, deployed and named by the bundle. The demo and the end-to-end
# tests see it, and DEMO_IMG, only if the user gives them, and choose names that follow from the
# content otherwise: see hack/cluster.sh.
IMG ?= $(IMAGE_TAG_BASE):v$(NUMBER)
PROGRAMS := manager=. responder=./cmd/responder
IMAGE_PROGRAMS = $(PROGRAMS) workload=./test/workload
WEBHOOKS := ./internal/operator/webhook/...
RUN_SETTINGS = RESPONDER_IMAGE=$(IMG)
MODULES := . hack/devcluster test/mongodb workloads
LINT_ALSO := lint-scripts

include hack/project.mk

# For example BENCH_ARGS="--rounds=5".
BENCH_ARGS ?=
# How long each fuzz target looks, and for example FUZZ=FuzzDetect for one of them.
FUZZTIME ?= 1m
FUZZ ?= .
# How long a soak injects faults, and the seed that chooses them: without one, another one each time.
SOAK ?= 5m
SEED ?=
# In which ways each write goes wrong: all of them, or few, as in the tests.
FAULTS ?= all
# How many objects are generated, of each operator.
OBJECTS ?= 5000
# Which tests of the copy test-kind runs: all, or those of the page.
COPY ?=
# How often something is measured.
ROUNDS ?= 5
# For example MUTANTS=promotes-never, one of test/mutants or workloads/test/mutants; all without it.
MUTANTS ?=

##@ General

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

# The kubectl plugin: where it goes, and for which system it is compiled (with ARCH).
PLUGIN ?= bin/kubectl-critsvc
PLUGIN_OS ?= $(shell go env GOOS)

.PHONY: plugin
plugin: ## Compile the kubectl plugin into bin/kubectl-critsvc; on the PATH it is `kubectl critsvc`.
	GOOS=$(PLUGIN_OS) GOARCH=$(ARCH) $(GO_BUILD) -o $(PLUGIN) ./cmd/kubectl-critsvc

.PHONY: dashboard
dashboard: ## Generate the Grafana dashboard from hack/dashboard.
	@go run ./hack/dashboard -out config/grafana/critical-service-operator.json

.PHONY: plugin-picture
plugin-picture: ## Draw docs/images/plugin.svg from what the plugin prints in its tests.
	@go run ./hack/terminal -out docs/images/plugin.svg

.PHONY: diagrams
diagrams: ## Draw the pictures in docs/images that explain failover, from the scenes in hack/diagram.
	@go run ./hack/diagram -out docs/images

.PHONY: redraw
redraw: ## Draw the pictures of measured figures in docs/images again, from the figures that they hold.
	@go run ./hack/redraw docs/images

.PHONY: pictures
pictures: plugin-picture diagrams redraw ## Take the pictures of the built-in page in docs/images, with Debian's Chromium; and draw the others.
	@go run ./hack/pictures -out docs/images

.PHONY: tidy
tidy: ## Tidy the module files of the operator, the devcluster (but older versions of Kubernetes) and the tools.
	@for mod in $$(find . -name go.mod -not -path './bin/*' -not -path './hack/devcluster/components/kubernetes-*'); do \
	  echo "go mod tidy: $$mod"; (cd "$$(dirname "$$mod")" && go mod tidy); done
	@cd hack/tools && for mod in *.mod; do \
	  [[ $$mod == go.mod ]] || { echo "go mod tidy: hack/tools/$$mod"; go mod tidy -modfile="$$mod"; }; done
	@test/consumers/build.sh tidy

##@ Check

# What make test leaves out: this one takes minutes, and has a target of its own, test-kind.
unit_args := -skip=TestAKindIsAddedByThePage

TEST_TOOLS = $(addprefix $(TOOLS)/,gotestsum controller-gen crane crd-ref-docs crdify cyclonedx-gomod golangci-lint kustomize helm operator-sdk opm)

.PHONY: test
test: bin/devcluster $(TEST_TOOLS) ## Run the unit tests and the tests against a real API server, of another version with KUBERNETES=1.28. Needs only Go; RACE=1 a C compiler too.
	@hack/prometheus.sh >/dev/null || echo "note: without promtool the tests of the alerts are skipped"
	@status=0; { $(call unit_tests,unit); } || status=1; \
	(cd hack/devcluster && FORMAT=pkgname-and-test-fails ../gotest.sh devcluster ./... -timeout 25m $(TEST_ARGS)) || status=1; \
	exit $$status

.PHONY: test-repeated
test-repeated: ## Run each test of both projects three times, in a random order.
	@$(MAKE) --no-print-directory --keep-going test workloads TEST_ARGS='-count=3 -shuffle=on -timeout=100m $(TEST_ARGS)'

.PHONY: test-kind
test-kind: bin/devcluster $(TEST_TOOLS) ## Add a kind to a copy by docs/adding-a-kind.md. COPY=all runs all tests of the copy.
	assets=$$(bin/devcluster assets) && CGO_ENABLED=0 KUBEBUILDER_ASSETS="$$assets" \
	  hack/gotest.sh kind ./test/kind -run=TestAKindIsAddedByThePage -count=1 -timeout=90m $(TEST_ARGS) $(if $(filter all,$(COPY)),-args -all)

.PHONY: workloads
workloads: ## Run the tests of the workloads operator: `make -C workloads help` lists all that it has.
	@make --no-print-directory --directory=workloads test TEST_ARGS='$(TEST_ARGS)'

# The shell scripts of both projects: by their names, and those that have another.
SCRIPTS = $(sort $(shell find . -name '*.sh' -not -path './bin/*' -not -path './dist/*')) .ci/run cmd/kubectl-critsvc/kubectl_complete-critsvc

.PHONY: lint-scripts
lint-scripts: $(TOOLS)/actionlint ## Check scripts and workflows.
	@status=0; check() { echo "$$*"; "$$@" || status=1; }; \
	check $(TOOLS)/actionlint; \
	if command -v shellcheck >/dev/null; then check shellcheck -x $(SCRIPTS); \
	else echo "note: shellcheck is not installed, the scripts were not checked"; fi; \
	exit $$status

.PHONY: fuzz
fuzz: ## Let every fuzz target look for inputs that fail, FUZZTIME each.
	hack/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: faults
faults: bin/devcluster $(TOOLS)/gotestsum ## Let each write of each story go wrong in every way (test/testenv/fate.go), and watches too (view.go).
	@export KUBEBUILDER_ASSETS FAULTS=$(FAULTS); KUBEBUILDER_ASSETS=$$(bin/devcluster assets) || exit; status=0; \
	run="-run=WhicheverWriteGoesWrong|HoweverItIsSeen -count=1 -timeout=120m"; \
	hack/gotest.sh faults './controllers/... ./internal/operator' $$run $(TEST_ARGS) || status=1; \
	(cd workloads && ../hack/gotest.sh workloads-faults ./controllers/... $$run $(TEST_ARGS)) || status=1; \
	exit $$status

.PHONY: generated-objects
generated-objects: bin/devcluster $(TOOLS)/gotestsum ## Declare OBJECTS objects by the schemas of each operator: each settles, or is refused in a sentence. SEED=... repeats a run.
	@export KUBEBUILDER_ASSETS OBJECTS=$(OBJECTS) SEED=$${SEED:-$$RANDOM}; KUBEBUILDER_ASSETS=$$(bin/devcluster assets) || exit; status=0; \
	run="-run=TestAGeneratedObject -count=1 -timeout=120m"; \
	hack/gotest.sh generated-objects ./controllers/criticalservice/stories $$run $(TEST_ARGS) || status=1; \
	(cd workloads && ../hack/gotest.sh workloads-generated-objects ./test/generated $$run $(TEST_ARGS)) || status=1; \
	exit $$status

.PHONY: leader-loss
leader-loss: bin/devcluster $(TOOLS)/gotestsum ## Lose the leader in every way, ROUNDS times each, and measure after how long the next one acts.
	assets=$$(bin/devcluster assets) && ROUNDS=$(ROUNDS) KUBEBUILDER_ASSETS="$$assets" \
	  hack/gotest.sh leader-loss ./controllers/criticalservice/stories -run=TestALeaderThatIsLost -count=1 -timeout=60m $(TEST_ARGS)

.PHONY: attacks
attacks: $(TOOLS)/gotestsum ## Attack the responder and the meter (slow and huge clients, 10,000 at once), and compare the responder with a plain net/http server.
	hack/gotest.sh attacks './internal/responder ./internal/connections' -run='ASlowClient|TakesNoAnswer|TenThousand|TooLarge|UnderAttack' -count=1 $(TEST_ARGS)
	cd workloads && ../hack/gotest.sh attacks-meter ./internal/meter -run=UnderAttack -count=1 $(TEST_ARGS)
	go test ./internal/responder -run='^$$' -bench=Throughput -benchtime=$(ROUNDS)x

.PHONY: mutants
mutants: bin/devcluster ## Seed 22 bugs into both operators (test/mutants, workloads/test/mutants), and show which test catches each.
	assets=$$(bin/devcluster assets) && KUBEBUILDER_ASSETS="$$assets" go run ./test/mutants $(MUTANTS)

.PHONY: docs
docs: ## Build the documents as a site in dist/site; a link or heading that is missing fails. Needs mkdocs-material.
	@command -v mkdocs >/dev/null || { echo "missing: mkdocs and its theme (on Debian: apt-get install mkdocs-material)" >&2; exit 1; }
	PYTHONDONTWRITEBYTECODE=1 mkdocs build --clean

.PHONY: e2e
e2e: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## Run the end-to-end tests on the devcluster, or on the cluster of KUBECONFIG.
	hack/e2e.sh $(TEST_ARGS)

.PHONY: e2e-builds
e2e-builds: bin/devcluster ## Build what e2e builds once: the cluster and ingress controllers.
	bin/devcluster build
	test/consumers/build.sh

.PHONY: e2e-nodes
e2e-nodes: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## Lose and drain nodes under traffic, on the devcluster with three nodes.
	hack/e2e-nodes.sh $(TEST_ARGS)

.PHONY: e2e-workloads
e2e-workloads: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## Run the end-to-end tests of the workloads operator, with both operators, as e2e.
	hack/e2e-workloads.sh $(TEST_ARGS)

why_devcluster = end-to-end tests run on the devcluster, or on the cluster of KUBECONFIG: give that of your kind cluster
$(call refuse,e2e test-e2e setup-test-e2e cleanup-test-e2e,KIND KIND_CLUSTER,$(why_devcluster))

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

.PHONY: autoscale
autoscale: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## Put a responder under load on the devcluster until it has scaled up, and wait until it is small again. About 8 minutes.
	hack/autoscale.sh $(TEST_ARGS)

.PHONY: monitoring
monitoring: bin/devcluster $(TOOLS)/gotestsum ## Hold what the operator applies for monitoring against a real prometheus-operator and Prometheus. Needs no node.
	programs=$$(bin/devcluster monitoring) && assets=$$(bin/devcluster assets) && MONITORING_PROGRAMS="$$programs" KUBEBUILDER_ASSETS="$$assets" \
	  hack/gotest.sh monitoring ./test/monitoring -tags e2e -count=1 -timeout=10m $(TEST_ARGS)

.PHONY: soak
soak: bin/devcluster $(TOOLS)/gotestsum $(TOOLS)/kustomize ## Inject faults for SOAK while clients ask, and hold invariants each second. SEED=... repeats a run. On the cluster of e2e.
	SOAK=$(SOAK) SEED=$(SEED) hack/soak.sh $(TEST_ARGS)

.PHONY: e2e-olm
e2e-olm: bin/devcluster $(addprefix $(TOOLS)/,gotestsum kustomize operator-sdk opm) ## Run the end-to-end tests with OLM: catalog, upgrade, uninstall, scorecard. On the devcluster only.
	hack/e2e-olm.sh $(TEST_ARGS)

.PHONY: e2e-olm-v1
e2e-olm-v1: bin/devcluster $(addprefix $(TOOLS)/,gotestsum helm kustomize operator-sdk opm) ## Run the end-to-end tests with OLM v1 and cert-manager: catalog, upgrade, uninstall. On the devcluster only.
	hack/e2e-olm.sh --v1 $(TEST_ARGS)

.PHONY: consumers
consumers: bin/devcluster $(TOOLS)/gotestsum ## Test who honours a standby: kube-proxy in both modes, DNS, ingress controllers. Restarts the devcluster.
	test/consumers/run.sh

.PHONY: versions
versions: ## Run what depends on the version of Kubernetes on KUBERNETES, and write what came of it into docs/versions.md. Restarts the devcluster.
	hack/versions.sh

.PHONY: bench-failover
bench-failover: bin/devcluster $(TOOLS)/kustomize ## Measure failover side by side (no operator, v1, v2) and write docs/failover.md.
	test/bench/run.sh $(BENCH_ARGS)

.PHONY: bench-scale
bench-scale: bin/devcluster $(TOOLS)/kustomize ## Measure the operator with 1,000 and 10,000 Services and write docs/scale.md.
	test/bench/scale/run.sh $(BENCH_ARGS)

##@ Image

# For what `make docker-buildx` builds.
PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x

.PHONY: docker-buildx
docker-buildx: ## Build the image IMG for all PLATFORMS and push it, as one. PREBUILT=1 as with docker-build.
	$(call refuse_push,$(IMG))
	PREBUILT=$(PREBUILT) CONTAINER_TOOL=$(CONTAINER_TOOL) hack/buildx.sh $(IMG) $(PLATFORMS) $(IMAGE_ARGS)

##@ Bundle

# For example RUN_BUNDLE_ARGS="--pull-secret-name registry".
RUN_BUNDLE_ARGS ?=

ifeq ($(USE_IMAGE_DIGESTS),true)
$(call refuse,run-bundle,USE_IMAGE_DIGESTS,the image is built after its bundle: give IMG by tag)
endif

.PHONY: run-bundle
run-bundle: bin/devcluster $(addprefix $(TOOLS)/,kustomize operator-sdk) ## Build operator and bundle of this clone, and install them by `operator-sdk run bundle`. On the devcluster, or on the cluster of KUBECONFIG.
	VERSION=$(NUMBER) IMG=$(IMG) BUNDLE_IMG=$(BUNDLE_IMG) CHANNELS='$(CHANNELS)' DEFAULT_CHANNEL='$(DEFAULT_CHANNEL)' \
	  SCORECARD_IMG=$(SCORECARD_IMG) hack/run-bundle.sh up $(RUN_BUNDLE_ARGS)

.PHONY: cleanup-bundle
cleanup-bundle: bin/devcluster $(TOOLS)/operator-sdk ## Remove what run-bundle installed, with all objects of the operator's kinds.
	hack/run-bundle.sh down

##@ Catalog and release

CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(NUMBER)
$(call named,catalog-build catalog-push,CATALOG_IMG)
# What the image of the catalog is made from; without it, what catalog.Dockerfile says. A release wants a digest.
OPM_IMAGE ?=

.PHONY: catalog-validate
catalog-validate: $(TOOLS)/opm ## Hold the catalog against opm's rules and those of its upgrade graph.
	$(TOOLS)/opm validate catalog
	go test ./test/catalog

.PHONY: catalog-build
catalog-build: ## Build the image of the catalog, CATALOG_IMG.
	@$(call names_image,$(BUNDLE_IMG),image,catalog/*/bundles/v$(NUMBER).yaml) || \
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
why_names = a release is what this project publishes: names are those of hack/release.sh, channels those of catalog/*/channels.yaml
$(call refuse,release release-catalog,IMG IMAGE_TAG_BASE BUNDLE_IMG BUNDLE_IMGS CATALOG_IMG CATALOG_BASE_IMG CHANNELS DEFAULT_CHANNEL,$(why_names))

.PHONY: release
release: $(addprefix $(TOOLS)/,crane cyclonedx-gomod helm kustomize operator-sdk opm) ## Make everything that is published of VERSION=vX.Y.Z, in dist/. Publishes nothing. See docs/maintainers/release.md.
	TOOLS=$(TOOLS) OPM_IMAGE=$(OPM_IMAGE) hack/release.sh $(GIVEN_VERSION)

.PHONY: release-check
release-check: $(addprefix $(TOOLS)/,cosign crane gotestsum helm) ## Check what `make release` has made: images, licences, SBOMs; sign it with a throw-away key, and verify.
	TOOLS=$(TOOLS) hack/release-check.sh $(TEST_ARGS)

.PHONY: release-test
release-test: $(addprefix $(TOOLS)/,cosign crane cyclonedx-gomod gotestsum helm kustomize operator-sdk opm) ## Make a release of this commit in a copy, for all architectures, and check it. Needs root for buildah, and no network.
	TOOLS=$(TOOLS) hack/release-test.sh $(NUMBER)

.PHONY: publish
publish: $(addprefix $(TOOLS)/,cosign crane helm) ## Publish what `make release` has made of VERSION=vX.Y.Z: images, charts, and the page of the release.
	TOOLS=$(TOOLS) hack/publish.sh $(GIVEN_VERSION)

.PHONY: plugin-release
plugin-release: $(TOOLS)/cyclonedx-gomod ## Make the archives of the kubectl plugin of VERSION=vX.Y.Z, with an SBOM of each, and its krew manifest, in dist/.
	hack/plugin.sh $(GIVEN_VERSION)

.PHONY: release-catalog
release-catalog: $(addprefix $(TOOLS)/,crane opm) ## Make the image of the catalog alone, as VERSION=vX.Y.Z-WORD, when a channel has changed.
	TOOLS=$(TOOLS) OPM_IMAGE=$(OPM_IMAGE) hack/release.sh $(GIVEN_VERSION) catalog
