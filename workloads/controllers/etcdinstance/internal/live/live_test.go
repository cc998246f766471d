package live_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/certificate"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// node runs the members of one ETCDInstance as processes on this machine: what a StatefulSet and
// a kubelet would do. Each member has a loopback address, in the place of its host name.
type node struct {
	t       *testing.T
	binary  string
	folder  string
	network string
	snap    decide.Snapshot
	reasons recheck.Reasons
	// processes are those of the members that run, by name.
	processes map[string]*process
	pods      int
}

type process struct {
	command *exec.Cmd
	ended   chan struct{}
}

func newNode(t *testing.T) *node {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Fatal("this test needs etcd: run it with `make test`, or set KUBEBUILDER_ASSETS to the folder that holds it")
	}
	n := &node{
		t: t, binary: filepath.Join(assets, "etcd"), folder: t.TempDir(), network: fmt.Sprintf("127.%d.%d.", 64+os.Getpid()%64, os.Getpid()/64%250),
		processes: map[string]*process{},
		snap: decide.Snapshot{
			Image: "etcd:v3.7.0", Pods: map[string]*corev1.Pod{},
			Instance: &workloadsv1alpha1.ETCDInstance{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "etcd", UID: "e1", Generation: 1}, Spec: workloadsv1alpha1.ETCDInstanceSpec{Replicas: 1},
			},
		},
	}
	t.Cleanup(func() {
		for name := range n.processes {
			n.kill(name)
		}
	})
	return n
}

func (n *node) address(name string) string {
	return fmt.Sprintf("%s%d", n.network, 10+render.Ordinal(n.snap.Instance, name))
}

// local puts loopback addresses in the place of the names of hosts.
func (n *node) local(text string) string {
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		name := n.snap.Instance.MemberName(ordinal)
		text = strings.ReplaceAll(text, n.snap.Instance.MemberHost(name), n.address(name))
	}
	return text
}

// start starts a member with its file, as it is now.
func (n *node) start(name string) {
	n.t.Helper()
	text, found := n.snap.Config.Data[name+".yaml"]
	if !found {
		return
	}
	text = strings.ReplaceAll(n.local(text), "0.0.0.0", n.address(name))
	// Without a volume, the data lives and dies with the Pod.
	text = strings.ReplaceAll(text, "/var/lib/etcd", filepath.Join(n.folder, string(n.snap.Pods[name].UID)))
	file := filepath.Join(n.folder, name+".yaml")
	g := NewWithT(n.t)
	g.Expect(os.MkdirAll(filepath.Join(n.folder, string(n.snap.Pods[name].UID)), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	log, err := os.OpenFile(filepath.Join(n.folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	g.Expect(err).NotTo(HaveOccurred())
	made := &process{command: exec.Command(n.binary, "--config-file="+file), ended: make(chan struct{})}
	made.command.Stdout, made.command.Stderr = log, log
	g.Expect(made.command.Start()).To(Succeed())
	go func() {
		defer close(made.ended)
		_ = made.command.Wait()
		_ = log.Close()
	}()
	n.processes[name] = made
}

func (n *node) kill(name string) {
	if running := n.processes[name]; running != nil {
		_ = running.command.Process.Kill()
		<-running.ended
		delete(n.processes, name)
	}
}

// takeAway takes a Pod away, and its data with it.
func (n *node) takeAway(name string) {
	n.kill(name)
	delete(n.snap.Pods, name)
}

// kubernetes keeps as many Pods as the StatefulSet says, and starts again what has ended.
func (n *node) kubernetes() {
	if n.snap.StatefulSet == nil {
		return
	}
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		name := n.snap.Instance.MemberName(ordinal)
		if ordinal >= int(*n.snap.StatefulSet.Spec.Replicas) {
			n.takeAway(name)
			continue
		}
		if n.snap.Pods[name] == nil {
			n.pods++
			n.snap.Pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(fmt.Sprintf("pod-%d", n.pods)), Annotations: n.snap.StatefulSet.Spec.Template.Annotations,
			}}
		}
		if running := n.processes[name]; running != nil {
			select {
			case <-running.ended:
				delete(n.processes, name)
				n.restarted(name)
			default:
				continue
			}
		}
		n.start(name)
	}
}

// restarted counts what the kubelet counts.
func (n *node) restarted(name string) {
	pod := n.snap.Pods[name].DeepCopy()
	if len(pod.Status.ContainerStatuses) == 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: etcd.Container}}
	}
	pod.Status.ContainerStatuses[0].RestartCount++
	n.snap.Pods[name] = pod
}

