package render

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

const (
	containerName   = "responder"
	volumeListeners = "listeners"
	listenersFolder = "/etc/critical-service/listeners"
	contentFolder   = "/etc/critical-service/content"

	adminPort     = 8081
	adminPortName = "admin"
	metricsPath   = "/metrics"
	listenersFlag = "--listeners="

	// gracePeriod is longer than the responder takes to end: it goes on answering
	// (--drain), and serves what is under way (--connection-timeout).
	gracePeriod int64 = 60
	// minReady is how long a new Pod must be ready, and so published, before an old one
	// goes: time for proxies to follow (kube-proxy waits a second between two syncs).
	minReady int32 = 5
	// progressDeadline is how long a rollout may stand still before the Deployment
	// says so, from which the Services' status learns it. One stands still for as long
	// as no operator publishes the new Pods.
	progressDeadline int32 = 120
	// leaveNode is after how many seconds a Pod leaves a node that is lost; the
	// usual 300 s are for Pods that are not a last resort.
	leaveNode int64 = 30
)

// Deployment runs the responder's Pods. A new Pod is ready before an old one
// goes, because the Pods may be all that answers.
func (r *Responder) Deployment() *appsv1.Deployment {
	made := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: r.meta(criticalv2.ResponderServer),
		Spec: appsv1.DeploymentSpec{
			Replicas:                new(r.Replicas),
			MinReadySeconds:         minReady,
			ProgressDeadlineSeconds: new(progressDeadline),
			RevisionHistoryLimit:    new(int32(1)),
			Selector:                &metav1.LabelSelector{MatchLabels: selector()},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromString("100%")), MaxUnavailable: new(intstr.FromInt32(0)),
				},
			},
			Template: r.template(),
		},
	}
	made.Annotations = map[string]string{AnnotationVersion: r.Version(), AnnotationVersionSince: r.VersionSince}
	seal(&made.ObjectMeta, made)
	return made
}

// Keeping is the Deployment with the Pods of another version of the operator. Of them,
// only what the namespace itself asks for is changed.
func (r *Responder) Keeping(existing *appsv1.Deployment) *appsv1.Deployment {
	made := r.Deployment()
	wanted, kept := made.Spec.Template, existing.Spec.Template.DeepCopy()
	metav1.SetMetaDataAnnotation(&kept.ObjectMeta, criticalv2.AnnotationListeners, r.Ports.String())
	kept.Spec.Volumes = wanted.Spec.Volumes
	own := wanted.Spec.Containers[0]
	for i := range kept.Spec.Containers {
		container := &kept.Spec.Containers[i]
		if container.Name != containerName {
			continue
		}
		container.Resources, container.Env, container.VolumeMounts = own.Resources, own.Env, own.VolumeMounts
		for j, arg := range container.Args {
			if strings.HasPrefix(arg, listenersFlag) {
				container.Args[j] = listenersFlag + r.Ports.String()
			}
		}
	}
	made.Spec.Template = *kept
	for _, recorded := range []string{AnnotationVersion, AnnotationVersionSince, AnnotationApplied} {
		if value, found := existing.Annotations[recorded]; found {
			made.Annotations[recorded] = value
		} else {
			delete(made.Annotations, recorded)
		}
	}
	return made
}

func (r *Responder) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: podLabels(),
			Annotations: map[string]string{
				criticalv2.AnnotationListeners:            r.Ports.String(),
				"kubectl.kubernetes.io/default-container": containerName,
				// For a Prometheus that knows Pods by their annotations only.
				"prometheus.io/scrape": "true",
				"prometheus.io/scheme": "http",
				"prometheus.io/port":   strconv.Itoa(adminPort),
				"prometheus.io/path":   metricsPath,
			},
		},
		Spec: r.podSpec(),
	}
}

