package outage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// notesOf says what may set the replicas of a workload again while it has none.
func notesOf(ctx context.Context, from client.Reader, w *Workload) ([]string, error) {
	notes := deployerNotes(w)
	var autoscalers autoscalingv2.HorizontalPodAutoscalerList
	err := from.List(ctx, &autoscalers, client.InNamespace(w.object.GetNamespace()))
	if apierrors.IsForbidden(err) {
		return notes, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list HorizontalPodAutoscalers: %w", err)
	}
	for i := range autoscalers.Items {
		hpa := &autoscalers.Items[i]
		if target := hpa.Spec.ScaleTargetRef; target.Kind != w.Kind || target.Name != w.Name {
			continue
		}
		if scaled := hpa.Labels["scaledobject.keda.sh/name"]; scaled != "" {
			notes = append(notes, fmt.Sprintf("KEDA's ScaledObject %q scales %s, and may do so from 0 as well: "+
				"annotate it with autoscaling.keda.sh/paused-replicas: \"0\" meanwhile.", scaled, w))
			continue
		}
		notes = append(notes, fmt.Sprintf("HorizontalPodAutoscaler %q pauses while %s has 0 replicas, and continues afterwards.", hpa.Name, w))
	}
	return notes, nil
}

// deployer is a program that applies manifests again and again.
type deployer struct {
	name string
	// keys are the labels and annotations by which it recognizes its objects.
	keys []string
	// managers begin the names under which it owns fields.
	managers []string
	// advice is what to do about it.
	advice string
}

var deployers = []deployer{
	{
		"Argo CD", []string{"argocd.argoproj.io/instance", "argocd.argoproj.io/tracking-id"}, []string{"argocd"},
		"ignore differences of replicas meanwhile (ignoreDifferences), or switch automatic sync off",
	},
	{
		"Flux", []string{"kustomize.toolkit.fluxcd.io/name"}, []string{"kustomize-controller"},
		"suspend its Kustomization meanwhile (flux suspend)",
	},
	{
		"Flux", []string{"helm.toolkit.fluxcd.io/name"}, []string{"helm-controller"},
		"suspend its HelmRelease meanwhile (flux suspend)",
	},
	{"Helm", []string{"meta.helm.sh/release-name"}, []string{"helm", "Helm"}, "do not upgrade the release meanwhile"},
}

// deployerNotes warns of the programs that own the replicas, or may. One that leaves
// them to others, as the owners of the field show, is no danger.
func deployerNotes(w *Workload) []string {
	owners := replicasOwners(w.object.GetManagedFields())
	var notes []string
	for _, d := range deployers {
		marked := slices.ContainsFunc(d.keys, func(key string) bool {
			return w.object.GetLabels()[key] != "" || w.object.GetAnnotations()[key] != ""
		})
		owns := slices.ContainsFunc(owners, func(owner string) bool {
			return slices.ContainsFunc(d.managers, func(prefix string) bool { return strings.HasPrefix(owner, prefix) })
		})
		switch {
		case owns:
			notes = append(notes, fmt.Sprintf("%s sets the replicas of %s, and sets them again: %s.", d.name, w, d.advice))
		case marked && len(owners) == 0:
			notes = append(notes, fmt.Sprintf("%s keeps %s, and may set its replicas again: %s.", d.name, w, d.advice))
		}
	}
	return slices.Compact(notes)
}

// replicasOwners are the managers of spec.replicas.
func replicasOwners(fields []metav1.ManagedFieldsEntry) []string {
	var owners []string
	for _, entry := range fields {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var fields struct {
			Spec map[string]any `json:"f:spec"`
		}
		// What cannot be read owns nothing that is known.
		_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)
		if _, owned := fields.Spec["f:replicas"]; owned {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}
