package decide_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/protection"
)

// world is a little cluster around one Service. Its neighbours act when they are
// chosen to, in any order, and the operator sees each kind as it was when that
// kind was last delivered to it.
type world struct {
	now   time.Time
	truth decide.Snapshot
	// pods are all the Pods there are, by name, but for the responder's.
	pods map[string]*corev1.Pod
	// standby are the operator's slices, by name.
	standby map[string]*discoveryv1.EndpointSlice
	// seen is what the operator's caches hold.
	seen decide.Snapshot
	// deny makes the API server refuse fallback Pods.
	deny bool
	// uids counts the Pods that ever were, so that each has its own UID.
	uids int
	log  []string
}

func newWorld() *world {
	w := &world{
		now: now, truth: snapshot(responder(), families(corev1.IPv4Protocol)), pods: map[string]*corev1.Pod{}, standby: map[string]*discoveryv1.EndpointSlice{},
	}
	w.publish()
	w.deliverAll()
	return w
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// The neighbours.

func (w *world) addReal(name string) {
	if w.pods[name] == nil {
		w.put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(w.truth.Service.Spec.Selector)}})
	}
}

func (w *world) put(pod *corev1.Pod) {
	w.uids++
	pod.UID, pod.CreationTimestamp = types.UID(fmt.Sprintf("%s-%d", pod.Name, w.uids)), metav1.NewTime(w.now)
	w.moved(pod)
	w.pods[pod.Name] = pod
}

// change lets the kubelet, or a user, change a Pod that exists.
func (w *world) change(name string, f func(*corev1.Pod)) {
	if pod := w.pods[name]; pod != nil {
		f(pod)
	}
}

// publish is the endpoint slice controller at work.
func (w *world) publish() {
	part := slice()
	part.Ports = nil
	for _, port := range w.truth.Service.Spec.Ports {
		part.Ports = append(part.Ports, discoveryv1.EndpointPort{Name: new(port.Name), Port: new(port.Port)})
	}
	selector := labels.SelectorFromSet(w.truth.Service.Spec.Selector)
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		if !selector.Matches(labels.Set(pod.Labels)) || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		isReady := len(pod.Status.Conditions) > 0 && pod.DeletionTimestamp == nil
		entry := endpoint(name, &isReady)
		entry.TargetRef.UID = pod.UID
		part.Endpoints = append(part.Endpoints, entry)
	}
	w.truth.Slices = []discoveryv1.EndpointSlice{part}
}

// The watches.

func (w *world) deliverSlices()      { w.seen.Slices = copied(w.truth).Slices }
func (w *world) deliverPods()        { w.seen.Pods = w.fallbacks() }
func (w *world) deliverService()     { w.seen.Service = w.truth.Service.DeepCopy() }
func (w *world) deliverTemplate()    { w.seen.Template, w.seen.Unread = w.truth.Template.DeepCopy(), nil }
func (w *world) deliverPolicies()    { w.seen.Policies = copied(w.truth).Policies }
func (w *world) deliverMaintenance() { w.seen.Maintenances = copied(w.truth).Maintenances }
func (w *world) deliverStandby()     { w.seen.Standby = w.slices() }
func (w *world) deliverResponder() {
	w.seen.Responder = copied(w.truth).Responder
	w.seen.OtherFallbacks = w.otherFallbacks()
}

func (w *world) deliverAll() {
	w.seen.Settings = w.truth.Settings
	w.deliverSlices()
	w.deliverPods()
	w.deliverService()
	w.deliverTemplate()
	w.deliverPolicies()
	w.deliverStandby()
	w.deliverResponder()
	w.deliverMaintenance()
}

func (w *world) slices() []discoveryv1.EndpointSlice {
	var list []discoveryv1.EndpointSlice
	for _, name := range slices.Sorted(maps.Keys(w.standby)) {
		list = append(list, *w.standby[name].DeepCopy())
	}
	return list
}