func (r *Responder) podSpec() corev1.PodSpec {
	volumes, _ := r.volumes()
	spec := corev1.PodSpec{
		Containers: []corev1.Container{r.container()},
		// An older Pod goes only once this one is published in its place, even if the
		// operator does not live to do it.
		ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: criticalv2.ConditionPublished}},
		Volumes:                       volumes,
		PriorityClassName:             r.PriorityClass,
		TerminationGracePeriodSeconds: new(gracePeriod),
		// The responder answers clients; it has no business with the API server.
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false),
		NodeSelector:                 map[string]string{corev1.LabelOSStable: string(corev1.Linux)},
		// The user is the image's, a number, or the one that OpenShift gives.
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Tolerations: []corev1.Toleration{leaving(corev1.TaintNodeNotReady), leaving(corev1.TaintNodeUnreachable)},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			spread(corev1.LabelHostname), spread(corev1.LabelTopologyZone),
		},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 100,
				PodAffinityTerm: corev1.PodAffinityTerm{
					TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: selector()},
				},
			}},
		}},
	}
	for _, name := range r.ImagePullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return spec
}

func (r *Responder) container() corev1.Container {
	_, mounts := r.volumes()
	request, limit := r.memory()
	return corev1.Container{
		Name:    containerName,
		Image:   r.Image,
		Command: []string{listener.Program},
		Args: []string{
			listenersFlag + r.Ports.String(),
			"--table=" + path.Join(listenersFolder, listener.Key),
			"--content=" + contentFolder,
			fmt.Sprintf("--admin-bind-address=:%d", adminPort),
		},
		// The Go runtime frees memory before the kernel would end the process, which counts what it keeps for connections.
		Env:   []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: fmt.Sprintf("%dMiB", limit-forKernel)}},
		Ports: []corev1.ContainerPort{{Name: adminPortName, ContainerPort: adminPort, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("25m"), corev1.ResourceMemory: mebibytes(request),
			},
			// With a limit of CPU an outage of one namespace does not take the node from the
			// Pods of others, and a quota on limits.cpu admits the Pod.
			Limits: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: mebibytes(limit),
			},
		},
		VolumeMounts: mounts,
		// Ready means: it listens on every port. Until then nothing else is asked.
		StartupProbe:   probe("/readyz", 1, 120),
		ReadinessProbe: probe("/readyz", 5, 3),
		LivenessProbe:  probe("/healthz", 10, 6),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// volumes mount the table, and the content of each team under its ConfigMap's
// name. A ConfigMap that goes away takes nothing else with it.
func (r *Responder) volumes() ([]corev1.Volume, []corev1.VolumeMount) {
	volumes := []corev1.Volume{configMapVolume(volumeListeners, criticalv2.ResponderName)}
	volumes[0].ConfigMap.Items = []corev1.KeyToPath{{Key: listener.Key, Path: listener.Key}}
	mounts := []corev1.VolumeMount{{Name: volumeListeners, MountPath: listenersFolder, ReadOnly: true}}
	for _, name := range r.Contents {
		volumes = append(volumes, configMapVolume(volumeName(name), name))
		mounts = append(mounts, corev1.VolumeMount{Name: volumeName(name), MountPath: path.Join(contentFolder, name), ReadOnly: true})
	}
	return volumes, mounts
}

func configMapVolume(volume, configMap string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Optional: new(true),
	}}}
}

// forKernel is how much of the limit is left for the buffers of connections and the executable's pages, in MiB.
const forKernel = 32

// memory is what a Pod asks for, and may use, in MiB: it grows with what the
// responder holds, which is its listeners and the content of the teams.
func (r *Responder) memory() (request, limit int64) {
	const (
		requestBase, limitBase             = 24, 128
		requestPer1024Ports, limitPer1024  = 16, 32
		requestPerContent, limitPerContent = 1, 3
	)
	ports := int64(r.Ports.Last-r.Ports.First) + 1 - 64
	contents := int64(len(r.Contents))
	return requestBase + ports*requestPer1024Ports/1024 + contents*requestPerContent,
		limitBase + ports*limitPer1024/1024 + contents*limitPerContent
}

func mebibytes(n int64) resource.Quantity { return *resource.NewQuantity(n<<20, resource.BinarySI) }

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(adminPortName)}},
		PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures,
	}
}

func leaving(taint string) corev1.Toleration {
	return corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(leaveNode),
	}
}

// spread puts Pods apart where that is possible. Each rollout counts its own, so
// that the old Pods do not push the new ones together.
func spread(over string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: over, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:  &metav1.LabelSelector{MatchLabels: selector()},
		MatchLabelKeys: []string{"pod-template-hash"},
	}
}
