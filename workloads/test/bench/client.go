package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/probe"
)

// greeting is what a MongoDB says that is not going down: a fallback says another thing.
const greeting = "hello"

// answered waits until the database of a Service answers a query.
func (b *bench) answered(ctx context.Context, name string) error {
	var service corev1.Service
	var secret corev1.Secret
	for object, called := range map[client.Object]string{&service: name, &secret: secretOf(name)} {
		if err := b.until(ctx, called+" exists", func(ctx context.Context) (bool, error) {
			err := b.cluster.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: called}, object)
			return err == nil, client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
	}
	address := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(service.Spec.Ports[0].Port)))
	var problem error
	err := b.until(ctx, address+" answers a query", func(ctx context.Context) (bool, error) {
		if seen := probe.Ask(ctx, probe.Target{Address: address, Protocol: appprotocol.MongoDB}); seen.Status != greeting {
			problem = fmt.Errorf("%s says %q %s", address, seen.Status, seen.Problem)
			return false, nil
		}
		// A server that has just begun may not know its users yet.
		problem = b.query(ctx, address, &secret)
		return problem == nil, nil
	})
	if err != nil {
		return errors.Join(err, problem)
	}
	return nil
}

// query asks for a document, with the driver and the password.
func (b *bench) query(ctx context.Context, address string, secret *corev1.Secret) error {
	command := exec.CommandContext(ctx, b.client, uri(address, secret))
	command.Stdin = strings.NewReader("\n")
	said, err := command.Output()
	if err != nil {
		if failed, is := errors.AsType[*exec.ExitError](err); is {
			return fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return err
	}
	if text := strings.TrimSpace(string(said)); text != "ok" {
		return fmt.Errorf("%s does not answer a query: %s", address, text)
	}
	return nil
}

func uri(address string, secret *corev1.Secret) string {
	made := url.URL{
		Scheme: "mongodb", Host: address, Path: "/", RawQuery: "authSource=admin&directConnection=true&serverSelectionTimeoutMS=1000",
		User: url.UserPassword(string(secret.Data["username"]), string(secret.Data["password"])),
	}
	return made.String()
}
