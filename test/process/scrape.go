package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Get asks for an address, and takes every answer but 200 for an error.
func Get(url string) error {
	status, body := Scrape(url, "")
	if status != http.StatusOK {
		return fmt.Errorf("%s: %d: %s", url, status, body)
	}
	return nil
}

// Scrape asks for metrics, with a token if there is one. Without an answer the status is 0
// and the body says why.
func Scrape(url, token string) (status int, body string) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The certificate is made for no particular name, so that it cannot be verified.
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
	}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// TokenOf makes a ServiceAccount, and a token of it.
func TokenOf(ctx context.Context, config *rest.Config, namespace, name string) (string, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	_, created := clients.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(created) {
		created = nil // A test that runs again.
	}
	granted, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err := errors.Join(created, err); err != nil {
		return "", err
	}
	return granted.Status.Token, nil
}
