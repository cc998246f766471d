package application

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func TestTheApplicationSaysItsNameAndLeavesBeforeItEnds(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	// It drains until the test has seen it do so.
	go func() { served <- serve(ctx, listener, "shop", time.Hour) }()

	transport := &http.Transport{DisableKeepAlives: true}
	ask := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		return response, err
	}
	g.Expect(ask(ReadyPath)).To(HaveHTTPStatus(http.StatusOK))
	g.Expect(ask("/")).To(HaveHTTPHeaderWithValue(Header, "shop"))

	stop()
	g.Eventually(func() (*http.Response, error) { return ask(ReadyPath) }).WithTimeout(time.Minute).
		Should(HaveHTTPStatus(http.StatusServiceUnavailable), "it wants no more requests")
	g.Expect(ask("/")).To(HaveHTTPStatus(http.StatusOK), "and still answers those that come")
	g.Expect(listener.Close()).To(Succeed())
	g.Eventually(served).WithTimeout(time.Minute).Should(Receive(MatchError(net.ErrClosed)))
}

func TestTheApplicationEndsAfterItsDrain(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	g.Expect(serve(ctx, listener, "shop", time.Millisecond)).To(Succeed())
}

func TestTheApplicationIsAdmittedEverywhere(t *testing.T) {
	g := NewWithT(t)
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	template := Deployment("here", "shop", "image").Spec.Template
	for _, result := range judge.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &template.ObjectMeta, &template.Spec) {
		g.Expect(result.Allowed).To(BeTrue(), result.ForbiddenReason+" "+result.ForbiddenDetail)
	}
}
