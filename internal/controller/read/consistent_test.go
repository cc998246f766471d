package read

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An API server that streams nothing, as those before Kubernetes 1.32, is asked for what is stored, page by page.
func TestACacheBeginsWithWhatIsStored(t *testing.T) {
	for name, object := range map[string]client.Object{
		"whole objects": &corev1.Service{},
		"metadata":      &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := &oldServer{}
			listening := httptest.NewServer(server)
			defer listening.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel() // First, as the server waits for those who watch.

			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
			caches, err := NewCache(&rest.Config{Host: listening.URL}, cache.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
			g.Expect(err).NotTo(HaveOccurred())
			go func() { _ = caches.Start(ctx) }()
			_, err = caches.GetInformer(ctx, object)
			g.Expect(err).NotTo(HaveOccurred())

			g.Eventually(server.asked).ShouldNot(BeEmpty())
			for _, list := range server.asked() {
				g.Expect(list.Has("resourceVersion")).To(BeFalse(), list.Encode())
				g.Expect(list.Get("limit")).To(Equal("500"), list.Encode())
			}
		})
	}
}

func TestWhatIsAskedOfLists(t *testing.T) {
	for name, test := range map[string]struct{ asked, sent string }{
		"a list of any age is one of what is stored": {"limit=500&resourceVersion=0", "limit=500"},
		"a list of what is stored stays":             {"limit=500", "limit=500"},
		"its next page stays":                        {"continue=a&limit=500", "continue=a&limit=500"},
		"a later list is answered from memory":       {"limit=500&resourceVersion=7", "resourceVersion=7"},
		"a watch from any version stays":             {"resourceVersion=0&watch=true", "resourceVersion=0&watch=true"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := ""
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.URL.RawQuery }))
			defer server.Close()
			g := NewWithT(t)
			client, err := consistent(nil, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/services?"+test.asked, http.NoBody)
			g.Expect(err).NotTo(HaveOccurred())
			response, err := client.Do(request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			g.Expect(sent).To(Equal(test.sent))
		})
	}
}

// oldServer has no Services, and refuses to stream what there is.
type oldServer struct {
	mu    sync.Mutex
	lists []url.Values
}

func (s *oldServer) asked() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// ServeHTTP implements http.Handler.
func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch query := r.URL.Query(); {
	case query.Has("sendInitialEvents"):
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
		})
	case query.Has("watch"):
		<-r.Context().Done()
	default:
		s.mu.Lock()
		s.lists = append(s.lists, query)
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(corev1.ServiceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		})
	}
}