func (n *node) members() []live.Address {
	var found []live.Address
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		if name := n.snap.Instance.MemberName(ordinal); n.processes[name] != nil {
			found = append(found, live.Address{
				Name: name, URL: n.snap.Instance.ClientURL(name), At: fmt.Sprintf("%s:%d", n.address(name), workloadsv1alpha1.PortClient),
			})
		}
	}
	return found
}

// step is one round of the operator: observe, decide, apply.
func (n *node) step() *decide.Plan {
	n.t.Helper()
	n.kubernetes()
	snap := n.snap
	snap.Now = time.Now()
	snap.Ages = n.reasons.Observe(types.NamespacedName{Name: "etcd"}, snap.Instance.Status.Conditions, snap.Now)
	snap.Cluster = live.Client{}.Look(n.t.Context(), n.members())
	n.nameMembers(&snap.Cluster)
	plan := decide.Decide(snap)
	for _, service := range plan.Services {
		if service.Name == snap.Instance.Name {
			n.snap.Service = service
		} else {
			n.snap.Peers = service
		}
	}
	if plan.Budget != nil {
		n.snap.Budget = plan.Budget
	}
	if plan.Config != nil {
		n.snap.Config = plan.Config
	}
	if plan.StatefulSet != nil {
		n.snap.StatefulSet = plan.StatefulSet
	}
	if plan.Change != nil {
		change := *plan.Change
		change.PeerURL = n.local(change.PeerURL)
		err := live.Client{}.Change(n.t.Context(), n.members(), &change)
		n.t.Logf("%s %s: %v", change.Kind, change.Name, err)
	}
	if plan.RemovePod != nil {
		n.takeAway(plan.RemovePod.Pod.Name)
	}
	n.snap.Instance = n.snap.Instance.DeepCopy()
	n.snap.Instance.Status = plan.Status
	return &plan
}

// nameMembers gives the listed members the names that their URLs have in a cluster.
func (n *node) nameMembers(seen *decide.Cluster) {
	if len(seen.Members) == 0 {
		return
	}
	client := n.client()
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
	defer cancel()
	listed, err := client.MemberList(ctx)
	if err != nil {
		seen.Members = nil
		return
	}
	for i := range seen.Members {
		for _, member := range listed.Members {
			host, _, _ := net.SplitHostPort(strings.TrimPrefix(member.PeerURLs[0], "http://"))
			for ordinal := range workloadsv1alpha1.MaxReplicas {
				if name := n.snap.Instance.MemberName(ordinal); fmt.Sprintf("%x", member.ID) == seen.Members[i].ID && host == n.address(name) {
					seen.Members[i].Name = name
				}
			}
		}
	}
}

