package render

import (
	"cmp"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
)

const (
	// ContainerSnapshot fetches or receives a snapshot.
	ContainerSnapshot = "snapshot"
	// ContainerRestore makes the data of a member from it.
	ContainerRestore = "restore"
	// ContainerFinish reports what was restored.
	ContainerFinish = "finish"

	componentBackup, componentRestore = "backup", "restore"

	volumeSnapshots, volumeCertificates = "snapshots", "certificates"
	snapshotsPath, certificatesPath     = "/snapshots", "/etc/etcd-certificates"
	snapshotProgram, snapshotFile       = "/snapshot", "snapshot.db"
	// restoreFolder of the member's volume holds the snapshot until it is restored.
	restoreFolder = "restore"
	// keptSnapshots is how many stored snapshots are kept.
	keptSnapshots = 3
	// snapshotDeadline bounds, in seconds, how long a snapshot may take to store.
	snapshotDeadline int64 = 60 * 60
	// defaultSize stands for the size of a member's volume where there is none: etcd's own bound of
	// the data.
	defaultSize = "2Gi"
)

// maxBackupSize is room for as many snapshots of 8 GiB as there may be, the most that etcd recommends.
var maxBackupSize = resource.MustParse("32Gi")

// DataClaim is the claim of the first member, as its StatefulSet would make it.
func DataClaim(e *workloadsv1alpha1.ETCDInstance) *corev1.PersistentVolumeClaim {
	made := claim(e)
	made.Namespace, made.Name = e.Namespace, e.ClaimName(0)
	return &made
}

// BackupClaim is the claim with stored snapshots. It has no owner: it outlives the ETCDInstance. One more
// than are kept fits in, because the oldest goes only once the newest is whole.
func BackupClaim(e *workloadsv1alpha1.ETCDInstance) *corev1.PersistentVolumeClaim {
	of := *e
	if of.Spec.Storage == nil {
		of.Spec.Storage = &workloadsv1alpha1.ETCDStorage{Size: defaultSize}
	}
	made := claim(&of)
	made.Namespace, made.Name = e.Namespace, e.BackupClaimName()
	size := made.Spec.Resources.Requests[corev1.ResourceStorage]
	// Before it is multiplied, what is too large is too large for a number as well.
	if most := maxBackupSize.Value() / (keptSnapshots + 1); size.Value() >= most {
		size = maxBackupSize.DeepCopy()
	} else {
		size.Mul(keptSnapshots + 1)
	}
	made.Spec.Resources.Requests[corev1.ResourceStorage] = size
	return &made
}

// BackupPod stores a snapshot in the claim with snapshots. The request is noted on it.
func BackupPod(e *workloadsv1alpha1.ETCDInstance, image, request string) *corev1.Pod {
	made := snapshotPod(e, e.BackupPodName(), componentBackup)
	made.Annotations = map[string]string{workloadsv1alpha1.AnnotationBackup: request}
	made.Spec.ActiveDeadlineSeconds = new(snapshotDeadline)
	made.Spec.Volumes = []corev1.Volume{claimVolume(volumeSnapshots, e.BackupClaimName())}
	mount := corev1.VolumeMount{Name: volumeSnapshots, MountPath: snapshotsPath}
	store := snapshotContainer(ContainerSnapshot, image, mount)
	store.Command = []string{snapshotProgram, "fetch"}
	store.Args = []string{"--endpoint=" + clientEndpoint(e), "--folder=" + snapshotsPath, "--name=" + e.Name, fmt.Sprintf("--keep=%d", keptSnapshots)}
	if e.Spec.WithTLSBundle {
		withCertificates(made, &store, e.ClientSecretName())
	}
	made.Spec.Containers = []corev1.Container{store}
	return made
}

