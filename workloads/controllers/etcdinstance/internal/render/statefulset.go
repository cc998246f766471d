package render

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
)

const (
	volumeData, volumeConfig, volumeServer, volumePeer = "data", "config", "server", "peer"
	// gracePeriod is how long a member may take to hand its leadership over and to end.
	gracePeriod int64 = 60
	// neverGivesUp is how many seconds a start may take: a day. A member that reads a large
	// volume must not be ended for it, and would begin again.
	neverGivesUp int32 = 24 * 60 * 60
)

// AnnotationApplied holds, on the StatefulSet, a hash of what was applied, by which a field that
// has to go is noticed.
const AnnotationApplied = workloadsv1.Prefix + "applied-hash"

// StatefulSet runs the members, each in a Pod. Pods come and go all at once, since it is the
// operator that decides when their number changes; and it replaces none by itself.
func StatefulSet(e *workloadsv1alpha1.ETCDInstance, entries []Entry, replicas int32, image string) *appsv1.StatefulSet {
	made := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: meta(e, e.Name),
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(replicas),
			ServiceName:         e.PeersName(),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: Selector(e)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      memberLabels(e),
					Annotations: map[string]string{workloadsv1.AnnotationSpec: SpecHash(e, image)},
				},
				Spec: pod(e, image),
			},
		},
	}
	if e.Spec.Storage != nil {
		made.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim(e)}
		whenDeleted := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		if e.Spec.Storage.DeletionPolicy == workloadsv1.DeletionDelete {
			whenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		}
		// A StatefulSet that another user scales down takes no data away.
		made.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: whenDeleted, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
	}
	made.Annotations = map[string]string{AnnotationApplied: drift.Hash(made.Spec), AnnotationMembers: noted(entries)}
	return made
}

// SpecHash identifies what the Pods are made from, so far as a user says it. What the operator
// adds is not part of it: another version of the operator replaces no Pod.
func SpecHash(e *workloadsv1alpha1.ETCDInstance, image string) string {
	return drift.Hash(struct {
		Image string                  `json:"image"`
		Pod   workloadsv1.PodSettings `json:"pod,omitzero"`
	}{image, e.Spec.Pod})
}

// ImageOf is the image of the members; empty if there is none.
func ImageOf(set *appsv1.StatefulSet) string {
	if set == nil {
		return ""
	}
	for i := range set.Spec.Template.Spec.Containers {
		if set.Spec.Template.Spec.Containers[i].Name == etcd.Container {
			return set.Spec.Template.Spec.Containers[i].Image
		}
	}
	return ""
}

// claim asks for the volume of a member. Its labels find it again; it has no owner but by the
// deletion policy.
func claim(e *workloadsv1alpha1.ETCDInstance) corev1.PersistentVolumeClaim {
	size, _ := workloadsv1.Quantity(e.Spec.Storage.Size).Parse()
	return corev1.PersistentVolumeClaim{
		// In a template, what kind it is gets lost on the way: it would always differ.
		ObjectMeta: metav1.ObjectMeta{Name: volumeData, Labels: Labels(e)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: e.Spec.Storage.StorageClassName,
			VolumeMode:       new(corev1.PersistentVolumeFilesystem),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
}

func pod(e *workloadsv1alpha1.ETCDInstance, image string) corev1.PodSpec {
	made := podOf(e)
	made.Containers = []corev1.Container{container(e, image)}
	made.Volumes = volumes(e)
	made.TerminationGracePeriodSeconds = new(gracePeriod)
	// Members on one node fall together. A cluster of fewer nodes runs them all the same.
	made.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(e)},
	}}
	return made
}

// podOf is what every Pod of an ETCDInstance has: who it runs as, and where it may run.
func podOf(e *workloadsv1alpha1.ETCDInstance) corev1.PodSpec {
	made := corev1.PodSpec{
		NodeSelector: e.Spec.Pod.NodeSelector,
		// etcd answers clients; it has no business with the API server.
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(etcd.User), RunAsGroup: new(etcd.User), FSGroup: new(etcd.User),
			FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	for _, t := range e.Spec.Pod.Tolerations {
		made.Tolerations = append(made.Tolerations, corev1.Toleration{
			Key: t.Key, Operator: corev1.TolerationOperator(t.Operator), Value: t.Value,
			Effect: corev1.TaintEffect(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	for _, name := range e.Spec.Pod.ImagePullSecrets {
		made.ImagePullSecrets = append(made.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return made
}

func container(e *workloadsv1alpha1.ETCDInstance, image string) corev1.Container {
	limits, _ := e.Spec.Pod.Resources.Limits.Parse()
	requests, _ := e.Spec.Pod.Resources.Requests.Parse()
	made := corev1.Container{
		Name: etcd.Container, Image: image,
		Command: []string{"etcd"},
		Args:    []string{fmt.Sprintf("--config-file=%s/$(POD_NAME).yaml", etcd.ConfigPath)},
		Env: []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
		}}},
		Ports: []corev1.ContainerPort{
			{Name: "client", ContainerPort: workloadsv1alpha1.PortClient, Protocol: corev1.ProtocolTCP},
			{Name: "peer", ContainerPort: workloadsv1alpha1.PortPeer, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: etcd.PortMetrics, Protocol: corev1.ProtocolTCP},
		},
		Resources: corev1.ResourceRequirements{Limits: limits, Requests: requests},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeData, MountPath: etcd.DataPath},
			{Name: volumeConfig, MountPath: etcd.ConfigPath, ReadOnly: true},
		},
		// No liveness probe ends a member that is busy: it would have to catch up, and be busier.
		StartupProbe:    probe(etcd.Alive, 1, neverGivesUp),
		ReadinessProbe:  probe(etcd.Ready, 5, 2),
		SecurityContext: restricted(),
	}
	if e.Spec.WithTLSBundle {
		made.VolumeMounts = append(made.VolumeMounts,
			corev1.VolumeMount{Name: volumeServer, MountPath: etcd.ServerPath, ReadOnly: true},
			corev1.VolumeMount{Name: volumePeer, MountPath: etcd.PeerPath, ReadOnly: true})
	}
	return made
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(etcd.PortMetrics), Scheme: corev1.URISchemeHTTP}},
		PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: failures,
	}
}

// maxEmptyDir bounds what a member without storage writes onto its node: etcd's quota, its log
// and one snapshot that is being received.
var maxEmptyDir = resource.MustParse("6Gi")

func volumes(e *workloadsv1alpha1.ETCDInstance) []corev1.Volume {
	made := []corev1.Volume{{Name: volumeConfig, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: e.ConfigName()},
	}}}}
	if e.Spec.Storage == nil {
		made = append(made, corev1.Volume{Name: volumeData, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &maxEmptyDir}}})
	}
	if e.Spec.WithTLSBundle {
		made = append(made, secretVolume(volumeServer, e.ServerSecretName()), secretVolume(volumePeer, e.PeerSecretName()))
	}
	return made
}

func secretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
}
