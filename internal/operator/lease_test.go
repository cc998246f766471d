package operator_test

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
)

// longAway is longer than a lease lasts and than its holder tries to renew it, both
// together.
const longAway = 12 * time.Second

// lease is the one of the operator, or an empty one.
func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "critical-service-operator"}}
	w.Expect(client.IgnoreNotFound(admin.Get(w.t.Context(), client.ObjectKeyFromObject(lease), lease))).To(Succeed())
	return lease
}

func (w *world) holder() string { return ptr.Deref(w.lease().Spec.HolderIdentity, "") }

// renewed is how long ago the lease was renewed.
func (w *world) renewed() time.Duration { return time.Since(w.lease().Spec.RenewTime.Time) }

// elects starts an operator that leads, as a Pod, and comes to the API server by a
// door.
func (w *world) elects(pod string, variables ...string) (p *process.Process, closeDoor func(), door string) {
	w.t.Helper()
	lease, ctx := w.lease(), context.WithoutCancel(w.t.Context())
	w.t.Cleanup(func() { w.Expect(client.IgnoreNotFound(admin.Delete(ctx, lease))).To(Succeed()) })
	door = ports.Free(w.t)
	closeDoor = openDoor(w, door, w.server())
	config, err := clientcmd.LoadFromFile(kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + door
	}
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	p = w.start(append([]string{"LEADER_ELECT=true", "POD_NAME=" + pod, "RESPONDER_IMAGE=example.com/responder:1", "KUBECONFIG=" + file}, variables...)...)
	w.leads(pod)
	return p, closeDoor, door
}

// leads waits until an operator leads and knows it: what made it the holder may not have been answered before it has renewed.
func (w *world) leads(pod string) {
	w.t.Helper()
	w.Eventually(w.holder).Should(Equal(pod))
	w.Eventually(func() bool { return w.lease().Spec.RenewTime.After(w.lease().Spec.AcquireTime.Time) }).Should(BeTrue())
}

// server is the address of the API server.
func (w *world) server() string {
	w.t.Helper()
	address, _, err := rest.DefaultServerUrlFor(adminConfig)
	w.Expect(err).NotTo(HaveOccurred())
	return address.Host
}

// silent takes connections to an address and says nothing, until it is closed.
func silent(w *world, address string) (end func()) {
	w.t.Helper()
	listener, err := net.Listen("tcp", address)
	w.Expect(err).NotTo(HaveOccurred())
	go func() {
		var held []net.Conn
		for {
			connection, err := listener.Accept()
			if err != nil {
				break
			}
			held = append(held, connection)
		}
		for _, connection := range held {
			_ = connection.Close() // Its other end may have given up.
		}
	}()
	return func() { _ = listener.Close() }
}

// With one replica no other one can take over, and a process that ended would be
// restarted more and more rarely.
func TestALeaderOutlivesAnAPIServerThatIsAway(t *testing.T) {
	for how, begin := range map[string]func(*world, string) func(){
		"and refuses connections": func(*world, string) func() { return func() {} },
		"and says nothing":        silent,
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.installNew()
			p, closeDoor, door := w.elects("operator-1")
			before := w.lease()
			w.Eventually(p.Ready).Should(Succeed(), "what it leads with is read")

			closeDoor()
			end := begin(w, door)
			w.Eventually(w.renewed).Should(BeNumerically(">", longAway))
			w.Expect(p.Ended).NotTo(Receive(), "it waits")
			w.Expect(p.Live()).To(Succeed(), "the kubelet restarts nothing")
			w.Expect(p.Ready()).To(Succeed())
			w.Expect(p.Log.String()).To(ContainSubstring("leading on"))

			end()
			openDoor(w, door, w.server())
			w.Eventually(w.renewed).Should(BeNumerically("<", longAway))
			w.Expect(w.lease().Spec.LeaseTransitions).To(Equal(before.Spec.LeaseTransitions))
			w.Expect(w.holder()).To(Equal("operator-1"))
			w.Expect(admin.Create(t.Context(), selecting("later", "frontend"))).To(Succeed())
			w.Eventually(w.observed("later")).Should(BeTrue(), "the controllers go on")
			p.Die() // A stop would wait for watches that have not come back yet.
		})
	}
}

// takeLease writes another holder into the lease.
func (w *world) takeLease(holder string, seconds int32) {
	w.t.Helper()
	w.Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease := w.lease()
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, &seconds
		lease.Spec.RenewTime = new(metav1.NowMicro())
		return admin.Update(w.t.Context(), lease)
	})).To(Succeed())
}

