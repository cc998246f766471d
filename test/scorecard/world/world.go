package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/evidence"
	"github.com/critical-service/operator/test/scorecard/verdict"
)

// Label marks everything that the tests make and that outlives them if they are killed. Its value is the
// name of the test's namespace.
const Label = "critical-service-scorecard"

// enforce is the label by which Pod Security admission knows what a namespace allows.
const enforce = "pod-security.kubernetes.io/enforce"

// Surroundings are what a test finds where it runs.
type Surroundings struct {
	Client client.Client
	// Self is the Pod in which the test runs, from whose image the application is started.
	Self types.NamespacedName
	// Bundle is the folder with the operator's bundle.
	Bundle string
	// Evidence is where files are stored.
	Evidence evidence.Folder
	// Transport carries the requests to the application.
	Transport http.RoundTripper
	// AwaitTimeout is how long one thing is waited for.
	AwaitTimeout time.Duration
	// Warnings, if any, passes on what the API server warns of.
	Warnings *Warnings
}

// Here finds the surroundings in a Pod of scorecard's.
func Here(bundle string, awaitTimeout time.Duration) (*Surroundings, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, verdict.Prevented("Let scorecard run the test: operator-sdk scorecard BUNDLE --selector=suite=custom.",
			"the test does not run in a Pod with access to the API server: %v", err)
	}
	warnings := &Warnings{}
	config.WarningHandler = warnings
	// A test waits by asking: the client's own limit would only slow down what it sees.
	config.QPS = -1
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	connection, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find the name of the test's own Pod: %w", err)
	}
	return &Surroundings{
		Client: connection, Self: types.NamespacedName{Namespace: os.Getenv("SCORECARD_NAMESPACE"), Name: name},
		Bundle: bundle, Evidence: evidence.Folder(os.Getenv("SCORECARD_STORAGE")),
		Transport: &http.Transport{DisableKeepAlives: true}, AwaitTimeout: awaitTimeout, Warnings: warnings,
	}, nil
}

// Scheme knows the kinds that the tests use.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), criticalv1.AddToScheme(scheme), criticalv2.AddToScheme(scheme))
}

// World is a test's own part of the cluster.
type World struct {
	*Surroundings
	client.Client
	Journal *verdict.Journal
	// Namespace is the test's own; it has a name that is unique.
	Namespace string

	test string
	// made are the objects outside of the namespace.
	made []client.Object
}

// New is the world of a test, empty as yet.
func New(test string, surroundings *Surroundings, journal *verdict.Journal) *World {
	return &World{
		Surroundings: surroundings, Client: surroundings.Client, Journal: journal,
		Namespace: fmt.Sprintf("scorecard-%s-%s", test, rand.String(6)), test: test,
	}
}

// Selector is the label of the test's Services, which nothing else in the cluster has.
func (w *World) Selector() map[string]string { return map[string]string{Label: w.Namespace} }

// MakeNamespace makes the test's namespace. All that the operator makes, and the application, would be
// admitted in a restricted one, so every test has such a one.
func (w *World) MakeNamespace(ctx context.Context) error {
	w.Journal.Say("The test makes the namespace %s, which enforces Pod Security restricted.", w.Namespace)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace, Labels: w.Selector()}}
	namespace.Labels[enforce] = "restricted"
	return w.make(ctx, namespace)
}

// MakePolicy makes a CriticalService.
func (w *World) MakePolicy(ctx context.Context, policy client.Object) error {
	policy.SetLabels(w.Selector())
	w.Journal.Say("The test makes the CriticalService %s.", policy.GetName())
	return w.make(ctx, policy)
}

// make makes an object outside of the namespace. It is remembered first: a request may succeed though
// its answer is lost.
func (w *World) make(ctx context.Context, object client.Object) error {
	w.made = append(w.made, object)
	return w.Create(ctx, object)
}

// CleanUp removes what the test made: first the CriticalServices, so that the operator takes back its own.
func (w *World) CleanUp(ctx context.Context) error {
	if len(w.made) == 0 {
		return nil
	}
	var failed []error
	for _, object := range slices.Backward(w.made) {
		if first, old := object.(*criticalv1.CriticalService); old {
			// Version 2 is what is stored, so that it can be deleted without a conversion.
			object = &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: first.Name}}
		}
		if err := client.IgnoreNotFound(w.Delete(ctx, object)); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 {
		w.Journal.Say("The test removed what it made; the namespace goes as soon as its Pods have ended.")
		return nil
	}
	return verdict.Prevented(fmt.Sprintf("Remove what is left: kubectl delete criticalservices,namespaces --selector %s=%s", Label, w.Namespace),
		"the test could not remove all that it made: %v", errors.Join(failed...))
}

// Collect stores what there is at a moment of the test. What cannot be stored is logged, and blocks nothing.
func (w *World) Collect(ctx context.Context, moment string) {
	if w.Evidence == "" || len(w.made) == 0 {
		return
	}
	for name, list := range lists() {
		options := []client.ListOption{client.InNamespace(w.Namespace)}
		if _, wide := list.(*criticalv2.CriticalServiceList); wide {
			options = []client.ListOption{client.MatchingLabels(w.Selector())}
		}
		err := w.List(ctx, list, options...)
		if err == nil {
			err = w.Evidence.Objects(moment+"/"+name+".yaml", list)
		}
		if err != nil {
			w.Journal.Say("No evidence of the %s %s: %v", name, moment, oneLine(err.Error()))
		}
	}
}

// oneLine is a text on a single line, as journals have it.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
