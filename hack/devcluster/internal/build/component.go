// Package build compiles the cluster's components from pinned Go modules into
// bin/, once: a binary is kept under a key of everything that went into it.
package build

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Component is one binary.
type Component struct {
	Name string
	// set is the module that the binary is built from; its binaries share a key.
	set string
	// pkg is the Go package, relative to the set's folder or an import path.
	pkg string
}

// The components in the order in which they are built: what the tests need first.
var (
	Etcd              = Component{"etcd", kubernetesSet, "go.etcd.io/etcd/server/v3"}
	APIServer         = Component{"kube-apiserver", kubernetesSet, "k8s.io/kubernetes/cmd/kube-apiserver"}
	Kubectl           = Component{"kubectl", kubernetesSet, "k8s.io/kubernetes/cmd/kubectl"}
	ControllerManager = Component{"kube-controller-manager", kubernetesSet, "k8s.io/kubernetes/cmd/kube-controller-manager"}
	Scheduler         = Component{"kube-scheduler", kubernetesSet, "k8s.io/kubernetes/cmd/kube-scheduler"}
	Kubelet           = Component{"kubelet", kubernetesSet, "k8s.io/kubernetes/cmd/kubelet"}
	KubeProxy         = Component{"kube-proxy", kubernetesSet, "k8s.io/kubernetes/cmd/kube-proxy"}
	CoreDNS           = Component{"coredns", corednsSet, "."}
	Pause             = Component{"pause", pauseSet, "."}
)

// The components of the Operator Lifecycle Manager and of operator-sdk's scorecard.
var (
	OLMOperator     = Component{"olm", olmSet, olmModule + "/cmd/olm"}
	CatalogOperator = Component{"catalog", olmSet, olmModule + "/cmd/catalog"}
	PackageServer   = Component{"package-server", olmSet, olmModule + "/cmd/package-server"}
	CopyContent     = Component{"copy-content", olmSet, olmModule + "/cmd/copy-content"}
	CopyBundle      = Component{"cpb", olmSet, olmModule + "/util/cpb"}
	OLMResources    = Component{"olm-crds", olmSet, "./crds"}
	OPM             = Component{"opm", operatorRegistrySet, operatorRegistryModule + "/cmd/opm"}
	HealthProbe     = Component{"grpc_health_probe", operatorRegistrySet, "github.com/grpc-ecosystem/grpc-health-probe"}
	ScorecardTest   = Component{"scorecard-test", operatorSDKSet, operatorSDKModule + "/images/scorecard-test"}
)

// The components of OLM v1, and of cert-manager, which its webhooks need.
var (
	Catalogd           = Component{"catalogd", operatorControllerSet, operatorControllerModule + "/cmd/catalogd"}
	OperatorController = Component{"operator-controller", operatorControllerSet, operatorControllerModule + "/cmd/operator-controller"}
	CertManager        = Component{"controller", certManagerSet, "./controller"}
	CAInjector         = Component{"cainjector", certManagerSet, "./cainjector"}
)

// The components of monitoring: Prometheus of the version that its operator is built with.
var (
	PrometheusOperator = Component{"prometheus-operator", prometheusOperatorSet, prometheusOperatorModule + "/cmd/operator"}
	Prometheus         = Component{"prometheus", prometheusOperatorSet, "github.com/prometheus/prometheus/cmd/prometheus"}
	Promtool           = Component{"promtool", prometheusOperatorSet, "github.com/prometheus/prometheus/cmd/promtool"}
)

// MetricsServer is the server of the resource metrics API, which autoscalers read.
var MetricsServer = Component{"metrics-server", metricsServerSet, metricsServerModule + "/cmd/metrics-server"}

// KubeRouter enforces NetworkPolicies.
var KubeRouter = Component{"kube-router", kubeRouterSet, kubeRouterModule + "/cmd/kube-router"}

// TestAssets is what envtest needs: a control plane without a node.
func TestAssets() []Component { return []Component{Etcd, APIServer, Kubectl} }

// All is everything that the cluster runs.
func All() []Component {
	return append(TestAssets(), ControllerManager, Scheduler, Kubelet, KubeProxy, CoreDNS, Pause)
}

// OLM is what `devcluster olm up` adds to that. The largest builds come first:
// what the others have in common with them is compiled then.
func OLM() []Component {
	return []Component{
		OPM, HealthProbe,
		OLMOperator, CatalogOperator, PackageServer, CopyContent, CopyBundle, OLMResources,
		ScorecardTest,
	}
}

// OLMv1 is what `devcluster olmv1 up` adds. The largest build comes first.
func OLMv1() []Component { return []Component{OperatorController, Catalogd, CertManager, CAInjector} }

// Monitoring is what a test of monitoring runs beside an API server.
func Monitoring() []Component { return []Component{PrometheusOperator, Prometheus, Promtool} }

const (
	kubernetesSet         = "kubernetes"
	corednsSet            = "coredns"
	pauseSet              = "pause"
	olmSet                = "olm"
	operatorRegistrySet   = "operator-registry"
	operatorSDKSet        = "operator-sdk"
	operatorControllerSet = "operator-controller"
	certManagerSet        = "cert-manager"
	prometheusOperatorSet = "prometheus-operator"
	metricsServerSet      = "metrics-server"
	kubeRouterSet         = "kube-router"

	olmModule                = "github.com/operator-framework/operator-lifecycle-manager"
	operatorRegistryModule   = "github.com/operator-framework/operator-registry"
	operatorSDKModule        = "github.com/operator-framework/operator-sdk"
	operatorControllerModule = "github.com/operator-framework/operator-controller"
	certManagerModule        = "github.com/cert-manager/cert-manager"
	prometheusOperatorModule = "github.com/prometheus-operator/prometheus-operator"
	metricsServerModule      = "sigs.k8s.io/metrics-server"
	kubeRouterModule         = "github.com/cloudnativelabs/kube-router/v2"

	// containersTags leave out what needs C libraries. They are those of the
	// operator-sdk and opm in bin/tools, so that packages are compiled once for both.
	containersTags = "containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper"
	// discoveryTags leave out Prometheus's clients of all clouds, which are most of it.
	discoveryTags = "remove_all_sd,enable_kubernetes_sd"
)

