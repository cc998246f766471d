package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/view"
)

const stored = 250

// cluster is an API server with objects of one size, which sends as many as it is asked for.
type cluster struct {
	size  int
	asked []url.Values
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	c.asked = append(c.asked, query)
	first, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	end := min(first+limit, stored)
	if limit == 0 || query.Get("resourceVersion") == "0" {
		end = stored
	}
	list := &workloadsv1.DatabaseList{TypeMeta: metav1.TypeMeta{APIVersion: workloadsv1.GroupVersion.String(), Kind: "DatabaseList"}}
	for number := first; number < end; number++ {
		list.Items = append(list.Items, workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("d-%d", number), Annotations: map[string]string{"x": strings.Repeat("x", c.size)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		}})
	}
	if end < stored {
		list.Continue = strconv.Itoa(end)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

func seeing(t *testing.T, of http.Handler) *view.Storage {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(workloadsv1.AddToScheme(scheme)).To(Succeed())
	server := httptest.NewServer(of)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(workloadsv1.GroupVersion.WithKind("Database"), meta.RESTScopeNamespace)
	read, err := client.NewWithWatch(view.Bounded(&rest.Config{Host: server.URL}), client.Options{Scheme: scheme, Mapper: mapper})
	g.Expect(err).NotTo(HaveOccurred())
	return &view.Storage{Options: view.Options{
		Of: workloadsv1.GroupVersion.WithResource("databases"), Client: read, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(),
		Object: func() client.Object { return &workloadsv1.Database{} }, List: func() client.ObjectList { return &workloadsv1.DatabaseList{} },
		Lists: places.New(view.Lists), Watches: places.New(view.Watches),
	}}
}

// asking is the context of a request that ends with the test, or earlier.
func asking(t *testing.T, namespace string) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{Verb: "list", Namespace: namespace})
	return context.WithCancel(request.WithNamespace(ctx, namespace))
}

func TestAListIsAPage(t *testing.T) {
	for sentence, test := range map[string]struct {
		size    int
		options internalversion.ListOptions
		most    int
	}{
		"of 100 objects, where the client says no limit":        {0, internalversion.ListOptions{}, 100},
		"of 100 objects, where it wants more":                   {0, internalversion.ListOptions{Limit: 500}, 100},
		"of 100 objects, where any version is good enough":      {0, internalversion.ListOptions{ResourceVersion: "0"}, 100},
		"and where it says by which rule":                       {0, internalversion.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, 100},
		"of fewer, where it wants fewer":                        {0, internalversion.ListOptions{Limit: 7}, 7},
		"of fewer, where more would not fit into memory":        {256 << 10, internalversion.ListOptions{}, 6},
		"of one, where the objects are as large as they may be": {1536 << 10, internalversion.ListOptions{Limit: 5}, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			of := &cluster{size: test.size}
			storage := seeing(t, of)
			seen, options := 0, test.options
			for pages := 0; pages == 0 || options.Continue != "" && pages < 3; pages++ {
				ctx, end := asking(t, "shop")
				found, err := storage.List(ctx, &options)
				g.Expect(err).NotTo(HaveOccurred())
				list := found.(*workloadsv1.DatabaseList)
				g.Expect(list.Items).To(HaveLen(min(test.most, stored-seen)))
				for i := range list.Items {
					g.Expect(list.Items[i].Name).To(Equal(fmt.Sprintf("d-%d", seen)), "none is left out")
					g.Expect(list.Items[i].ManagedFields).To(BeEmpty(), "they name our group")
					seen++
				}
				options.Continue, options.ResourceVersion, options.ResourceVersionMatch = list.Continue, "", ""
				end()
			}
			for _, query := range of.asked {
				g.Expect(query.Get("resourceVersionMatch")).To(BeEmpty())
			}
		})
	}
}

func TestHowManyListsAreHeldInMemory(t *testing.T) {
	g := NewWithT(t)
	storage := seeing(t, &cluster{})
	list := func(namespace string) (context.CancelFunc, error) {
		ctx, end := asking(t, namespace)
		_, err := storage.List(ctx, nil)
		return end, err
	}
	end, err := list("shop")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = list("shop")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = list("shop")
	g.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(ContainSubstring("2 lists of this")))
	_, err = list("other")
	g.Expect(err).NotTo(HaveOccurred(), "another team has places left")
	end()
	g.Eventually(func() error { _, err := list("shop"); return err }).Should(Succeed(), "a request that is over leaves its place")
}
