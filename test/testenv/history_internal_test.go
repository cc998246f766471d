package testenv

import (
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

var lawsOfTest = Laws{
	Manager:   "operator",
	Writes:    map[string][]string{"Pod": {"status", "metadata.annotations"}, "Maintenance": {Deletion}, "CriticalService": {"status"}},
	Kept:      []string{"Secret"},
	Untouched: func(object metav1.Object) bool { return object.GetName() == "theirs" },
}

func revisionOf(kind string, object client.Object) Revision {
	return Revision{watch.Added, kind, object}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(name), Generation: 1}
}

func made(name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	meta := named(name)
	meta.Labels, meta.OwnerReferences = map[string]string{"app.kubernetes.io/managed-by": "operator"}, owners
	return meta
}

func TestFieldsThatTheOperatorMayNotWriteAreFound(t *testing.T) {
	pod := func(meta metav1.ObjectMeta, manager, subresource, fields string) Revision {
		meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}}
		return revisionOf("Pod", &corev1.Pod{ObjectMeta: meta})
	}
	for name, c := range map[string]struct {
		revisions []Revision
		found     []string
	}{
		"others may write all":                     {[]Revision{pod(named("web"), "kubelet", "", `{"f:spec":{"f:nodeName":{}}}`)}, nil},
		"it may write what it has made":            {[]Revision{pod(made("web"), "operator", "", `{"f:spec":{"f:nodeName":{}}}`)}, nil},
		"it may write a subresource that is named": {[]Revision{pod(named("web"), "operator", "status", `{"f:status":{"f:conditions":{}}}`)}, nil},
		"it may write a field that is named":       {[]Revision{pod(named("web"), "operator", "", `{"f:metadata":{"f:annotations":{".":{},"f:a":{}}}}`)}, nil},
		"it may not write another one": {
			[]Revision{pod(named("web"), "operator", "", `{"f:metadata":{"f:annotations":{},"f:labels":{}}}`)},
			[]string{`Pod "web" is not the operator's, which wrote its metadata.labels`},
		},
		"it may not write another subresource": {
			[]Revision{pod(named("web"), "operator", "scale", `{}`)}, []string{`Pod "web" is not the operator's, which wrote its scale`},
		},
		"it may write nothing of an object that is not to be touched": {
			[]Revision{pod(named("theirs"), "operator", "status", `{}`)}, []string{`Pod "theirs" is not the operator's, which wrote its status`},
		},
		"it may not write what is named for another kind": {
			[]Revision{revisionOf("Service", pod(named("web"), "operator", "status", `{}`).Object)},
			[]string{`Service "web" is not the operator's, which wrote its status`},
		},
		"a mark that it sets makes nothing its own": {
			[]Revision{pod(named("web"), "kubectl", "", `{"f:spec":{}}`), pod(made("web"), "operator", "", `{"f:spec":{"f:nodeName":{}}}`)},
			[]string{`Pod "web" is not the operator's, which wrote its spec.nodeName`},
		},
		"a mark that a user takes off makes it no one else's": {
			[]Revision{pod(made("web"), "operator", "", `{"f:spec":{"f:nodeName":{}}}`), pod(named("web"), "operator", "", `{"f:spec":{"f:nodeName":{}}}`)}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(foreignFields(lawsOfTest, c.revisions)).To(Equal(c.found))
		})
	}
}