// A process that ended would be restarted at once the first time, and later only after a back-off
// (CrashLoopBackOff).
func TestALeaderThatIsFollowedWaitsInItsOwnProcess(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	p, closeDoor, door := w.elects("operator-1")
	for range 2 {
		closeDoor()
		w.Eventually(p.Log.String).Should(ContainSubstring("leading on"))
		w.takeLease("operator-2", 3600)
		p.Log.Clear()
		closeDoor = openDoor(w, door, w.server())
		w.Eventually(p.Log.String).Should(ContainSubstring("starting again in this process"))
		w.Eventually(p.Ready).Should(Succeed(), "it is ready to follow")
		w.Expect(w.holder()).To(Equal("operator-2"), "nothing is taken from the one that leads")

		w.takeLease("", 1) // As a leader that stops.
		w.leads("operator-1")
		w.Expect(p.Ended).NotTo(Receive(), "its container was never restarted")
	}
}

// It comes back with work to do, before it knows that it is no leader any more.
func TestAFormerLeaderWritesNothingBesideTheNext(t *testing.T) {
	for how, lost := range map[string]struct {
		begin func(w *world, p *process.Process, closeDoor func())
		end   func(w *world, p *process.Process, openDoor func())
	}{
		"it was frozen": {
			begin: func(w *world, p *process.Process, _ func()) { w.Expect(p.Kill(syscall.SIGSTOP)).To(Succeed()) },
			end:   func(w *world, p *process.Process, _ func()) { w.Expect(p.Kill(syscall.SIGCONT)).To(Succeed()) },
		},
		"it was cut off": {
			begin: func(_ *world, _ *process.Process, closeDoor func()) { closeDoor() },
			end:   func(_ *world, _ *process.Process, openDoor func()) { openDoor() },
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.installNew()
			config, asked := w.eavesdrop()
			between, door := w.moveTo(config, ports.Free(t))
			closeDoor := openDoor(w, door, between)
			p, _, _ := w.elects("operator-1", "KUBECONFIG="+config)
			w.Expect(admin.Create(t.Context(), selecting("earlier", "frontend"))).To(Succeed())
			w.Eventually(w.observed("earlier")).Should(BeTrue())
			w.Expect(asked()).To(ContainElement(MatchRegexp("^(POST|PUT|PATCH|DELETE) .*/criticalservices/earlier")), "what it writes is overheard")

			lost.begin(w, p, closeDoor)
			w.Eventually(w.renewed).Should(BeNumerically(">", longAway))
			w.takeLease("operator-2", 3600)
			w.Expect(admin.Create(t.Context(), selecting("later", "frontend"))).To(Succeed())
			before := len(asked())
			lost.end(w, p, func() { openDoor(w, door, between) })
			w.Eventually(p.Log.String).Should(ContainSubstring("starting again in this process"))
			w.Eventually(p.Ready).Should(Succeed())
			// It may say in an event that it lost the Lease, asks who may read its metrics, and keeps the API server pointed at
			// its webhook, as each replica does.
			w.Expect(asked()[before:]).NotTo(ContainElement(And(
				MatchRegexp("^(POST|PUT|PATCH|DELETE) "),
				Not(MatchRegexp("/(leases|events|subjectaccessreviews|selfsubjectaccessreviews|tokenreviews)(/|$)")),
				Not(MatchRegexp("^PATCH .*/(customresourcedefinitions/criticalservices.mycrd.com|validatingwebhookconfigurations/critical-service-webhook)$")))))
		})
	}
}

// moveTo lets a kubeconfig name another address, and returns that and the one that it named.
func (w *world) moveTo(file, address string) (before, after string) {
	w.t.Helper()
	config, err := clientcmd.LoadFromFile(file)
	w.Expect(err).NotTo(HaveOccurred())
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		w.Expect(err).NotTo(HaveOccurred())
		before, server.Host = server.Host, address
		cluster.Server = server.String()
	}
	w.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	return before, address
}

// A container that is restarted is in the same Pod, and the process before it has
// ended. It need not wait for a lease that is its own.
func TestARestartedContainerLeadsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.installNew()
	first, _, _ := w.elects("operator-1")
	w.Expect(first.Kill(syscall.SIGKILL)).To(Succeed())
	w.Eventually(first.Ended).Should(Receive(HaveOccurred()))
	first.Kill = nil
	w.takeLease("operator-1", 3600)
	before := w.lease()

	w.start("LEADER_ELECT=true", "POD_NAME=operator-1", "RESPONDER_IMAGE=example.com/responder:1")
	w.Eventually(func() bool { return before.Spec.RenewTime.Before(w.lease().Spec.RenewTime) }).Should(BeTrue(),
		"a lease of an hour is no matter")
	w.Expect(w.holder()).To(Equal("operator-1"))
	w.Expect(w.lease().Spec.LeaseTransitions).To(Equal(before.Spec.LeaseTransitions))
}
