package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// model is what a Database made. The contenders by hand have the same, so that nothing but
// who makes it differs.
type model struct {
	secret  corev1.Secret
	service corev1.Service
	pod     corev1.Pod
}

// nameLabel is by which a Service by hand finds its Pod.
const nameLabel = "bench"

func secretOf(name string) string { return name + "-credentials" }

// model makes a Database, reads what comes of it, and removes it. After it the node has the
// image.
func (b *bench) model(ctx context.Context) (*model, error) {
	const name = "model"
	m := &model{}
	if err := b.create(ctx, database.objects(name)); err != nil {
		return nil, err
	}
	if err := b.answered(ctx, name); err != nil {
		return nil, err
	}
	for object, called := range map[client.Object]string{&m.secret: secretOf(name), &m.service: name, &m.pod: name} {
		if err := b.cluster.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: called}, object); err != nil {
			return nil, err
		}
	}
	return m, b.remove(ctx, &database, name)
}

// surroundings are the Secret and the Service of a name.
func (m *model) surroundings(name string) []client.Object {
	return []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretOf(name)}, Type: m.secret.Type, Data: m.secret.Data},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Type: m.service.Spec.Type, Ports: m.service.Spec.Ports, Selector: map[string]string{nameLabel: name}},
		},
	}
}

// newPod is the Pod of a name, as it was before the cluster ran it.
func (m *model) newPod(name string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{nameLabel: name}},
		Spec:       *m.pod.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = ""
	for i := range pod.Spec.Containers {
		for j := range pod.Spec.Containers[i].Env {
			if from := pod.Spec.Containers[i].Env[j].ValueFrom; from != nil && from.SecretKeyRef != nil {
				from.SecretKeyRef.Name = secretOf(name)
			}
		}
	}
	return pod
}
