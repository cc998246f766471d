package v2

// DefaultPage is the page of a CriticalService that asks for none, as the API
// server stores it. The operator uses it where the page stands in for another
// fallback that is not to be had.
func DefaultPage() *PageFallback {
	return &PageFallback{
		StatusCode:        503,
		RetryAfterSeconds: new(int32(30)),
		Replicas:          new(int32(2)),
		Probes: &Probes{
			Paths:      []string{"/healthz", "/livez", "/readyz", "/health", "/healthcheck", "/ping"},
			UserAgents: []string{"kube-probe/", "ELB-HealthChecker/", "GoogleHC/", "Edge Health Probe", "Envoy/HC", "Consul Health Check"},
		},
	}
}