func (w *world) otherFallbacks() []*corev1.Pod {
	var others []*corev1.Pod
	for _, pod := range w.truth.Responder.Pods {
		others = append(others, pod.DeepCopy())
	}
	return others
}

// respond makes the responder's Pods again, as the changes have them.
func (w *world) respond(changes ...func(*corev1.Pod)) {
	responder(changes...)(&w.truth)
	for i := range w.truth.Responder.Pods {
		w.uids++
		w.truth.Responder.Pods[i].UID = types.UID(fmt.Sprintf("responder-%d", w.uids))
	}
	w.truth.OtherFallbacks = nil
}

func (w *world) fallbacks() []corev1.Pod {
	var list []corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if protection.IsFallback(w.pods[name]) {
			list = append(list, *w.pods[name].DeepCopy())
		}
	}
	return list
}

// live is what the API server would say now.
func (w *world) live() decide.Snapshot {
	s := copied(w.truth)
	s.Pods, s.Now, s.Attempt = w.fallbacks(), w.now, w.seen.Attempt
	s.Standby, s.OtherFallbacks = w.slices(), w.otherFallbacks()
	return s
}

// The operator.

// reconcile observes what was delivered, decides and applies, as the service
// controller does: what takes away is asked of the API server first.
func (w *world) reconcile() decide.Plan {
	s := copied(w.seen)
	s.Now = w.now
	plan := decide.Decide(s)
	if text := story(plan); len(w.log) == 0 || w.log[len(w.log)-1] != "  operator: "+text {
		w.note("  operator: %s", text)
	}
	for _, slice := range plan.Publish {
		w.write(slice)
	}
	for _, pod := range plan.Rebind {
		if current := w.pods[pod.Name]; current != nil && current.UID == pod.UID {
			w.pods[pod.Name] = pod.DeepCopy()
		}
	}
	if plan.Create != nil {
		w.answer(plan.Create, true)
	}
	if plan.DryRun != nil {
		w.answer(plan.DryRun, false)
	}
	w.withdraw(plan)
	return plan
}

// write stores a slice, unless it has changed since the operator saw it.
func (w *world) write(slice *discoveryv1.EndpointSlice) {
	version := ""
	if current := w.standby[slice.Name]; current != nil {
		version = current.ResourceVersion
	}
	if slice.ResourceVersion != version {
		return
	}
	w.uids++
	stored := slice.DeepCopy()
	stored.ResourceVersion = fmt.Sprint(w.uids)
	if stored.UID == "" {
		stored.UID = types.UID(fmt.Sprintf("slice-%d", w.uids))
	}
	w.standby[slice.Name] = stored
}

func (w *world) withdraw(plan decide.Plan) {
	live := decide.Decide(w.live())
	for _, planned := range plan.Retract {
		for _, slice := range live.Retract {
			if slice.UID == planned.UID {
				w.write(slice)
			}
		}
	}
	for _, planned := range plan.Unpublish {
		for _, slice := range live.Unpublish {
			if slice.UID == planned.UID {
				delete(w.standby, slice.Name)
			}
		}
	}
	for _, planned := range plan.Release {
		for _, removal := range live.Release {
			if pod := removal.Pod; pod.UID == planned.Pod.UID {
				w.pods[pod.Name] = pod.DeepCopy()
			}
		}
	}
	for _, planned := range plan.Delete {
		for _, deletion := range live.Delete {
			if deletion.Pod.UID == planned.Pod.UID {
				w.change(planned.Pod.Name, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: w.now} })
			}
		}
	}
}

func (w *world) answer(pod *corev1.Pod, create bool) {
	attempt := &decide.Attempt{Hash: render.Hash(pod), At: w.now}
	switch {
	case w.pods[pod.Name] != nil:
		attempt = nil // The next delivery tells; a live look says it is ours.
	case w.deny:
		attempt.Reason, attempt.Refusals = criticalv2.ReasonCreateDenied, 6
	case create:
		w.put(pod.DeepCopy())
	}
	w.seen.Attempt = attempt
}

