package diagnosis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/diagnosis"
)

// scenario is what kubectl showed of one Service in outage on a real cluster, without
// what means nothing here, and the cause.
type scenario struct {
	// Story says in a sentence what was done.
	Story string `json:"story"`
	// Now is when kubectl showed it.
	Now time.Time `json:"now"`
	// Want is the cause.
	Want criticalv2.OutageCause `json:"want"`
	// Objects are all those of the namespace, and the Nodes.
	Objects []runtime.RawExtension `json:"objects"`
}

// scenarios are those of testdata, by the name of the file.
func scenarios(t *testing.T) map[string]scenario {
	t.Helper()
	all, err := readScenarios()
	NewWithT(t).Expect(all, err).NotTo(BeEmpty())
	return all
}

var readScenarios = sync.OnceValues(func() (map[string]scenario, error) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]scenario{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var read scenario
		if err := yaml.UnmarshalStrict(data, &read); err != nil || read.Story == "" {
			return nil, fmt.Errorf("%s has no story, or cannot be read: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = read
	}
	return all, nil
})

// evidence sorts the objects of a scenario.
func (s scenario) evidence(t *testing.T) diagnosis.Evidence {
	t.Helper()
	e := diagnosis.Evidence{Now: s.Now}
	for _, raw := range s.Objects {
		object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(raw.Raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch object := object.(type) {
		case *corev1.Service:
			e.Service = object
		case *corev1.Pod:
			e.OtherPods = append(e.OtherPods, *object)
		case *corev1.Node:
			e.Nodes = append(e.Nodes, *object)
		case *appsv1.Deployment:
			e.Deployments = append(e.Deployments, *object)
		case *appsv1.StatefulSet:
			e.StatefulSets = append(e.StatefulSets, *object)
		case *appsv1.DaemonSet:
			e.DaemonSets = append(e.DaemonSets, *object)
		case *appsv1.ReplicaSet:
			e.ReplicaSets = append(e.ReplicaSets, *object)
		case *autoscalingv2.HorizontalPodAutoscaler:
			e.Autoscalers = append(e.Autoscalers, *object)
		case *eventsv1.Event:
			e.Events = append(e.Events, *object)
		default:
			t.Fatalf("%T is no evidence", object)
		}
	}
	return selected(e)
}

// selected moves to Pods those that the Service selects.
func selected(e diagnosis.Evidence) diagnosis.Evidence {
	all := slices.Concat(e.Pods, e.OtherPods)
	e.Pods, e.OtherPods = nil, nil
	for _, pod := range all {
		if diagnosis.Selects(e.Service, pod.Labels) {
			e.Pods = append(e.Pods, pod)
		} else {
			e.OtherPods = append(e.OtherPods, pod)
		}
	}
	return e
}

// textOf is a cause as one text.
func textOf(cause criticalv2.OutageCause) string {
	return fmt.Sprintf("%s: %s", cause.Reason, cause.Message)
}
