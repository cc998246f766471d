package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
)

// AnnotationMembers holds, on the ConfigMap and on the StatefulSet, the Entries of the members.
const AnnotationMembers = workloadsv1.Prefix + "members"

// Entry is what is noted of a member: what it may start from.
type Entry struct {
	// Name of the member, and of its Pod.
	Name string `json:"name"`
	// ID that etcd gave it, in hexadecimal digits; empty for the first member until it is up.
	ID string `json:"id,omitempty"`
	// Folder of its volume that has its data. Another member of the name never had it.
	Folder string `json:"folder"`
	// Volume is the UID of the claim that has its data, or of the Pod where there is none; empty
	// until the member has come up with it. From then on it never starts without data: it
	// would vote again on what it has forgotten.
	Volume types.UID `json:"volume,omitempty"`
	// Replaces is the UID of a Pod that was made before this entry, and has to go.
	Replaces types.UID `json:"replaces,omitempty"`
	// Hollow is how many learners of the name, the last ones in a row, never came up.
	Hollow int `json:"hollow,omitempty"`
	// Gone: it never came up, and is in the cluster no more. The next one of the name takes its place.
	Gone bool `json:"gone,omitempty"`
}

// MaxHollow is how far Hollow counts.
const MaxHollow = 8

// Ordinal is that of the member's Pod; -1 if the name is of none.
func (n *Entry) Ordinal(e *workloadsv1alpha1.ETCDInstance) int { return Ordinal(e, n.Name) }

// Ordinal is that of a member by its name; -1 if the name is of none.
func Ordinal(e *workloadsv1alpha1.ETCDInstance, name string) int {
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		if e.MemberName(ordinal) == name {
			return ordinal
		}
	}
	return -1
}

// First is the entry of the member that begins the cluster. Its folder is of this ETCDInstance
// only: a volume that outlived another one has other data.
func First(e *workloadsv1alpha1.ETCDInstance) Entry {
	return Entry{Name: e.MemberName(0), Folder: string(e.UID)}
}

// Entries reads what is noted on an object. What is too many, and what has no such member, is
// left out.
func Entries(e *workloadsv1alpha1.ETCDInstance, object metav1.Object) []Entry {
	var noted, kept []Entry
	if json.Unmarshal([]byte(object.GetAnnotations()[AnnotationMembers]), &noted) != nil {
		return nil
	}
	for i := range noted {
		noted[i].Hollow = min(max(noted[i].Hollow, 0), MaxHollow)
		if Ordinal(e, noted[i].Name) >= 0 && noted[i].Folder != "" && len(kept) < workloadsv1alpha1.MaxReplicas {
			kept = append(kept, noted[i])
		}
	}
	return kept
}

func noted(entries []Entry) string {
	text, _ := json.Marshal(entries) // Plain text always marshals.
	return string(text)
}

// Config holds the configuration of each member, as a file of its name.
func Config(e *workloadsv1alpha1.ETCDInstance, entries []Entry) *corev1.ConfigMap {
	made := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(e, e.ConfigName()),
		Data:       map[string]string{},
	}
	made.Annotations = map[string]string{AnnotationMembers: noted(entries)}
	for i := range entries {
		made.Data[entries[i].Name+".yaml"] = configOf(e, entries, &entries[i])
	}
	return made
}

// file is the part of etcd's configuration that the operator sets.
type file struct {
	Name                     string     `json:"name"`
	DataDir                  string     `json:"data-dir"`
	ListenPeerURLs           string     `json:"listen-peer-urls"`
	ListenClientURLs         string     `json:"listen-client-urls"`
	ListenMetricsURLs        string     `json:"listen-metrics-urls"`
	InitialAdvertisePeerURLs string     `json:"initial-advertise-peer-urls"`
	AdvertiseClientURLs      string     `json:"advertise-client-urls"`
	InitialCluster           string     `json:"initial-cluster"`
	InitialClusterState      string     `json:"initial-cluster-state"`
	InitialClusterToken      string     `json:"initial-cluster-token"`
	StrictReconfigCheck      bool       `json:"strict-reconfig-check"`
	ClientTransportSecurity  *transport `json:"client-transport-security,omitempty"`
	PeerTransportSecurity    *transport `json:"peer-transport-security,omitempty"`
}

// transport says which certificates a listener shows, and asks for.
type transport struct {
	CertFile       string `json:"cert-file"`
	KeyFile        string `json:"key-file"`
	ClientCertAuth bool   `json:"client-cert-auth"`
	TrustedCAFile  string `json:"trusted-ca-file"`
	// AllowedCN are the common names that are let in; all without. etcd reads it from 3.6 on.
	AllowedCN []string `json:"allowed-cn,omitempty"`
}

func certificatesIn(folder string) *transport {
	return &transport{
		CertFile: folder + "/" + workloadsv1alpha1.KeyCertificate, KeyFile: folder + "/" + workloadsv1alpha1.KeyPrivateKey,
		ClientCertAuth: true, TrustedCAFile: folder + "/" + workloadsv1alpha1.KeyCA,
	}
}

// dataIsLost stands in the place of the initial cluster once a member has come up: etcd reads
// that only where a member has no data, and then refuses to start, because it does not find
// itself there.
const dataIsLost = "this-member-has-lost-its-data=http://127.0.0.1:1"

func configOf(e *workloadsv1alpha1.ETCDInstance, entries []Entry, of *Entry) string {
	made := file{
		Name:                     of.Name,
		DataDir:                  etcd.DataPath + "/" + of.Folder,
		ListenPeerURLs:           fmt.Sprintf("%s://0.0.0.0:%d", e.Scheme(), workloadsv1alpha1.PortPeer),
		ListenClientURLs:         fmt.Sprintf("%s://0.0.0.0:%d", e.Scheme(), workloadsv1alpha1.PortClient),
		ListenMetricsURLs:        fmt.Sprintf("http://0.0.0.0:%d", etcd.PortMetrics),
		InitialAdvertisePeerURLs: e.PeerURL(of.Name),
		AdvertiseClientURLs:      e.ClientURL(of.Name),
		InitialCluster:           dataIsLost,
		InitialClusterState:      "existing",
		InitialClusterToken:      string(e.UID),
		StrictReconfigCheck:      true,
	}
	if of.Volume == "" {
		made.InitialCluster = initialCluster(e, entries)
	}
	if of.Folder == First(e).Folder {
		made.InitialClusterState = "new"
	}
	if e.Spec.WithTLSBundle {
		made.ClientTransportSecurity, made.PeerTransportSecurity = certificatesIn(etcd.ServerPath), certificatesIn(etcd.PeerPath)
		// The authority signs the certificates of clients as well, which are no members.
		made.PeerTransportSecurity.AllowedCN = []string{Leaves(e)[e.PeerSecretName()].CommonName}
	}
	text, _ := yaml.Marshal(&made) // Plain text always marshals.
	return string(text)
}

func initialCluster(e *workloadsv1alpha1.ETCDInstance, entries []Entry) string {
	var all []string
	for i := range entries {
		if !entries[i].Gone {
			all = append(all, entries[i].Name+"="+e.PeerURL(entries[i].Name))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
