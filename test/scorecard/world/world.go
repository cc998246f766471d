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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/scorecard/evidence"
	"github.com/critical-service/operator/test/scorecard/verdict"
)

// Label marks everything that the tests make and that outlives them if they are killed. Its value is the
// name of the test's namespace.
const Label = "critical-service-scorecard"

// enforce is the label by which Pod Security admission knows what a namespace allows.
const enforce = "pod-security.kubernetes.io/enforce"

// Operator is the operator that the tests are about.
type Operator struct {
	// Name is that of its package, and the label app.kubernetes.io/name of its Pods.
	Name string
	// Kind is a list of one of its kinds: where the API server does not know it, the operator is not installed.
	Kind client.ObjectList
	// Scheme makes a scheme with all kinds that the tests use.
	Scheme func() (*runtime.Scheme, error)
	// Evidence are the kinds that tell what happened.
	Evidence []Listing
}

// Listing is a kind of which a test stores what there is.
type Listing struct {
	// Name is that of the file.
	Name string
	List client.ObjectList
	// ByLabel finds the objects by the label of the test, and not by its namespace.
	ByLabel bool
}

// Surroundings are what a test finds where it runs.
type Surroundings struct {
	Operator Operator
	Client   client.Client
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
func Here(operator Operator, bundle string, awaitTimeout time.Duration) (*Surroundings, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, verdict.Prevented("Let scorecard run the test: operator-sdk scorecard BUNDLE --selector=suite=custom.",
			"the test does not run in a Pod with access to the API server: %v", err)
	}
	warnings := &Warnings{}
	config.WarningHandler = warnings
	// A test waits by asking: the client's own limit would only slow down what it sees.
	config.QPS = -1
	scheme, err := operator.Scheme()
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
		Operator: operator, Client: connection, Self: types.NamespacedName{Namespace: os.Getenv("SCORECARD_NAMESPACE"), Name: name},
		Bundle: bundle, Evidence: evidence.Folder(os.Getenv("SCORECARD_STORAGE")),
		Transport: &http.Transport{DisableKeepAlives: true}, AwaitTimeout: awaitTimeout, Warnings: warnings,
	}, nil
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
	w.remember(namespace)
	return w.Create(ctx, namespace)
}

// MakePolicy makes a CriticalService.
func (w *World) MakePolicy(ctx context.Context, policy client.Object) error {
	policy.SetLabels(w.Selector())
	w.Journal.Say("The test makes the CriticalService %s.", policy.GetName())
	// Version 2 is what is stored, so that it can be deleted without a conversion.
	w.remember(&criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: policy.GetName()}})
	return w.Create(ctx, policy)
}

// remember says what has to be removed at the end. It is said first: a request may succeed though its answer is lost.
func (w *World) remember(object client.Object) { w.made = append(w.made, object) }

// CleanUp removes what the test made, the namespace last, so that the operator takes back its own.
func (w *World) CleanUp(ctx context.Context) error {
	if len(w.made) == 0 {
		return nil
	}
	var failed []error
	for _, object := range slices.Backward(w.made) {
		if err := client.IgnoreNotFound(w.Delete(ctx, object)); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 {
		w.Journal.Say("The test removed what it made; the namespace goes as soon as its Pods have ended.")
		return nil
	}
	return verdict.Prevented(fmt.Sprintf("Remove what is left: kubectl delete %s --selector %s=%s", strings.Join(w.leftovers(), ","), Label, w.Namespace),
		"the test could not remove all that it made: %v", errors.Join(failed...))
}

// Collect stores what there is at a moment of the test. What cannot be stored is logged, and blocks nothing.
func (w *World) Collect(ctx context.Context, moment string) {
	if w.Evidence == "" || len(w.made) == 0 {
		return
	}
	for _, kind := range w.Operator.Evidence {
		var found client.ListOption = client.InNamespace(w.Namespace)
		if kind.ByLabel {
			found = client.MatchingLabels(w.Selector())
		}
		list, _ := kind.List.DeepCopyObject().(client.ObjectList)
		err := w.List(ctx, list, found)
		if err == nil {
			err = w.Evidence.Objects(moment+"/"+kind.Name+".yaml", list)
		}
		if err != nil {
			w.Journal.Say("No evidence of the %s %s: %v", kind.Name, moment, oneLine(err.Error()))
		}
	}
}

// leftovers are the kinds of what tests make outside of their namespaces, and the namespaces.
func (w *World) leftovers() []string {
	var kinds []string
	for _, kind := range w.Operator.Evidence {
		if kind.ByLabel {
			kinds = append(kinds, kind.Name)
		}
	}
	return append(kinds, "namespaces")
}

// oneLine is a text on a single line, as journals have it.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
