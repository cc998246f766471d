package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/metering"
)

// AppContainer is the name of the application's container.
const AppContainer = "app"

const (
	// drain is how long a Pod that ends goes on taking requests: until every proxy knows.
	drain int64 = 15
	// gracePeriod is how long it may take in all, with what is under way then.
	gracePeriod int64 = 60
)

// template is the Pod. Under Pod Security it is "baseline": who the application runs as is said by
// its image.
func template(a *workloadsv1.WebApp, config, meterImage string) corev1.PodTemplateSpec {
	made := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: Labels(a), Annotations: map[string]string{"kubectl.kubernetes.io/default-container": AppContainer}},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{application(a, config)},
			TerminationGracePeriodSeconds: new(gracePeriod),
			NodeSelector:                  a.Spec.Pod.NodeSelector,
			// The application answers clients; it has no business with the API server.
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				// Without capabilities, port 80 takes this.
				Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}},
			},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{spread(a, corev1.LabelHostname), spread(a, corev1.LabelTopologyZone)},
			// Nodes without a zone count for none of these constraints.
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
					Weight: 100,
					PodAffinityTerm: corev1.PodAffinityTerm{
						TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(a)},
					},
				}},
			}},
		},
	}
	if a.IsMetered() {
		made.Spec.InitContainers = []corev1.Container{meter(a, meterImage)}
	}
	for _, t := range a.Spec.Pod.Tolerations {
		made.Spec.Tolerations = append(made.Spec.Tolerations, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	for _, name := range a.Spec.Pod.ImagePullSecrets {
		made.Spec.ImagePullSecrets = append(made.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return made
}

func spread(a *workloadsv1.WebApp, by string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: by, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(a)}, MatchLabelKeys: []string{"pod-template-hash"},
	}
}

// application is the container of the user's image. It ends only after the time in which proxies
// still send requests: most applications end at once when they are asked to.
func application(a *workloadsv1.WebApp, config string) corev1.Container {
	port := portHTTP
	ports := []corev1.ContainerPort{{Name: portHTTP, ContainerPort: a.Spec.Port, Protocol: corev1.ProtocolTCP}}
	if a.IsMetered() {
		// That of the meter stands here as well: Kubernetes finds the names of ports of sidecars only since 1.33
		// (kubernetes/kubernetes#128850), and here in every version.
		port = portApp
		ports[0].Name = portApp
		ports = append(ports, corev1.ContainerPort{Name: portHTTP, ContainerPort: metering.Port, Protocol: corev1.ProtocolTCP})
	}
	made := corev1.Container{
		Name: AppContainer, Image: a.Spec.Image, Env: variables(a), Resources: resources(&a.Spec.Pod.Resources),
		Ports: ports,
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port)}},
			PeriodSeconds: 2, TimeoutSeconds: 2, FailureThreshold: 2,
		},
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drain}}},
		SecurityContext: unprivileged(),
	}
	if config != "" {
		made.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}}}
	}
	return made
}

// meter is a sidecar of Kubernetes (KEP-753): it is there before the application, and ends after it.
func meter(a *workloadsv1.WebApp, image string) corev1.Container {
	status := intstr.FromString(metering.MetricsPortName)
	context := unprivileged()
	context.RunAsNonRoot, context.RunAsUser, context.ReadOnlyRootFilesystem = new(true), new(int64(65532)), new(true)
	return corev1.Container{
		Name: metering.ContainerName, Image: image, RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Command: []string{"/meter", fmt.Sprintf("--app-port=%d", a.Spec.Port), "--drain=0s"},
		Ports:   []corev1.ContainerPort{{Name: metering.MetricsPortName, ContainerPort: metering.MetricsPort, Protocol: corev1.ProtocolTCP}},
		Env:     []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: fmt.Sprintf("%dMiB", metering.SoftMemoryLimit>>20)}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(metering.MemoryLimit, resource.BinarySI)},
		},
		// Without a startup probe the application would start before it listens.
		StartupProbe:    &corev1.Probe{ProbeHandler: get(metering.LivePath, status), PeriodSeconds: 1, FailureThreshold: 30},
		LivenessProbe:   &corev1.Probe{ProbeHandler: get(metering.LivePath, status), PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3},
		SecurityContext: context,
	}
}

func get(path string, port intstr.IntOrString) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port}}
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// resources are those that can be read: nothing is made of a WebApp with others.
func resources(asked *workloadsv1.PodResources) corev1.ResourceRequirements {
	limits, _ := asked.Limits.Parse()
	requests, _ := asked.Requests.Parse()
	return corev1.ResourceRequirements{Limits: limits, Requests: requests}
}

// The keys of the Secret with the credentials of a Database (docs/spec/database.md).
const keyUsername, keyPassword, keyURI = "username", "password", "uri"

// variables say where the database is. A Pod waits for its Secret, which the Database makes first.
func variables(a *workloadsv1.WebApp) []corev1.EnvVar {
	database := Database(a)
	if database == nil {
		return nil
	}
	port := map[workloadsv1.DatabaseType]string{
		workloadsv1.DatabaseMongo: "27017", workloadsv1.DatabaseMySQL: "3306", workloadsv1.DatabasePostgres: "5432",
	}[database.Spec.Type]
	from := func(key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: database.SecretName()}, Key: key,
		}}
	}
	return []corev1.EnvVar{
		{Name: "DB_HOST", Value: fmt.Sprintf("%s.%s.svc", database.Name, database.Namespace)},
		{Name: "DB_PORT", Value: port},
		{Name: "DB_USER", ValueFrom: from(keyUsername)},
		{Name: "DB_PASSWORD", ValueFrom: from(keyPassword)},
		{Name: "DATABASE_URL", ValueFrom: from(keyURI)},
	}
}
