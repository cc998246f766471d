package manager

import (
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/critical-service/operator/internal/operator/serving"
)

// probeConnections is how many connections may be open. Only the kubelet should have some, and
// every Pod of the cluster may: the library's own server takes any number of them, each with a
// header of 1 MiB.
const probeConnections = 32

// addProbes adds what the kubelet asks.
func addProbes(mgr ctrl.Manager, address string, operator *Operator) error {
	if address == "" || address == "0" {
		return nil
	}
	isConverted := among(operator.Webhook.Kind.GroupKind(), mgr.GetScheme())
	server := probeServer(map[string]healthz.Checker{
		// Asking for the webhook server is what adds it to the manager.
		"webhook": mgr.GetWebhookServer().StartedChecker(),
		"caches":  synced(mgr.GetCache(), operator.Cache.ByObject, isConverted),
	})
	server.Addr = address
	return mgr.Add(&ctrlmanager.Server{Name: "health probe", Server: server})
}

// probeServer answers /healthz, and /readyz by checks.
func probeServer(ready map[string]healthz.Checker) *http.Server {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": {"ping": healthz.Ping}, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	return serving.Server(mux, probeConnections)
}
