//go:build e2e && linux

package consumers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// A stage of an outage, as the slices of a Service tell it.
type stage int

const (
	// armed: the application is ready, the standby waits.
	armed stage = iota
	// outage: the application is not ready, the standby is not promoted.
	outage
	// promoted: the application is not ready, the standby is.
	promoted
	// both: the application is ready again, the standby not yet demoted.
	both
	// recovered: the application is ready, the standby waits again.
	recovered
	stages
)

var stageNames = [stages]string{"armed", "outage, standby", "outage, promoted", "both ready", "recovered"}

const (
	// none is every answer that is no server's.
	none = "none"
	// mixed is shop and page in turns.
	mixed = page + " " + shop
	// healthy is what a health check says.
	healthy = "healthy"
)

// Honouring a standby, needing its promotion, and getting nothing from either.
var (
	honours        = [stages]string{shop, page, page, mixed, shop}
	needsPromotion = [stages]string{shop, none, page, mixed, shop}
	neverAnswers   = [stages]string{shop, none, none, shop, shop}
)

// path is one way in which clients reach the application.
type path struct {
	name string
	// ask makes a request and says who answered.
	ask  func() string
	want [stages]string
	seen [stages]string
}

func TestWhoHonoursAStandbyAndWhoNeedsPromotion(t *testing.T) {
	w := newWorld(t)
	paths := w.paths()
	w.eachStage(func(s stage) {
		for _, p := range paths {
			p.settles(w, s)
		}
	})
	w.t.Logf("kube-proxy in %s mode:\n%s", mode, table(paths))
}

// eachStage leads the application through an outage.
func (w *world) eachStage(look func(stage)) {
	w.t.Helper()
	enter := [stages]func(){
		armed:     func() {},
		outage:    w.outage,
		promoted:  func() { w.publish(promotedConditions) },
		both:      w.recovery,
		recovered: func() { w.publish(standbyConditions) },
	}
	for s, begin := range enter {
		begin()
		look(stage(s))
	}
}

// settles waits until the answers to twenty requests at once are as wanted, and notes what was seen.
func (p *path) settles(w *world, s stage) {
	w.t.Helper()
	answers := func() string {
		p.seen[s] = together(p.ask)
		return p.seen[s]
	}
	w.Eventually(answers).Should(Equal(p.want[s]), "%s, stage %q", p.name, stageNames[s])
	if p.want[s] == none {
		// Not only in the moment before an answer comes.
		w.Consistently(answers).Should(Equal(none), "%s, stage %q", p.name, stageNames[s])
	}
}

// together asks twenty times at once, and names who answered.
func together(ask func() string) string {
	var asking sync.WaitGroup
	seen := make([]string, 20)
	for i := range seen {
		asking.Go(func() { seen[i], _, _ = strings.Cut(ask(), " ") })
	}
	asking.Wait()
	slices.Sort(seen)
	return strings.Join(slices.Compact(seen), " ")
}

// paths are all ways to the application, those first that honour a standby.
func (w *world) paths() []*path {
	w.t.Helper()
	inside := NewClient(nil)
	far, err := NewOutside(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { w.Expect(far.Close(w.ctx)).To(Succeed()) })
	outside := NewClient(far.Dial)

	var all []*path
	add := func(name string, want [stages]string, client *Client, url, host string) {
		all = append(all, &path{name: name, want: want, ask: func() string { return client.Ask(w.ctx, url, host) }})
	}
	plain := w.service("plain", node.Name, nodePort)
	add("ClusterIP", honours, inside, clusterIP(plain), "")
	add("NodePort, from outside", honours, outside, onNode(plain), "")
	add("internalTrafficPolicy: Local, standby on the node", honours, inside,
		clusterIP(w.service("internal-here", node.Name, internalLocal)), "")
	here := w.service("external-here", node.Name, externalLocal)
	add("externalTrafficPolicy: Local, standby on the node, from outside", honours, outside, onNode(here), "")
	there := w.service("external-there", elsewhere, externalLocal)
	add("externalTrafficPolicy: Local, standby on another node, from a Pod or node", honours, inside, onNode(there), "")

	for _, proxy := range w.proxies() {
		upstream := w.service("upstream-"+proxy.IngressClass, node.Name, annotated(proxy.ServiceAnnotations))
		add(proxy.Name+", configured to use the ClusterIP", honours, inside, proxy.URL, w.ingress(proxy, upstream))
		add(proxy.Name, needsPromotion, inside, proxy.URL, w.ingress(proxy, plain))
	}
	all = append(all, &path{name: "healthCheckNodePort of externalTrafficPolicy: Local",
		want: [stages]string{healthy, none, healthy, healthy, healthy}, ask: healthCheck(w, outside, here)})
	add("internalTrafficPolicy: Local, standby on another node", neverAnswers, inside,
		clusterIP(w.service("internal-there", elsewhere, internalLocal)), "")
	add("externalTrafficPolicy: Local, standby on another node, from outside", neverAnswers, outside, onNode(there), "")
	return all
}

func (w *world) proxies() []*Proxy {
	w.t.Helper()
	bin := os.Getenv(BinFolder)
	w.Expect(bin).NotTo(BeEmpty(), "%s must name the folder that test/consumers/build.sh prints", BinFolder)
	// Not the test's own folder: with its long name, the names of HAProxy's sockets would be too long.
	folder, err := os.MkdirTemp("", "consumers")
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { w.Expect(os.RemoveAll(folder)).To(Succeed()) })
	traefik, err := StartTraefik(w.ctx, bin, os.Getenv("KUBECONFIG"), folder)
	w.Expect(err).NotTo(HaveOccurred())
	w.uses(traefik)
	haproxy, err := StartHAProxy(w.ctx, bin, os.Getenv("KUBECONFIG"), folder, w.namespace,
		func(settings *corev1.ConfigMap) { w.create(settings) })
	w.Expect(err).NotTo(HaveOccurred())
	w.uses(haproxy)
	return []*Proxy{traefik, haproxy}
}

// healthCheck asks what a cloud's load balancer asks.
func healthCheck(w *world, client *Client, service *corev1.Service) func() string {
	url := urlOf(nodeAddress(), service.Spec.HealthCheckNodePort)
	return func() string {
		if client.Status(w.ctx, url) != http.StatusOK {
			return none
		}
		return healthy
	}
}

func nodePort(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeNodePort }

func internalLocal(service *corev1.Service) {
	service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
}

// externalLocal makes a Service of the type LoadBalancer, because only that has a health check port.
func externalLocal(service *corev1.Service) {
	service.Spec.Type = corev1.ServiceTypeLoadBalancer
	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

func annotated(annotations map[string]string) func(*corev1.Service) {
	return func(service *corev1.Service) { service.Annotations = annotations }
}

func clusterIP(service *corev1.Service) string { return urlOf(service.Spec.ClusterIP, 80) }

func onNode(service *corev1.Service) string {
	return urlOf(nodeAddress(), service.Spec.Ports[0].NodePort)
}

func urlOf(host string, port int32) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + "/"
}

// table is what was seen, in Markdown.
func table(paths []*path) string {
	var text strings.Builder
	text.WriteString("| Path |")
	for _, name := range stageNames {
		fmt.Fprintf(&text, " %s |", name)
	}
	text.WriteString("\n|---" + strings.Repeat("|---", int(stages)) + "|\n")
	for _, p := range paths {
		fmt.Fprintf(&text, "| %s | %s |\n", p.name, strings.Join(p.seen[:], " | "))
	}
	return text.String()
}
