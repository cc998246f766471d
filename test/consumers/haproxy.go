//go:build linux

package consumers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StartHAProxy runs HAProxy Ingress, which runs the HAProxy on the PATH, against the cluster of
// kubeconfig. It writes its settings, which are its ports, into a ConfigMap of namespace by create.
func StartHAProxy(ctx context.Context, bin, kubeconfig, folder, namespace string, create func(*corev1.ConfigMap)) (*Proxy, error) {
	ports, err := freePorts(ctx, 5)
	if err != nil {
		return nil, err
	}
	const settings = "haproxy-ingress"
	create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: settings},
		Data: map[string]string{
			"http-port": ports[0], "https-port": ports[1], "stats-port": ports[2], "healthz-port": ports[3],
			"syslog-endpoint": "stdout", "syslog-format": "raw",
		},
	})
	proxy := &Proxy{
		Name: "HAProxy Ingress", IngressClass: "haproxy-consumer", Controller: "haproxy-ingress.github.io/controller/consumer",
		ServiceAnnotations: map[string]string{"haproxy-ingress.github.io/service-upstream": "true"},
		URL:                "http://127.0.0.1:" + ports[0] + "/",
	}
	root := filepath.Join(folder, "haproxy")
	// The Lua scripts of HAProxy Ingress belong to its image; its templates it reads from the folder in which it runs.
	scripts := filepath.Join(root, "etc/haproxy/lua")
	if err := os.MkdirAll(filepath.Dir(scripts), 0o755); err != nil {
		return nil, err
	}
	if err := os.CopyFS(scripts, os.DirFS(filepath.Join(bin, "rootfs/etc/lua"))); err != nil {
		return nil, fmt.Errorf("the files of HAProxy Ingress: %w", err)
	}
	command := exec.CommandContext(ctx, filepath.Join(bin, "haproxy-ingress"),
		"--kubeconfig="+kubeconfig, "--configmap="+namespace+"/"+settings, "--local-filesystem-prefix="+root,
		"--controller-class=consumer", "--ingress-class="+proxy.IngressClass, "--watch-gateway=false", "--update-status=false",
		"--master-worker", "--haproxy-grace-period=1s", "--rate-limit-update=10", "--healthz-addr=127.0.0.1:"+ports[4])
	command.Dir = bin
	command.Env = append(os.Environ(), "POD_NAMESPACE="+namespace)
	err = proxy.start(ctx, folder, command)
	return proxy, err
}
