package consumers

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// ProxyMode asks the kube-proxy of this machine how it programs the kernel: nftables or iptables.
func ProxyMode(ctx context.Context) (string, error) {
	const url = "http://127.0.0.1:10249/proxyMode"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("this machine is no node of the cluster: kube-proxy does not answer at %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	mode, err := io.ReadAll(io.LimitReader(response.Body, 64))
	return string(mode), err
}
