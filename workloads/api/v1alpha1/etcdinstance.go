package v1alpha1

import (
	"fmt"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// PeersName is the name of the headless Service by which members find each other.
func (e *ETCDInstance) PeersName() string { return e.Name + "-peers" }

// MemberName is the name of the member of an ordinal, and of its Pod.
func (e *ETCDInstance) MemberName(ordinal int) string { return fmt.Sprintf("%s-%d", e.Name, ordinal) }

// ClaimName is the name of the claim of the member of an ordinal.
func (e *ETCDInstance) ClaimName(ordinal int) string {
	return fmt.Sprintf("data-%s-%d", e.Name, ordinal)
}

// BackupClaimName is the name of the claim with stored snapshots.
func (e *ETCDInstance) BackupClaimName() string { return e.Name + "-backup" }

// BackupPodName is the name of the Pod that stores a snapshot.
func (e *ETCDInstance) BackupPodName() string { return e.Name + "-backup" }

// RestorePodName is the name of the Pod that restores the first data.
func (e *ETCDInstance) RestorePodName() string { return e.Name + "-restore" }

// ConfigName is the name of the ConfigMap with the configuration of each member.
func (e *ETCDInstance) ConfigName() string { return e.Name + "-config" }

// AuthoritySecretName is the name of the Secret with the authority that signs all certificates.
func (e *ETCDInstance) AuthoritySecretName() string { return e.Name + "-tls-ca" }

// ServerSecretName is the name of the Secret with the certificate that clients see.
func (e *ETCDInstance) ServerSecretName() string { return e.Name + "-tls-server" }

// PeerSecretName is the name of the Secret with the certificate that members show each other.
func (e *ETCDInstance) PeerSecretName() string { return e.Name + "-tls-peer" }

// ClientSecretName is the name of the Secret with the certificate that clients need.
func (e *ETCDInstance) ClientSecretName() string { return e.Name + "-tls-client" }

// Scheme is that of the URLs of members and clients.
func (e *ETCDInstance) Scheme() string {
	if e.Spec.WithTLSBundle {
		return "https"
	}
	return "http"
}

// MemberHost is the host name of a member's Pod.
func (e *ETCDInstance) MemberHost(member string) string {
	return fmt.Sprintf("%s.%s.%s.svc", member, e.PeersName(), e.Namespace)
}

// ClientURL is where clients of the cluster reach one member.
func (e *ETCDInstance) ClientURL(member string) string {
	return fmt.Sprintf("%s://%s:%d", e.Scheme(), e.MemberHost(member), PortClient)
}

// PeerURL is where other members reach one member.
func (e *ETCDInstance) PeerURL(member string) string {
	return fmt.Sprintf("%s://%s:%d", e.Scheme(), e.MemberHost(member), PortPeer)
}

// Validate finds what the schema refuses, and an object may have all the same that was stored
// while the cluster had another schema.
func (e *ETCDInstance) Validate() error {
	if e.Spec.Replicas < 1 || e.Spec.Replicas > MaxReplicas {
		return fmt.Errorf("spec.replicas is %d: it must be 1 to %d", e.Spec.Replicas, MaxReplicas)
	}
	if e.Spec.Storage != nil {
		if _, err := workloadsv1.Quantity(e.Spec.Storage.Size).Parse(); err != nil {
			return fmt.Errorf("spec.storage.size: %w", err)
		}
	}
	resources := &e.Spec.Pod.Resources
	if _, err := resources.Limits.Parse(); err != nil {
		return fmt.Errorf("spec.pod.resources.limits.%w", err)
	}
	if _, err := resources.Requests.Parse(); err != nil {
		return fmt.Errorf("spec.pod.resources.requests.%w", err)
	}
	return nil
}
