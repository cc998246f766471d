package observe_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/contract/listener"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
}

// Several controllers observe a Service: if observing changed what is remembered, it
// would change what another one decides.
func TestObservingChangesNothingThatIsRemembered(t *testing.T) {
	nameTaken := decide.Attempt{Reason: criticalv2.ReasonNameTaken}
	fallbackName := (&decide.Snapshot{Service: service()}).PodName()
	theirs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: fallbackName, UID: "theirs"}}

	t.Run("the name is free", func(t *testing.T) {
		g := NewWithT(t)
		observer, all := observetest.Of(t, service())
		observetest.Ask(&observer, all)
		observer.Memory.Attempts.Set(web, nameTaken)
		snap, err := observer.Observe(t.Context(), web)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(snap.Attempt).To(BeNil(), "the answer is out of date")
		g.Expect(observer.Memory.Attempts.Get(web)).To(Equal(&nameTaken))
	})

	t.Run("another Pod has the name", func(t *testing.T) {
		g := NewWithT(t)
		observer, all := observetest.Of(t, service(), theirs)
		observetest.Ask(&observer, all)
		observer.Memory.Attempts.Set(web, nameTaken)
		snap, err := observer.Observe(t.Context(), web)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(snap.Attempt).To(Equal(&nameTaken))
		g.Expect(snap.NameConflict.UID).To(Equal(theirs.UID))
		g.Expect(observer.Memory.Lookups.Get(web)).To(BeNil())
	})
}

func critical(fallback criticalv2.Fallback) *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "storefront"},
		Spec: criticalv2.CriticalServiceSpec{
			ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}, ProtectionSpec: criticalv2.ProtectionSpec{Fallback: fallback},
		},
	}
}

func front() *corev1.Service {
	front := service()
	front.Labels = map[string]string{"tier": "front"}
	return front
}

func listeners(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: criticalv2.ResponderName, Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderListeners},
		},
		Data: map[string]string{listener.Key: `{"listeners":[]}`},
	}
}

func maintenance() *criticalv2.Maintenance {
	return &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "planned"}, Spec: criticalv2.MaintenanceSpec{Services: []string{web.Name}},
	}
}

func published(kind string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: web.Namespace, Name: web.Name + "-standby-ipv4", Labels: map[string]string{
			discoveryv1.LabelServiceName: web.Name, discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: kind,
		},
	}}
}

// Any user of a namespace can write a table. It must cost nothing where no page may
// answer.
func TestATableIsParsedOnlyWhereAPageMayAnswer(t *testing.T) {
	backup := criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "spare"}}
	for name, c := range map[string]struct {
		world  []client.Object
		parsed bool
	}{
		"no CriticalService":                    {[]client.Object{front()}, false},
		"no CriticalService matches":            {[]client.Object{service(), critical(criticalv2.Fallback{})}, false},
		"a backup Service answers":              {[]client.Object{front(), critical(backup)}, false},
		"a page answers during a maintenance":   {[]client.Object{front(), critical(backup), maintenance()}, true},
		"a page is still published":             {[]client.Object{front(), critical(backup), published(criticalv2.FallbackKindPage)}, true},
		"a page answers":                        {[]client.Object{front(), critical(criticalv2.Fallback{})}, true},
		"a page may stand in for a PodTemplate": {[]client.Object{front(), critical(criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{}})}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			observer, _ := observetest.Of(t, append(c.world, listeners(web.Namespace))...)
			_, err := observer.Observe(t.Context(), web)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(observer.Memory.Tables.Get(web.Namespace) != nil).To(Equal(c.parsed))
		})
	}
}

// Any user of a namespace can announce as much as fits into it.
func TestOnlySoManyMaintenancesOfAServiceCount(t *testing.T) {
	g := NewWithT(t)
	world := []client.Object{front(), critical(criticalv2.Fallback{})}
	for i := range 100 {
		announced := maintenance()
		announced.Name = fmt.Sprintf("%02d", 99-i)
		other := maintenance()
		other.Name, other.Spec.Services = "other-"+announced.Name, []string{"other"}
		ended := maintenance()
		ended.Name, ended.Status.Ended = "0-"+announced.Name, new(metav1.Now())
		world = append(world, announced, other, ended)
	}
	observer, _ := observetest.Of(t, world...)
	snap, err := observer.Observe(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snap.Maintenances).To(HaveLen(64))
	for i := range snap.Maintenances {
		g.Expect(snap.Maintenances[i].Name).To(Equal(fmt.Sprintf("%02d", i)), "the first by name, whatever their order")
	}
}