// step lets one randomly chosen neighbour act.
func (w *world) step(random *rand.Rand) {
	w.now = w.now.Add(time.Duration(random.IntN(8000)) * time.Millisecond)
	acts := []struct {
		text string
		do   func()
	}{
		{"a real Pod is made", func() { w.addReal("shop-1") }},
		{"a real Pod gets ready", func() { w.change("shop-1", readyPod) }},
		{"a real Pod loses readiness", func() { w.change("shop-1", func(p *corev1.Pod) { p.Status.Conditions = nil }) }},
		{"the real Pods are gone", func() { delete(w.pods, "shop-1") }},
		{"the fallback gets ready", func() { w.change(fallbackName, readyPod) }},
		{"the fallback is evicted", func() { w.change(fallbackName, evicted) }},
		{"a user deletes the fallback", func() { w.change(fallbackName, terminating) }},
		{"a Pod that is ending is gone", w.reap},
		{"the selector changes", func() {
			w.truth.Service.Spec.Selector = map[string]string{"app": []string{"shop", "store"}[random.IntN(2)]}
		}},
		{"the template changes", func() {
			w.truth.Template.Template.Spec.Containers[0].Image = fmt.Sprintf("page:%d", random.IntN(3))
		}},
		{"the policy goes", func() { w.truth.Policies = nil }},
		{"the policy comes", func() { w.truth.Policies = []criticalv2.Policy{policy("a")} }},
		{"the policy asks for a page", func() { w.ask(toPage()) }},
		{"the policy asks for a Pod on demand", func() { w.ask(toPod(criticalv2.ActivationOnDemand)) }},
		{"the policy asks for a Pod that stands by", func() { w.ask(toPod(criticalv2.ActivationStandby)) }},
		{"the policy asks for selector labels", func() { w.ask(fallsBackTo(byLabels())) }},
		{"the policy asks for delays", func() { w.ask(delays(5*time.Second, 5*time.Second)) }},
		{"the policy asks for no delays", func() { w.ask(delays(0, 0)) }},
		{"the responder is ready", func() { w.respond(readyPod, readyPod) }},
		{"a Pod of the responder loses readiness", func() { w.changeResponder(func(p *corev1.Pod) { p.Status.Conditions = nil }) }},
		{"a Pod of the responder is ending", func() { w.changeResponder(terminating) }},
		{"a Pod of the responder gets another address", func() { w.changeResponder(w.moved) }},
		{"the fallback gets another address", func() { w.change(fallbackName, w.moved) }},
		{"the garbage collector collects", w.collect},
		{"the Service gets a second port", func() {
			w.truth.Service.Spec.Ports = append(w.truth.Service.Spec.Ports[:1:1], corev1.ServicePort{Name: "admin", Port: 81})
		}},
		{"the Service has one port", func() { w.truth.Service.Spec.Ports = w.truth.Service.Spec.Ports[:1:1] }},
		{"a port is renamed", func() { w.renames(random) }},
		{"the table follows", w.follow},
		{"the Service gets a second family", func() {
			w.truth.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		}},
		{"the Service has one family", func() { w.truth.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol} }},
		{"the responder is gone", func() { w.respond() }},
		{"the responder is delivered", w.deliverResponder},
		{"the responder is delivered", w.deliverResponder},
		{"the standby is delivered", w.deliverStandby},
		{"the standby is delivered", w.deliverStandby},
		{"the quota is full", func() { w.deny = true }},
		{"the quota has room", func() { w.deny = false }},
		{"a maintenance is announced", func() { w.announce(saying("We move house.")) }},
		{"a maintenance is announced for a minute", func() {
			w.announce(until(w.now.Sub(now) + time.Minute))
		}},
		{"the maintenance is over", func() { w.truth.Maintenances = nil }},
		{"the maintenance is delivered", w.deliverMaintenance},
		{"slices are published", w.publish},
		{"slices are published", w.publish},
		{"slices are delivered", w.deliverSlices},
		{"slices are delivered", w.deliverSlices},
		{"Pods are delivered", w.deliverPods},
		{"Pods are delivered", w.deliverPods},
		{"the Service is delivered", w.deliverService},
		{"the template is delivered", w.deliverTemplate},
		{"policies are delivered", w.deliverPolicies},
		{"the operator restarts", func() { w.deliverAll(); w.seen.Attempt = nil; templateUnread(&w.seen) }},
	}
	act := acts[random.IntN(len(acts))]
	w.note("%s", act.text)
	act.do()
}

