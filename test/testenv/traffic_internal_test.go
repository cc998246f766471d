package testenv

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestAVerdictIsWhatTheClientSees(t *testing.T) {
	for sentence, c := range map[string]struct {
		verdict Verdict
		// code is 0 where no answer comes.
		code    int
		reaches bool
	}{
		"what passes":               {Pass, http.StatusOK, true},
		"a request that is lost":    {Lose, 0, false},
		"an answer that is lost":    {LoseAnswer, 0, true},
		"a conflict":                {Conflict, http.StatusConflict, false},
		"too many requests":         {TooMany, http.StatusTooManyRequests, false},
		"a server that has a fault": {Fail, http.StatusInternalServerError, false},
		"a request that times out":  {TimeOut, http.StatusGatewayTimeout, false},
		"an answer that times out":  {TimeOutAnswer, http.StatusGatewayTimeout, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			hasReached := false
			next := roundTripper(func(request *http.Request) (*http.Response, error) {
				hasReached = true
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: request}, nil
			})
			traffic := &Traffic{interfere: func(Request) Verdict { return c.verdict }}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/v1/namespaces/shop/pods", strings.NewReader("{}"))
			g.Expect(err).NotTo(HaveOccurred())
			response, err := traffic.Through(next).RoundTrip(request)
			g.Expect(hasReached).To(Equal(c.reaches))
			if c.code == 0 {
				g.Expect(err).To(MatchError(errLost))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.StatusCode).To(Equal(c.code))
			g.Expect(response.Body.Close()).To(Succeed())
		})
	}
}

// TestARefusalReachesTheController: client-go sends a request that is one of too many again where the answer says when.
func TestARefusalReachesTheController(t *testing.T) {
	g := NewWithT(t)
	sent := 0
	traffic := &Traffic{interfere: func(Request) Verdict {
		sent++
		return TooMany
	}}
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://localhost", WrapTransport: traffic.Through})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = kube.CoreV1().Pods("shop").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	g.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "%v", err)
	g.Expect(sent).To(Equal(1))
}

// What is deleted is known of each encoding: that of Kubernetes' own kinds, and that of others.
func TestADeletionNamesItsObject(t *testing.T) {
	for sentence, contentType := range map[string]string{"in JSON": runtime.ContentTypeJSON, "in Protobuf": runtime.ContentTypeProtobuf} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var asked []Request
			traffic := &Traffic{interfere: func(request Request) Verdict {
				asked = append(asked, request)
				return Conflict
			}}
			kube, err := kubernetes.NewForConfig(&rest.Config{
				Host: "http://localhost", WrapTransport: traffic.Through, ContentConfig: rest.ContentConfig{ContentType: contentType},
			})
			g.Expect(err).NotTo(HaveOccurred())
			pods := kube.CoreV1().Pods("shop")
			g.Expect(apierrors.IsConflict(pods.Delete(t.Context(), "web", *metav1.NewPreconditionDeleteOptions("the-first")))).To(BeTrue())
			g.Expect(apierrors.IsConflict(pods.Delete(t.Context(), "web", metav1.DeleteOptions{}))).To(BeTrue())
			g.Expect(asked).To(HaveExactElements(HaveField("UID", Equal(types.UID("the-first"))), HaveField("UID", BeEmpty())))
		})
	}
}
