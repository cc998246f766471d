package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/engine"
)

const (
	volumeData = "data"
	// gracePeriod is how long an engine may take to write what it has in memory.
	gracePeriod int64 = 120
	// neverGivesUp is how many seconds a start may take: a day. An engine that recovers
	// must not be ended for it, and would begin again.
	neverGivesUp int32 = 24 * 60 * 60
)

// Pod runs the engine. It has the Database's name, and is replaced when AnnotationSpec of
// another one differs.
func Pod(d *workloadsv1.Database, image string) *corev1.Pod {
	e := engine.Of(d.Spec.Type)
	made := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta(d, d.Name),
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{container(d, e, image)},
			Volumes:                       []corev1.Volume{volume(d)},
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(gracePeriod),
			NodeSelector:                  d.Spec.Pod.NodeSelector,
			// The engine answers clients; it has no business with the API server.
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(engine.User), RunAsGroup: new(engine.User), FSGroup: new(engine.User),
				// The files of a large volume are not changed one by one at each start.
				FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
	for _, t := range d.Spec.Pod.Tolerations {
		made.Spec.Tolerations = append(made.Spec.Tolerations, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	for _, name := range d.Spec.Pod.ImagePullSecrets {
		made.Spec.ImagePullSecrets = append(made.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	made.Annotations = map[string]string{workloadsv1.AnnotationSpec: SpecHash(d, image), workloadsv1.AnnotationImage: image}
	if d.Spec.Image == "" {
		made.Annotations[workloadsv1.AnnotationDefaultImage] = "true"
	}
	return made
}

// SpecHash identifies what a Database's Pod is made from, so far as a user says it. What the
// operator adds is not part of it: another version of the operator replaces no Pod.
func SpecHash(d *workloadsv1.Database, image string) string {
	return drift.Hash(struct {
		Image  string                  `json:"image"`
		Secret string                  `json:"secret"`
		Pod    workloadsv1.PodSettings `json:"pod,omitzero"`
	}{image, d.SecretName(), d.Spec.Pod})
}

// ImageOf is the image with which a Pod was made.
func ImageOf(d *workloadsv1.Database, pod *corev1.Pod) string {
	if container := ContainerOf(d, pod); container != nil {
		return cmp.Or(pod.Annotations[workloadsv1.AnnotationImage], container.Image)
	}
	return ""
}

// ContainerOf is the container of the engine in a Pod; nil if it has none.
func ContainerOf(d *workloadsv1.Database, pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == string(d.Spec.Type) {
			return &pod.Spec.Containers[i]
		}
	}
	return nil
}

// HasVolume reports whether a Pod holds data that another Pod could write as well.
func HasVolume(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].PersistentVolumeClaim != nil {
			return true
		}
	}
	return false
}

// container has a root file system that can be written: the official images write to more
// of it than their documentation says.
func container(d *workloadsv1.Database, e *engine.Engine, image string) corev1.Container {
	return corev1.Container{
		Name:         string(d.Spec.Type),
		Image:        image,
		Args:         e.Arguments,
		Env:          variables(d, e),
		Ports:        []corev1.ContainerPort{{Name: string(d.Spec.Type), ContainerPort: e.Port, Protocol: corev1.ProtocolTCP}},
		Resources:    resources(&d.Spec.Pod.Resources),
		VolumeMounts: []corev1.VolumeMount{{Name: volumeData, MountPath: e.DataPath}},
		// It is asked each second until it answers once. No liveness probe ends an engine
		// that is busy: it would have to recover, and be busier.
		StartupProbe:   &corev1.Probe{ProbeHandler: e.Probe, PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: neverGivesUp},
		ReadinessProbe: &corev1.Probe{ProbeHandler: e.Probe, PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 2},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// resources are those that can be read: no Pod is made of a Database with others.
func resources(asked *workloadsv1.PodResources) corev1.ResourceRequirements {
	limits, _ := asked.Limits.Parse()
	requests, _ := asked.Requests.Parse()
	return corev1.ResourceRequirements{Limits: limits, Requests: requests}
}

func variables(d *workloadsv1.Database, e *engine.Engine) []corev1.EnvVar {
	made := []corev1.EnvVar{fromSecret(d, e.PasswordVariable, engine.KeyPassword)}
	if e.UsernameVariable != "" {
		made = append(made, fromSecret(d, e.UsernameVariable, engine.KeyUsername))
	}
	return append(made, e.Variables...)
}

func fromSecret(d *workloadsv1.Database, variable, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: d.SecretName()}, Key: key,
	}}}
}

func volume(d *workloadsv1.Database) corev1.Volume {
	source := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if d.Spec.Storage != nil {
		source = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.ClaimName()}}
	}
	return corev1.Volume{Name: volumeData, VolumeSource: source}
}