// set is what all binaries of one module have in common.
type set struct {
	name    string
	dir     string
	inputs  []string
	version string
	ldflags string
	tags    string
	goos    string
}

// recipe says how the binaries of a set are made.
type recipe struct {
	// inputs are the files in the set's folder that the binaries are made from.
	inputs []string
	// module is the one whose version in go.mod is the set's; one without has nothing but own sources.
	module string
	tags   string
	// versionFlags link the version in.
	versionFlags func(version string) string
	// anySystem is for what does not need Linux.
	anySystem bool
}

var recipes = map[string]recipe{
	// The control plane runs on any system, so that envtest does.
	kubernetesSet: {
		inputs: []string{"go.mod", "go.sum"}, module: "k8s.io/kubernetes",
		versionFlags: kubernetesVersionFlags, anySystem: true,
	},
	corednsSet: {inputs: []string{"go.mod", "go.sum", "main.go"}, module: "github.com/coredns/coredns"},
	pauseSet:   {inputs: []string{"main.go"}},
	olmSet: {
		inputs: []string{"go.mod", "go.sum", "crds/main.go"}, module: olmModule, tags: containersTags,
		versionFlags: func(version string) string { return "-X " + olmModule + "/pkg/version.OLMVersion=" + version },
	},
	operatorRegistrySet: {
		inputs: []string{"go.mod", "go.sum"}, module: operatorRegistryModule, tags: containersTags + ",json1",
		versionFlags: func(version string) string {
			return "-X " + operatorRegistryModule + "/cmd/opm/version.opmVersion=" + version
		},
	},
	operatorSDKSet: {inputs: []string{"go.mod", "go.sum"}, module: operatorSDKModule, tags: containersTags},
	operatorControllerSet: {
		inputs: []string{
			"go.mod", "go.sum", "boxcutter/boxcutter.go", "boxcutter/machinery/machinery.go",
			"boxcutter/machinery/types/types.go", "boxcutter/managedcache/managedcache.go",
			"boxcutter/ownerhandling/ownerhandling.go", "boxcutter/probing/probing.go", "boxcutter/validation/validation.go",
		},
		module: operatorControllerModule, tags: containersTags,
		versionFlags: func(version string) string {
			return "-X " + operatorControllerModule + "/internal/shared/version.version=" + version
		},
	},
	certManagerSet: {
		inputs: []string{"go.mod", "go.sum", "controller/main.go", "cainjector/main.go"}, module: certManagerModule,
		versionFlags: func(version string) string { return "-X " + certManagerModule + "/pkg/util.AppVersion=" + version },
	},
	prometheusOperatorSet: {
		inputs: []string{"go.mod", "go.sum"}, module: prometheusOperatorModule, tags: discoveryTags, anySystem: true,
	},
	metricsServerSet: {
		inputs: []string{"go.mod", "go.sum"}, module: metricsServerModule,
		versionFlags: func(version string) string { return "-X k8s.io/client-go/pkg/version.gitVersion=" + version },
	},
	kubeRouterSet: {inputs: []string{"go.mod", "go.sum"}, module: kubeRouterModule},
}

func (b *Builder) loadSet(name string) (set, error) {
	r := recipes[name]
	if strings.HasPrefix(name, olderKubernetes) {
		r = recipes[kubernetesSet]
	}
	s := set{
		name: name, dir: filepath.Join(b.repo.Module(), "components", name),
		inputs: r.inputs, version: "v1", ldflags: "-s -w", tags: r.tags, goos: "linux",
	}
	if r.anySystem {
		s.goos = runtime.GOOS
	}
	if r.module != "" {
		version, err := requiredVersion(filepath.Join(s.dir, "go.mod"), r.module)
		if err != nil {
			return set{}, err
		}
		s.version = version
	}
	if r.versionFlags != nil {
		s.ldflags += " " + r.versionFlags(s.version)
	}
	return s, nil
}

// requiredVersion reads the pinned version of a module, so that a go.mod is the
// only place to change for an update.
func requiredVersion(file, module string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse(file, content, nil)
	if err != nil {
		return "", err
	}
	for _, r := range mod.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", file, module)
}

// kubernetesVersionFlags links the version in. Without it the API server calls
// itself v0.0.0, and whatever checks for a minimum version refuses it.
func kubernetesVersionFlags(version string) string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	values := []string{
		"k8s.io/component-base/version.gitVersion=" + version,
		"k8s.io/component-base/version.gitMajor=" + major,
		"k8s.io/component-base/version.gitMinor=" + minor,
		"k8s.io/component-base/version.gitTreeState=clean",
		"k8s.io/client-go/pkg/version.gitVersion=" + version,
		"k8s.io/client-go/pkg/version.gitMajor=" + major,
		"k8s.io/client-go/pkg/version.gitMinor=" + minor,
	}
	return "-X " + strings.Join(values, " -X ")
}
