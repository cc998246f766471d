// Package kubeapi asks the API server and the other components the few questions
// on which the start of the cluster waits. A client library would double the build
// time of this program.
package kubeapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// ErrNotFound says that the API server has no such object, or no such kind.
var ErrNotFound = errors.New("not found")

// Client is the administrator's.
type Client struct{ http *http.Client }

// NewClient reads the administrator's certificate from the state folder.
func NewClient(state layout.State) (*Client, error) {
	certificate, err := tls.LoadX509KeyPair(state.Path("pki", "admin.crt"), state.Path("pki", "admin.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(state.Path("pki", "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's CA certificate is damaged")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool}}
	return &Client{http: &http.Client{Transport: transport, Timeout: 5 * time.Second}}, nil
}

// Ready reports whether the API server serves.
func (c *Client) Ready(ctx context.Context) error {
	return c.Get(ctx, "/readyz", nil)
}

// Healthy asks a component about itself.
func (c *Client) Healthy(ctx context.Context, url string) error {
	return c.getURL(ctx, url, nil)
}

// NodeReady reports whether a node can run Pods, and why not.
func (c *Client) NodeReady(ctx context.Context, name string) error {
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := c.Get(ctx, "/api/v1/nodes/"+name, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return fmt.Errorf("node %s is not ready: %s", name, condition.Message)
	}
	return fmt.Errorf("node %s has not reported its condition yet", name)
}

// DefaultServiceAccount reports whether Pods can be created in the namespace default.
func (c *Client) DefaultServiceAccount(ctx context.Context) error {
	return c.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
}

// Get reads an object by its path in the API. An object that is not there gives ErrNotFound.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.getURL(ctx, topology.APIServerURL()+path, into)
}

func (c *Client) getURL(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("%s: %w", url, ErrNotFound)
	}
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 512))
		return fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}