func TestRequestsForWhatIsForeignAreFound(t *testing.T) {
	const core = "/api/v1/namespaces/"
	users := metav1.ObjectMeta{Name: "fallback", UID: "users"}
	revisions := []Revision{revisionOf("Pod", &corev1.Pod{ObjectMeta: made("fallback")}), revisionOf("Pod", &corev1.Pod{ObjectMeta: named("real")}),
		revisionOf("Pod", &corev1.Pod{ObjectMeta: users}),
		revisionOf("ConfigMap", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "real", UID: "2", Labels: made("").Labels}}),
		revisionOf("Maintenance", &criticalv2.Maintenance{ObjectMeta: named("night")}),
		revisionOf("CriticalService", &criticalv2.CriticalService{ObjectMeta: named("a-shop")})}
	for name, c := range map[string]struct {
		request Request
		times   int
	}{
		"a read of another namespace":                      {Request{Method: http.MethodGet, Path: core + "bank/pods/real"}, 0},
		"a dry run in another namespace":                   {Request{Method: http.MethodPost, Path: core + "bank/pods", Query: map[string][]string{"dryRun": {"All"}}}, 0},
		"a write in another namespace":                     {Request{Method: http.MethodPost, Path: core + "bank/pods"}, 1},
		"a new object":                                     {Request{Method: http.MethodPost, Path: core + "shop/pods"}, 0},
		"a new object of a kind that is not recorded":      {Request{Method: http.MethodPost, Path: core + "shop/secrets"}, 1},
		"a change of what it has made":                     {Request{Method: http.MethodPatch, Path: core + "shop/pods/fallback"}, 0},
		"a change of a kind with fields that it may write": {Request{Method: http.MethodPatch, Path: core + "shop/pods/real"}, 0},
		"a change of another one's":                        {Request{Method: http.MethodPut, Path: "/apis/mycrd.com/v2/criticalservices/a-shop"}, 1},
		"a change of a kind that is not recorded":          {Request{Method: http.MethodPatch, Path: core + "shop/secrets/password"}, 1},
		"a subresource that it may write":                  {Request{Method: http.MethodPatch, Path: core + "shop/pods/real/status"}, 0},
		"a subresource that it may not write":              {Request{Method: http.MethodPost, Path: core + "shop/pods/real/eviction"}, 1},
		"an event in another namespace":                    {Request{Method: http.MethodPost, Path: core + "default/events"}, 0},
		"a question for its own rights":                    {Request{Method: http.MethodPost, Path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"}, 0},
		"a write without a namespace, of the world":        {Request{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/criticalservices/a-shop/status"}, 0},
		"a write without a namespace, of another one":      {Request{Method: http.MethodPatch, Path: "/apis/mycrd.com/v2/criticalservices/a-bank/status"}, 1},
		"the deletion of what it has made":                 {Request{Method: http.MethodDelete, Path: core + "shop/pods/fallback", UID: "fallback"}, 0},
		"the deletion of what it has not made":             {Request{Method: http.MethodDelete, Path: core + "shop/pods/real", UID: "real"}, 1},
		"the deletion of a user's that has the same name":  {Request{Method: http.MethodDelete, Path: core + "shop/pods/fallback", UID: "users"}, 1},
		"the deletion of whatever has the name":            {Request{Method: http.MethodDelete, Path: core + "shop/pods/fallback"}, 1},
		"the deletion of what it may delete":               {Request{Method: http.MethodDelete, Path: "/apis/mycrd.com/v2/namespaces/shop/maintenances/night", UID: "night"}, 0},
		"the deletion of all objects":                      {Request{Method: http.MethodDelete, Path: core + "shop/pods"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			found := foreignRequests(lawsOfTest, "shop", revisions, []Request{c.request})
			NewWithT(t).Expect(found).To(HaveLen(c.times))
		})
	}
}

func TestObjectsWithoutAnOwnerAreFound(t *testing.T) {
	owner := func(kind, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{Kind: kind, UID: types.UID(uid)}
	}
	service := revisionOf("Service", &corev1.Service{ObjectMeta: named("web")})
	for name, c := range map[string]struct {
		object metav1.ObjectMeta
		times  int
	}{
		"one of a user":                                  {named("page"), 0},
		"one without an owner":                           {made("page"), 1},
		"one of an owner that there is":                  {made("page", owner("Service", "web")), 0},
		"one of an owner that there never was":           {made("page", owner("Service", "other")), 1},
		"one of an owner of a kind that is not recorded": {made("page", owner("Node", "other")), 0},
		"one of two owners, of which there is one":       {made("page", owner("Service", "other"), owner("Service", "web")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := orphans(lawsOfTest, []Revision{service, revisionOf("ConfigMap", &corev1.ConfigMap{ObjectMeta: c.object})})
			NewWithT(t).Expect(found).To(HaveLen(c.times))
		})
	}
	kept := revisionOf("Secret", &corev1.Secret{ObjectMeta: made("password")})
	NewWithT(t).Expect(orphans(lawsOfTest, []Revision{kept})).To(BeEmpty(), "what is kept needs no owner")
}

func TestUntrueStatusesAreFound(t *testing.T) {
	status := func(generation, observed int64) Revision {
		policy := &criticalv2.CriticalService{ObjectMeta: named("shop")}
		policy.Generation, policy.Status.ObservedGeneration = generation, observed
		return revisionOf("CriticalService", policy)
	}
	for name, c := range map[string]struct {
		revisions []Revision
		times     int
	}{
		"a new object is not observed":  {[]Revision{status(1, -1), status(1, 1)}, 0},
		"a change is observed later":    {[]Revision{status(1, 1), status(2, 1), status(2, 2)}, 0},
		"a change is observed too soon": {[]Revision{status(1, 1), status(1, 2)}, 1},
		"a change is forgotten":         {[]Revision{status(2, 2), status(2, 1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			found := untrueStatuses(c.revisions)
			NewWithT(t).Expect(found).To(HaveLen(c.times))
		})
	}
}

func TestReturnsToAnEarlierContentAreCounted(t *testing.T) {
	content := func(meta metav1.ObjectMeta, data string) Revision {
		return revisionOf("ConfigMap", &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"data": data}})
	}
	deleted := content(made("page"), "1")
	deleted.Change = watch.Deleted
	annotated := made("page")
	annotated.Annotations = map[string]string{"a": "b"}
	for name, c := range map[string]struct {
		revisions []Revision
		times     int
	}{
		"new contents are none":            {[]Revision{content(made("page"), "1"), content(made("page"), "2"), content(made("page"), "3")}, 0},
		"the same content is none":         {[]Revision{content(made("page"), "1"), content(annotated, "1")}, 0},
		"back is one":                      {[]Revision{content(made("page"), "1"), content(made("page"), "2"), content(made("page"), "1")}, 1},
		"back and forth are two":           {[]Revision{content(made("page"), "1"), content(made("page"), "2"), content(made("page"), "1"), content(made("page"), "2")}, 2},
		"made again as it was is one":      {[]Revision{content(made("page"), "1"), deleted, content(made("page"), "1")}, 1},
		"made again otherwise is none":     {[]Revision{content(made("page"), "1"), deleted, content(made("page"), "2")}, 0},
		"another object has had nothing":   {[]Revision{content(made("page"), "1"), content(made("page"), "2"), content(made("other"), "1")}, 0},
		"what a user makes is not counted": {[]Revision{content(named("page"), "1"), content(named("page"), "2"), content(named("page"), "1")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(returns(lawsOfTest, c.revisions)["ConfigMap"]).To(HaveLen(c.times))
		})
	}
}

func TestMoreThanUsualIsFound(t *testing.T) {
	status := requestsOf("PATCH", "/apis/mycrd.com/v2/criticalservices/shop/status")
	page := Revision{watch.Added, "ConfigMap", &corev1.ConfigMap{ObjectMeta: made("page")}}
	for name, c := range map[string]struct {
		usual, did effort
		isLate     bool
		found      int
	}{
		"as many writes as undisturbed":                   {effort{writes: writes(status(9))}, effort{writes: writes(status(9))}, false, 0},
		"some are tried again":                            {effort{writes: writes(status(9))}, effort{writes: writes(status(28))}, false, 0},
		"one is tried again and again":                    {effort{writes: writes(status(9))}, effort{writes: writes(status(29))}, false, 1},
		"one that is not made undisturbed":                {effort{}, effort{writes: writes(status(11))}, false, 1},
		"a question about rights is no write":             {effort{}, effort{writes: writes(requestsOf("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")(11))}, false, 0},
		"it is tried each second where caches are late":   {effort{writes: writes(status(9))}, effort{writes: writes(status(64))}, true, 0},
		"and not more often":                              {effort{writes: writes(status(9))}, effort{writes: writes(status(65))}, true, 1},
		"an earlier content came back":                    {effort{}, effort{returns: map[string][]Revision{"ConfigMap": {page}}}, false, 1},
		"and came back undisturbed as well":               {effort{returns: map[string][]Revision{"ConfigMap": {page}}}, effort{returns: map[string][]Revision{"ConfigMap": {page}}}, false, 0},
		"it may come back for once where caches are late": {effort{}, effort{returns: map[string][]Revision{"ConfigMap": {page}}}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.did.beyond(c.usual, c.isLate)).To(HaveLen(c.found))
		})
	}
}

// requestsOf makes so many requests.
func requestsOf(method, path string) func(count int) []Request {
	return func(count int) []Request { return slices.Repeat([]Request{{Method: method, Path: path}}, count) }
}
