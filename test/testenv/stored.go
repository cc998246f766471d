package testenv

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
)

// Stored is what etcd holds of an object, by its path below /registry/: for example
// "mycrd.com/appconfigs/NAMESPACE/NAME". The API server shows it in any version.
func (c *Cluster) Stored(ctx context.Context, path string) (map[string]any, error) {
	question, err := json.Marshal(map[string][]byte{"key": []byte("/registry/" + path)})
	if err != nil {
		return nil, err
	}
	url := c.environment.ControlPlane.Etcd.URL.JoinPath("v3/kv/range").String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Kvs []struct{ Value string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("ask etcd: %w", err)
	}
	if len(answer.Kvs) != 1 {
		return nil, fmt.Errorf("etcd holds %d objects at %s", len(answer.Kvs), path)
	}
	data, err := base64.StdEncoding.DecodeString(answer.Kvs[0].Value)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	err = json.Unmarshal(data, &object)
	return object, err
}