func (n *node) client() *clientv3.Client {
	n.t.Helper()
	var endpoints []string
	for ordinal := range 3 {
		endpoints = append(endpoints, "http://"+net.JoinHostPort(n.address(n.snap.Instance.MemberName(ordinal)), "2379"))
	}
	client, err := clientv3.New(clientv3.Config{Context: n.t.Context(), Endpoints: endpoints, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	NewWithT(n.t).Expect(err).NotTo(HaveOccurred())
	return client
}

// becomes lets the operator and Kubernetes work until as many members vote.
func (n *node) becomes(replicas int32) {
	n.t.Helper()
	n.snap.Instance = n.snap.Instance.DeepCopy()
	n.snap.Instance.Spec.Replicas = replicas
	n.snap.Instance.Generation++
	NewWithT(n.t).Eventually(func(g Gomega) {
		plan := n.step()
		g.Expect(plan.Status.State).To(Equal(workloadsv1alpha1.ETCDRunning), plan.Status.Message)
		g.Expect(plan.Status.ReadyReplicas).To(Equal(replicas), plan.Status.Message)
		g.Expect(n.processes).To(HaveLen(int(replicas)))
	}).WithTimeout(8*time.Minute).WithPolling(500*time.Millisecond).Should(Succeed(), n.logs)
}

// logs are the last lines of each member.
func (n *node) logs() string {
	all := ""
	for ordinal := range 3 {
		file, err := os.Open(filepath.Join(n.folder, n.snap.Instance.MemberName(ordinal)+".log"))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(file)
		_ = file.Close()
		all += fmt.Sprintf("%d:\n%s\n", ordinal, text[max(0, len(text)-3000):])
	}
	return all
}

// writer writes one key after the other, and keeps the revision of each write that etcd has
// acknowledged.
type writer struct {
	mu           sync.Mutex
	acknowledged map[string]int64
	cancel       context.CancelFunc
	ended        chan struct{}
}

func (n *node) write() *writer {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	w := &writer{acknowledged: map[string]int64{}, cancel: cancel, ended: make(chan struct{})}
	client := n.client()
	go func() {
		defer close(w.ended)
		defer func() { _ = client.Close() }()
		for number := 0; ctx.Err() == nil; number++ {
			key := fmt.Sprintf("key-%06d", number)
			once, end := context.WithTimeout(ctx, 5*time.Second)
			put, err := client.Put(once, key, "value")
			end()
			if err == nil {
				w.mu.Lock()
				w.acknowledged[key] = put.Header.Revision
				w.mu.Unlock()
			}
		}
	}()
	return w
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// Nothing that etcd has acknowledged may be lost while members come, lose their data, and go.
func TestNoWriteIsLostWhileMembersComeAndGo(t *testing.T) {
	g := NewWithT(t)
	n := newNode(t)
	n.becomes(1)
	writes := n.write()
	g.Eventually(writes.count).WithTimeout(time.Minute).Should(BeNumerically(">", 10))
	n.becomes(3)
	grown := writes.count()
	g.Eventually(writes.count).WithTimeout(time.Minute).Should(BeNumerically(">", grown+10))

	for _, ordinal := range []int{1, 0} { // The lowest is the first of those that are asked.
		n.takeAway(n.snap.Instance.MemberName(ordinal))
		n.becomes(3)
		g.Expect(n.logOf(ordinal)).To(ContainSubstring("couldn't find local name"), "without its data, a member that had a vote does not start")
		replaced := writes.count()
		g.Eventually(writes.count).WithTimeout(time.Minute).Should(BeNumerically(">", replaced+10))
	}

	n.becomes(1)
	shrunk := writes.count()
	g.Eventually(writes.count).WithTimeout(time.Minute).Should(BeNumerically(">", shrunk+10))
	writes.cancel()
	<-writes.ended

	client := n.client()
	defer func() { _ = client.Close() }()
	for key, revision := range writes.acknowledged {
		has, err := client.Get(t.Context(), key)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(has.Kvs).To(HaveLen(1), "%s was acknowledged", key)
		g.Expect(has.Kvs[0].ModRevision).To(Equal(revision), key)
	}
	t.Logf("%d acknowledged writes, all there with their revisions", len(writes.acknowledged))
}

func (n *node) logOf(ordinal int) string {
	text, _ := os.ReadFile(filepath.Join(n.folder, n.snap.Instance.MemberName(ordinal)+".log"))
	return string(text)
}

// A certificate is of the name of a host, which is not known everywhere where the Pod's address is.
func TestAMemberWithTLSIsKnownByItsNameAndReachedByItsAddress(t *testing.T) {
	g := NewWithT(t)
	n := newNode(t)
	e := n.snap.Instance
	e.Spec.WithTLSBundle = true
	authority, err := certificate.NewAuthority("etcd-tls-ca", time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	signed := func(name string) certificate.Data {
		data, err := authority.Sign(render.Leaves(e)[name], time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		return data
	}
	for key, data := range signed(e.ServerSecretName()) {
		g.Expect(os.WriteFile(filepath.Join(n.folder, key), data, 0o600)).To(Succeed())
	}
	name := e.MemberName(0)
	at := n.address(name)
	command := exec.Command(n.binary, "--name="+name, "--data-dir="+filepath.Join(n.folder, "data"),
		"--listen-client-urls=https://"+at+":2379", "--advertise-client-urls="+e.ClientURL(name), "--client-cert-auth",
		"--cert-file="+filepath.Join(n.folder, workloadsv1alpha1.KeyCertificate), "--key-file="+filepath.Join(n.folder, workloadsv1alpha1.KeyPrivateKey),
		"--trusted-ca-file="+filepath.Join(n.folder, workloadsv1alpha1.KeyCA),
		"--listen-peer-urls=http://"+at+":2380", "--initial-advertise-peer-urls=http://"+at+":2380", "--initial-cluster="+name+"=http://"+at+":2380")
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	config, err := signed(e.ClientSecretName()).Client()
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() map[string]decide.Answer {
		return live.Client{}.Look(t.Context(), []live.Address{{Name: name, URL: e.ClientURL(name), At: at + ":2379", TLS: config}}).Answers
	}).WithTimeout(time.Minute).Should(HaveKeyWithValue(name, HaveField("Leader", Not(BeEmpty()))))
}
