package v2

// Reasons of an OutageCause: why a Service has no ready endpoint of its own. It is the
// most specific one that is proved, never a guess.
const (
	// CauseNotFound: nothing was found that explains the outage.
	CauseNotFound = "CauseNotFound"
	// CauseMaintenance: the outage is planned: a maintenance is announced.
	CauseMaintenance = "Maintenance"
	// CauseDrill: the outage is a live drill, by `kubectl critsvc drill --live`.
	CauseDrill = "Drill"
	// CauseNoMatchingPods: no Pod carries the labels of the Service's selector, and
	// no workload makes such Pods.
	CauseNoMatchingPods = "NoMatchingPods"
	// CauseScaledToZero: the workload is to have no Pods.
	CauseScaledToZero = "ScaledToZero"
	// CausePodsRefused: the API server refuses the workload's Pods: quota, limit
	// range, Pod Security, or an admission policy.
	CausePodsRefused = "PodsRefused"
	// CauseUnschedulable: no node has room for the Pods, or may take them.
	CauseUnschedulable = "Unschedulable"
	// CauseImagePull: an image cannot be pulled.
	CauseImagePull = "ImagePull"
	// CauseContainerConfig: a container cannot be created, for example because a
	// ConfigMap or a Secret does not exist.
	CauseContainerConfig = "ContainerConfig"
	// CauseOutOfMemory: a container is killed at its memory limit again and again.
	CauseOutOfMemory = "OutOfMemory"
	// CauseCrashLoop: a container ends again and again.
	CauseCrashLoop = "CrashLoop"
	// CauseProbeFailing: the containers run, and a readiness or startup probe fails.
	CauseProbeFailing = "ProbeFailing"
	// CauseReadinessGate: the containers are ready, and a readiness gate is not.
	CauseReadinessGate = "ReadinessGate"
	// CauseTargetPortMissing: the Service's targetPort has a name that no container
	// port has.
	CauseTargetPortMissing = "TargetPortMissing"
	// CauseNodeLost: the nodes of the Pods do not answer.
	CauseNodeLost = "NodeLost"
	// CausePodsStarting: the Pods are new, and nothing fails so far.
	CausePodsStarting = "PodsStarting"
	// CausePodsEnded: the Pods have ended, or are ending, and no others replace them.
	CausePodsEnded = "PodsEnded"
)

// OutageCause is what explains an outage.
type OutageCause struct {
	// reason is a CamelCase word for the kind of cause.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Reason of the cause",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase:reason"},order=18
	Reason string `json:"reason"`

	// message explains the cause to a person in one sentence that names the object.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message of the cause",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=19
	Message string `json:"message,omitempty"`

	// subject is the object that the cause is about: where several Pods have the same
	// cause, the first of them by name. It is absent where the cause is about none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Subject of the cause",order=20
	Subject *CauseSubject `json:"subject,omitempty"`

	// port is the number of the Service's port that the cause is about; absent where it is
	// about none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Port of the cause",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=23
	Port int32 `json:"port,omitempty"`
}

// CauseSubject is the object that a cause is about. It is in the namespace of the
// Service, unless it is a Node.
type CauseSubject struct {
	// kind of the object, for example Pod, Deployment, Node or Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Kind of the subject",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=21
	Kind string `json:"kind"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name of the subject",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=22
	Name string `json:"name"`
}