func TestATableIsForgottenWithItsConfigMap(t *testing.T) {
	g := NewWithT(t)
	table := listeners(web.Namespace)
	observer, cached := observetest.Of(t, front(), critical(criticalv2.Fallback{}), table)
	observer.Memory.Tables.Set("gone", memory.Table{})
	_, err := observer.Observe(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(observer.Memory.Tables.Keys()).To(ConsistOf(web.Namespace), "those of namespaces that are gone")

	g.Expect(cached.Delete(t.Context(), table)).To(Succeed())
	_, err = observer.Observe(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(observer.Memory.Tables.Keys()).To(BeEmpty())
}

// Its EndpointSlices, which may list any Pod, go later.
func TestNothingIsLookedUpForAServiceThatIsGone(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t)
	gone := decide.Snapshot{Slices: []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "a"}}}}}}
	g.Expect(observer.NeedsLookup(web, &gone)).To(BeFalse())
}

func TestALookAtCachesUsesWhatIsRemembered(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t, service())
	observer.Memory.Lookups.Set(web, memory.LookupOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "theirs"}}))
	snap, err := observer.ObserveCached(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snap.NameConflict.UID).To(Equal(types.UID("theirs")))
}

// A thousand Services that leave protection at one moment ask for the CriticalServices
// once, and for themselves only where one of these may match them.
func TestAWithdrawalReadsTheServiceOnlyWhereItMayBeProtected(t *testing.T) {
	here, elsewhere, deleted := critical(criticalv2.Fallback{}), critical(criticalv2.Fallback{}), critical(criticalv2.Fallback{})
	here.Spec.Namespaces, elsewhere.Spec.Namespaces = []string{web.Namespace}, []string{"other"}
	deleted.DeletionTimestamp, deleted.Finalizers = new(metav1.Now()), []string{"test/keep"}
	for name, c := range map[string]struct {
		policies []client.Object
		read     bool
	}{
		"there is no CriticalService":  {nil, false},
		"all are for other namespaces": {[]client.Object{elsewhere}, false},
		"all are being deleted":        {[]client.Object{deleted}, false},
		"one is for all namespaces":    {[]client.Object{critical(criticalv2.Fallback{})}, true},
		"one is for this namespace":    {[]client.Object{here}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			observer, _ := observetest.Of(t, service())
			_, live := observetest.Of(t, append(c.policies, front())...)
			observetest.Ask(&observer, live)
			snap, err := observer.ObserveWithdrawal(t.Context(), web)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(snap.IsGoverned()).To(Equal(c.read), "the Service matches as it is now, and not as the cache has it")
		})
	}
}

// Of the fallback Pods of other Services there may be thousands.
func TestOnlyThePodsConcernedAreReadLive(t *testing.T) {
	g := NewWithT(t)
	pod := func(name, fallbackFor string, ip string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: web.Namespace, Name: name, UID: types.UID(name), Labels: map[string]string{criticalv2.LabelFallbackFor: fallbackFor},
				Annotations: map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned},
			},
			Status: corev1.PodStatus{PodIP: ip},
		}
	}
	observer, _ := observetest.Of(t, front(), critical(criticalv2.Fallback{}), pod("own", web.Name, "cached"), pod("gone", web.Name, "cached"), pod("other", "api", "cached"))
	_, live := observetest.Of(t, front(), critical(criticalv2.Fallback{}), pod("own", web.Name, "live"), pod("other", "api", "live"))
	observetest.Ask(&observer, live)
	snap, err := observer.ObserveLive(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snap.Pods).To(HaveExactElements(HaveField("Status.PodIP", "live")), "the Service's own, as they are")
	g.Expect(snap.OtherFallbacks).To(HaveExactElements(HaveField("Status.PodIP", "cached")))
}

// A Service that grows too large is left. Seen as protected by a live read and not by the
// cache, it would be neither protected nor left.
func TestAServiceThatIsTooLargeIsSoInEachView(t *testing.T) {
	g := NewWithT(t)
	large := front()
	for i := range 1000 {
		large.Labels[fmt.Sprintf("example.com/label-%d", i)] = "x"
	}
	observer, _ := observetest.Of(t, service(), critical(criticalv2.Fallback{}))
	_, live := observetest.Of(t, large, critical(criticalv2.Fallback{}))
	observetest.Ask(&observer, live)
	snap, err := observer.ObserveWithdrawal(t.Context(), web)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(snap.IsGoverned()).To(BeFalse())
}
