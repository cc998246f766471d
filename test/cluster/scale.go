package cluster

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scale sets the number of Pods of a Deployment, ReplicaSet or StatefulSet, as `kubectl scale` does.
func (c *Cluster) Scale(ctx context.Context, object client.Object, replicas int32) error {
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	return c.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(body))
}
