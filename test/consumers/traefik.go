//go:build linux

package consumers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// StartTraefik runs Traefik against the cluster of kubeconfig.
func StartTraefik(ctx context.Context, bin, kubeconfig, folder string) (*Proxy, error) {
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + ports[0]
	proxy := &Proxy{
		Name: "Traefik", IngressClass: "traefik-consumer", Controller: "traefik.io/ingress-controller",
		// It is an annotation of the Service, not of the Ingress.
		ServiceAnnotations: map[string]string{"traefik.ingress.kubernetes.io/service.nativelb": "true"},
		URL:                "http://" + address + "/",
	}
	command := exec.CommandContext(ctx, filepath.Join(bin, "traefik"),
		"--global.checknewversion=false", "--global.sendanonymoususage=false", "--log.level=INFO",
		"--entrypoints.web.address="+address,
		"--providers.kubernetesingress=true", "--providers.kubernetesingress.ingressclass="+proxy.IngressClass)
	command.Dir = folder
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	err = proxy.start(ctx, folder, command)
	return proxy, err
}