// RestorePod makes the data of the first member, from a snapshot of another ETCDInstance, or, where
// that is nil, from one that is sent to it.
func RestorePod(e, origin *workloadsv1alpha1.ETCDInstance, image, etcdImage string) *corev1.Pod {
	made := snapshotPod(e, e.RestorePodName(), componentRestore)
	made.Spec.Volumes = []corev1.Volume{claimVolume(volumeData, e.ClaimName(0))}
	mount := corev1.VolumeMount{Name: volumeData, MountPath: etcd.DataPath}
	folder, first := etcd.DataPath+"/"+restoreFolder, First(e)
	data := etcd.DataPath + "/" + first.Folder

	get := snapshotContainer(ContainerSnapshot, image, mount)
	get.Args = []string{"--folder=" + folder, "--name=" + snapshotFile, "--clear=" + data}
	if origin != nil {
		get.Command = []string{snapshotProgram, "fetch"}
		get.Args = append(get.Args, "--endpoint="+clientEndpoint(origin))
		if origin.Spec.WithTLSBundle {
			withCertificates(made, &get, origin.ClientSecretName())
		}
	} else {
		get.Command = []string{snapshotProgram, "receive"}
		size, _ := workloadsv1.Quantity(e.Spec.Storage.Size).Parse()
		get.Args = append(get.Args, fmt.Sprintf("--listen=:%d", workloadsv1alpha1.PortRestore), "--most="+strconv.FormatInt(size.Value(), 10))
		get.Ports = []corev1.ContainerPort{{Name: "restore", ContainerPort: workloadsv1alpha1.PortRestore, Protocol: corev1.ProtocolTCP}}
		if e.Spec.WithTLSBundle {
			withCertificates(made, &get, e.ServerSecretName())
		}
	}

	restore := snapshotContainer(ContainerRestore, etcdImage, mount)
	restore.Command = []string{"etcdutl", "snapshot", "restore", folder + "/" + snapshotFile}
	restore.Args = []string{
		"--name=" + first.Name, "--data-dir=" + data, "--initial-cluster-token=" + string(e.UID),
		"--initial-cluster=" + first.Name + "=" + e.PeerURL(first.Name), "--initial-advertise-peer-urls=" + e.PeerURL(first.Name),
	}
	finish := snapshotContainer(ContainerFinish, image, mount)
	finish.Command, finish.Args = []string{snapshotProgram, "finish"}, []string{"--folder=" + folder, "--name=" + snapshotFile}
	made.Spec.InitContainers = []corev1.Container{get, restore}
	made.Spec.Containers = []corev1.Container{finish}
	return made
}

// clientEndpoint is where the clients of an ETCDInstance reach it.
func clientEndpoint(e *workloadsv1alpha1.ETCDInstance) string {
	return fmt.Sprintf("%s://%s.%s.svc:%d", e.Scheme(), e.Name, e.Namespace, workloadsv1alpha1.PortClient)
}

// snapshotPod is a Pod without containers that ends once. It runs as the members do, on the nodes
// that they may run on.
func snapshotPod(e *workloadsv1alpha1.ETCDInstance, name, component string) *corev1.Pod {
	made := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta(e, name),
		Spec:       podOf(e),
	}
	made.Labels[LabelComponent] = component
	made.Spec.RestartPolicy = corev1.RestartPolicyNever
	return made
}

func claimVolume(name, of string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: of}}}
}

func withCertificates(of *corev1.Pod, container *corev1.Container, secret string) {
	of.Spec.Volumes = append(of.Spec.Volumes, secretVolume(volumeCertificates, secret))
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volumeCertificates, MountPath: certificatesPath, ReadOnly: true})
	container.Args = append(container.Args, "--tls="+certificatesPath)
}

func snapshotContainer(name, image string, mount corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, VolumeMounts: []corev1.VolumeMount{mount},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          restricted(),
	}
}

// SnapshotProblem is what a Pod that ended in failure says of it.
func SnapshotProblem(pod *corev1.Pod) string {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if ended := statuses[i].State.Terminated; ended != nil && ended.ExitCode != 0 {
				return fmt.Sprintf("container %s ended with exit code %d: %s", statuses[i].Name, ended.ExitCode, cmp.Or(ended.Message, ended.Reason))
			}
		}
	}
	return cmp.Or(pod.Status.Message, pod.Status.Reason, "it ended without a reason")
}

// SnapshotReport is the message with which the container of a Pod that has succeeded ended.
func SnapshotReport(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if ended := pod.Status.ContainerStatuses[i].State.Terminated; ended != nil {
			return ended.Message
		}
	}
	return ""
}

// IsReceiving reports whether a Pod listens for a snapshot.
func IsReceiving(pod *corev1.Pod) bool {
	for i := range pod.Status.InitContainerStatuses {
		if status := &pod.Status.InitContainerStatuses[i]; status.Name == ContainerSnapshot {
			return status.State.Running != nil
		}
	}
	return false
}
