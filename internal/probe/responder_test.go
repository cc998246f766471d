package probe_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/probe"
)

// TestTheResponderAnswersInEveryProtocol asks the real one, on a port for each
// protocol, in the protocol that ProtocolOf finds for it.
func TestTheResponderAnswersInEveryProtocol(t *testing.T) {
	tests := []struct {
		port   corev1.ServicePort
		want   appprotocol.Protocol
		status string
		// counted is the protocol in the responder's metrics; empty if it cannot know the
		// self-test from a client.
		counted string
	}{
		{named("web", "http"), appprotocol.HTTP, "503", "http1"},
		{named("web2", "h2c"), appprotocol.H2C, "503", "http2"},
		{named("calls", "grpc"), appprotocol.GRPC, "UNAVAILABLE", "grpc"},
		{named("sql", "postgresql"), appprotocol.PostgreSQL, "57P03", "postgresql"},
		{named("postgres", ""), appprotocol.PostgreSQL, "57P03", "postgresql"},
		{named("mysql", ""), appprotocol.MySQL, "1053", ""},
		{named("maria", "mysql"), appprotocol.MySQL, "1053", ""},
		{named("cache", "redis"), appprotocol.Redis, "LOADING", "redis"},
		{named("documents", "mongodb"), appprotocol.MongoDB, "ShutdownInProgress", "mongodb"},
		{named("mongo", ""), appprotocol.MongoDB, "ShutdownInProgress", "mongodb"},
		{named("secure", "https"), appprotocol.TLS, "alert: internal error", ""},
		{named("thing", ""), appprotocol.TCP, "connection accepted", ""},
	}
	listeners := make([]listener.Listener, 0, len(tests))
	for _, test := range tests {
		listeners = append(listeners, listener.Listener{Service: "shop", PortName: test.port.Name, AppProtocol: *test.port.AppProtocol})
	}
	addresses, metrics := startResponder(t, listeners)
	for i, test := range tests {
		t.Run(test.port.Name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(appprotocol.Of(test.port.AppProtocol, test.port.Port, test.port.Name)).To(Equal(test.want))
			result := probe.Ask(t.Context(), probe.Target{Address: addresses[i], Protocol: test.want, Host: "shop.default.svc"})
			g.Expect(result.Problem).To(BeEmpty())
			g.Expect(result.Answered).To(BeTrue())
			g.Expect(result.Status).To(Equal(test.status))
			g.Expect(result.Protocol).To(Equal(test.want))
			g.Expect(result.Took).To(BeNumerically(">", 0))
			if test.counted != "" {
				g.Eventually(metrics, timeout).Should(ContainSubstring(fmt.Sprintf(
					`critical_service_responder_self_tests_total{port=%q,protocol=%q,service="shop"} 1`, test.port.Name, test.counted)))
				g.Expect(metrics()).NotTo(ContainSubstring(fmt.Sprintf(`responder_answers_total{port=%q`, test.port.Name)))
			}
		})
	}
}

func named(name, appProtocol string) corev1.ServicePort {
	return corev1.ServicePort{Name: name, AppProtocol: &appProtocol}
}
