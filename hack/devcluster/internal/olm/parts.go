package olm

import (
	"context"
	"errors"
	"fmt"

	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
)

// API reads objects of the cluster.
type API interface {
	Get(ctx context.Context, path string, into any) error
}

// Part is something of OLM that must be in order.
type Part struct {
	Name  string
	check func(ctx context.Context, api API) error
}

// Check returns why the part is not in order, or nothing if it is.
func (p Part) Check(ctx context.Context, api API) error {
	if err := p.check(ctx, api); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// IsThere reports whether OLM, or something that is left of it, is in the cluster.
func IsThere(ctx context.Context, api API) (bool, error) {
	for _, path := range []string{"/api/v1/namespaces/" + Namespace, "/apis/operators.coreos.com"} {
		err := api.Get(ctx, path, nil)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, kubeapi.ErrNotFound) {
			return false, err
		}
	}
	return false, nil
}

// packageServer is both OLM's third component and the first operator that OLM
// installs: where it runs OLM works.
const packageServer = "packageserver"

// Parts are what OLM consists of, in the order in which they get ready.
func Parts() []Part {
	return []Part{
		deployment("olm-operator"),
		deployment("catalog-operator"),
		{Name: "ClusterServiceVersion " + packageServer, check: succeeded},
		deployment(packageServer),
		{Name: "APIService " + PackagesAPI, check: available},
	}
}

// PackagesAPI is the API that the package server adds to the cluster's.
const PackagesAPI = "v1.packages.operators.coreos.com"

func deployment(name string) Part {
	return Part{Name: "Deployment " + name, check: func(ctx context.Context, api API) error {
		var d struct {
			Metadata struct{ Generation int64 }
			Spec     struct{ Replicas int }
			Status   struct {
				ObservedGeneration                           int64
				Replicas, UpdatedReplicas, AvailableReplicas int
			}
		}
		if err := api.Get(ctx, "/apis/apps/v1/namespaces/"+Namespace+"/deployments/"+name, &d); err != nil {
			return err
		}
		switch {
		case d.Status.ObservedGeneration < d.Metadata.Generation, d.Status.UpdatedReplicas < d.Spec.Replicas:
			return fmt.Errorf("%d of %d replicas are updated", d.Status.UpdatedReplicas, d.Spec.Replicas)
		case d.Status.Replicas > d.Status.UpdatedReplicas:
			return fmt.Errorf("%d old replicas still run", d.Status.Replicas-d.Status.UpdatedReplicas)
		case d.Status.AvailableReplicas < d.Spec.Replicas:
			return fmt.Errorf("%d of %d replicas are available", d.Status.AvailableReplicas, d.Spec.Replicas)
		}
		return nil
	}}
}

func succeeded(ctx context.Context, api API) error {
	var csv struct {
		Status struct{ Phase, Message string }
	}
	if err := api.Get(ctx, "/apis/operators.coreos.com/v1alpha1/namespaces/"+Namespace+"/clusterserviceversions/"+packageServer, &csv); err != nil {
		return err
	}
	if csv.Status.Phase != "Succeeded" {
		return fmt.Errorf("its phase is %q: %s", csv.Status.Phase, csv.Status.Message)
	}
	return nil
}

func available(ctx context.Context, api API) error {
	var service struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := api.Get(ctx, "/apis/apiregistration.k8s.io/v1/apiservices/"+PackagesAPI, &service); err != nil {
		return err
	}
	for _, condition := range service.Status.Conditions {
		if condition.Type != "Available" {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return fmt.Errorf("it is not available: %s", condition.Message)
	}
	return errors.New("it has not been looked at yet")
}