// announce replaces the maintenance that is announced.
func (w *world) announce(changes ...func(*criticalv2.Maintenance)) {
	w.truth.Maintenances = nil
	maintained("plan", changes...)(&w.truth)
}

// ask changes the policy, if there is one.
func (w *world) ask(option option) {
	if len(w.truth.Policies) > 0 {
		option(&w.truth)
	}
}

func (w *world) changeResponder(change func(*corev1.Pod)) {
	if len(w.truth.Responder.Pods) > 0 {
		w.truth.Responder = copied(w.truth).Responder
		change(&w.truth.Responder.Pods[0])
	}
}

func (w *world) reap() {
	for name, pod := range w.pods {
		if pod.DeletionTimestamp != nil {
			delete(w.pods, name)
		}
	}
}

// collect is the garbage collector at work: a slice goes with its Pod.
func (w *world) collect() {
	for name, slice := range w.standby {
		if uid := protection.StandsFor(slice); uid != "" && !w.isPod(uid) {
			delete(w.standby, name)
		}
	}
}

// isPod reports whether a Pod of ours exists.
func (w *world) isPod(uid types.UID) bool {
	for _, pod := range slices.Concat(w.fallbacks(), w.truth.Responder.Pods) {
		if pod.UID == uid {
			return true
		}
	}
	return false
}

// requests is how many slices belong to the CriticalService.
func (w *world) requests() int {
	n := 0
	for _, slice := range w.standby {
		if protection.StandsFor(slice) == "" {
			n++
		}
	}
	return n
}

// moved gives a Pod another address, as a reboot of its node does.
func (w *world) moved(p *corev1.Pod) {
	w.uids++
	p.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.3.%d.%d", w.uids/250, w.uids%250+1)}, {IP: fmt.Sprintf("fd03::%x", w.uids)}}
}

// renames gives the last port of the Service another name, and the responder the
// listener for it only if the table follows.
func (w *world) renames(random *rand.Rand) {
	ports := w.truth.Service.Spec.Ports
	ports[len(ports)-1].Name = []string{"http", "web", "metrics"}[random.IntN(3)]
	if len(ports) == 2 && ports[0].Name == ports[1].Name {
		ports[1].Name = "other"
	}
}

// follow gives every port of the Service a listener, as the responder's controller does.
func (w *world) follow() {
	w.truth.Responder = copied(w.truth).Responder
	for _, port := range w.truth.Service.Spec.Ports {
		if !slices.ContainsFunc(w.truth.Responder.Listeners, func(l listener.Listener) bool { return l.PortName == port.Name }) {
			w.truth.Responder.Listeners = append(w.truth.Responder.Listeners, listener.Listener{
				Port: w.truth.Responder.Listeners[len(w.truth.Responder.Listeners)-1].Port + 1, Service: "shop", PortName: port.Name, ServicePort: port.Port,
			})
		}
	}
}

// settle lets everybody finish: nothing new happens, and all that happened is
// seen. It tells how many rounds the operator needed, or -1 if it never rests.
func (w *world) settle() int {
	w.deny = false
	w.respond(readyPod)
	w.follow()
	for round := range 16 {
		w.reap()
		w.collect()
		w.now = w.now.Add(time.Minute)
		w.change(fallbackName, readyPod)
		w.publish()
		w.deliverAll()
		if plan := w.reconcile(); plan.IsEmpty() && !w.ending() {
			return round
		}
	}
	return -1
}

func (w *world) ending() bool {
	for _, pod := range w.pods {
		if pod.DeletionTimestamp != nil {
			return true
		}
	}
	return false
}
