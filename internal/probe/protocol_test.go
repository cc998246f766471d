package probe_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/probe"
)

func TestProtocolOf(t *testing.T) {
	tests := map[string]struct {
		appProtocol, name string
		port              int32
		want              probe.Protocol
	}{
		"nothing tells":                            {port: 9000, want: probe.TCP},
		"the appProtocol tells":                    {appProtocol: "http", port: 9000, want: probe.HTTP},
		"the appProtocol of Kubernetes tells":      {appProtocol: "kubernetes.io/h2c", port: 80, want: probe.H2C},
		"its case does not matter":                 {appProtocol: "GRPC", want: probe.GRPC},
		"a web socket begins as HTTP":              {appProtocol: "kubernetes.io/ws", want: probe.HTTP},
		"the appProtocol is above name and number": {appProtocol: "mongodb", name: "http", port: 80, want: probe.TCP},
		"tcp says nothing":                         {appProtocol: "tcp", name: "http", want: probe.HTTP},
		"HTTPS is TLS":                             {appProtocol: "https", port: 443, want: probe.TLS},
		"the name tells":                           {name: "redis", want: probe.Redis},
		"a word of the name tells":                 {name: "tcp-mysql-primary", want: probe.MySQL},
		"the first word that tells is taken":       {name: "http-redis", want: probe.HTTP},
		"gRPC-Web is not gRPC":                     {name: "grpc-web", want: probe.HTTP},
		"the name is above the number":             {name: "grpc", port: 80, want: probe.GRPC},
		"a name that says nothing leaves a number": {name: "public", port: 443, want: probe.TLS},
		"the number tells":                         {port: 5432, want: probe.PostgreSQL},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			port := corev1.ServicePort{Name: test.name, Port: test.port}
			if test.appProtocol != "" {
				port.AppProtocol = &test.appProtocol
			}
			NewWithT(t).Expect(probe.ProtocolOf(port)).To(Equal(test.want))
		})
	}
}
