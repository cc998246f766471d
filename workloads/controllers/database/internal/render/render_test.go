package render_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/engine"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// images are the operator's settings.
var images = map[workloadsv1.DatabaseType]string{
	workloadsv1.DatabaseMongo: "mongo:4.0", workloadsv1.DatabaseMySQL: "mysql:8.0", workloadsv1.DatabasePostgres: "postgres:16",
}

// eachDatabase runs a test on every file of testdata.
func eachDatabase(t *testing.T, test func(g Gomega, file string, d *workloadsv1.Database)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.input.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(files)).To(BeNumerically(">=", len(images)))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			var d workloadsv1.Database
			g.Expect(yaml.UnmarshalStrict(data, &d)).To(Succeed())
			test(g, file, &d)
		})
	}
}

func pod(d *workloadsv1.Database) *corev1.Pod { return render.Pod(d, images[d.Spec.Type]) }

func trial(d *workloadsv1.Database) *corev1.Pod { return render.Trial(d, images[d.Spec.Type], pod(d)) }

// The hash of the spec is in the files: another version of the operator that changes it
// would replace every Pod.
func TestTheObjectsOfADatabase(t *testing.T) {
	eachDatabase(t, func(g Gomega, file string, d *workloadsv1.Database) {
		objects := []any{render.Service(d), pod(d)}
		if d.OwnsSecret() {
			objects = append(objects, render.Secret(d, "made-of-chance"))
		}
		if d.Spec.Storage != nil {
			objects = append(objects, render.Claim(d))
		}
		objects = append(objects, trial(d))
		var documents []string
		for _, object := range objects {
			document, err := yaml.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			documents = append(documents, string(document))
		}
		got := strings.Join(documents, "---\n")

		golden := strings.Replace(file, ".input.", ".golden.", 1)
		if *update {
			g.Expect(os.WriteFile(golden, []byte(got), 0o600)).To(Succeed())
		}
		want, err := os.ReadFile(golden)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(string(want)), "read what has changed; then go test with -update")
	})
}

// restricted is what the API server asks where a namespace wants Pods that are "restricted",
// in every version of that policy.
func restricted(g Gomega, pod *corev1.Pod) []string {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	var forbidden []string
	for _, version := range []api.Version{api.MajorMinorVersion(1, 28), api.LatestVersion()} {
		for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: version}, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				forbidden = append(forbidden, fmt.Sprintf("%s: %s: %s", version, result.ForbiddenReason, result.ForbiddenDetail))
			}
		}
	}
	return forbidden
}

func TestPodsAreRestricted(t *testing.T) {
	eachDatabase(t, func(g Gomega, _ string, d *workloadsv1.Database) {
		made := pod(d)
		g.Expect(restricted(g, made)).To(BeEmpty())
		g.Expect(made.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))

		g.Expect(restricted(g, trial(d))).To(BeEmpty())
		g.Expect(trial(d).Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))

		loose := made.DeepCopy()
		loose.Spec.Containers[0].SecurityContext.Capabilities = nil
		g.Expect(restricted(g, loose)).NotTo(BeEmpty(), "the check itself must find something")
	})
}

// No password is in the Pod, where more people may read it than Secrets.
func TestThePodNamesTheSecretAndDoesNotHoldIt(t *testing.T) {
	eachDatabase(t, func(g Gomega, _ string, d *workloadsv1.Database) {
		named := map[string]bool{}
		for _, variable := range pod(d).Spec.Containers[0].Env {
			if from := variable.ValueFrom; from != nil {
				g.Expect(from.SecretKeyRef.Name).To(Equal(d.SecretName()))
				named[from.SecretKeyRef.Key] = true
			}
		}
		for _, key := range engine.Of(d.Spec.Type).Keys() {
			g.Expect(named).To(HaveKey(key), "a Secret must have what the Pod reads")
			delete(named, key)
		}
		g.Expect(named).To(BeEmpty(), "and nothing else")
	})
}

// A client takes the URI as it is, whatever the password is.
func TestTheURIIsThatOfTheService(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind     workloadsv1.DatabaseType
		password string
		want     string
	}{
		"mongo":                    {workloadsv1.DatabaseMongo, "abc", "mongodb://root:abc@orders.shop.svc:27017/?authSource=admin"},
		"mysql":                    {workloadsv1.DatabaseMySQL, "abc", "mysql://root:abc@orders.shop.svc:3306/"},
		"postgres":                 {workloadsv1.DatabasePostgres, "abc", "postgresql://postgres:abc@orders.shop.svc:5432/postgres"},
		"a password to be escaped": {workloadsv1.DatabaseMySQL, "a/b@c:d", "mysql://root:a%2Fb%40c%3Ad@orders.shop.svc:3306/"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			d := &workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}, Spec: workloadsv1.DatabaseSpec{Type: c.kind}}
			g.Expect(string(render.Secret(d, c.password).Data["uri"])).To(Equal(c.want))
		})
	}
}

// The responder answers in the protocol of the port: by its appProtocol, or its name.
func TestTheResponderKnowsTheProtocol(t *testing.T) {
	for kind, want := range map[workloadsv1.DatabaseType]appprotocol.Protocol{
		workloadsv1.DatabaseMongo: appprotocol.MongoDB, workloadsv1.DatabaseMySQL: appprotocol.MySQL, workloadsv1.DatabasePostgres: appprotocol.PostgreSQL,
	} {
		port := render.Service(&workloadsv1.Database{Spec: workloadsv1.DatabaseSpec{Type: kind}}).Spec.Ports[0]
		NewWithT(t).Expect(appprotocol.Of(port.AppProtocol, port.Port, port.Name)).To(Equal(want), "%s", kind)
	}
}

func TestWhatIsOurs(t *testing.T) {
	d := &workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "of-orders"}, Spec: workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo}}
	for sentence, c := range map[string]struct {
		change func(*corev1.Service)
		want   bool
	}{
		"as it was made":         {func(*corev1.Service) {}, true},
		"without its labels":     {func(s *corev1.Service) { s.Labels = nil }, true},
		"without its owner":      {func(s *corev1.Service) { s.OwnerReferences = nil }, true},
		"without both":           {func(s *corev1.Service) { s.OwnerReferences, s.Labels = nil, nil }, false},
		"of an earlier Database": {func(s *corev1.Service) { s.OwnerReferences[0].UID = "of-an-earlier-one" }, false},
		"of another Database":    {func(s *corev1.Service) { s.OwnerReferences, s.Labels[workloadsv1.LabelDatabase] = nil, "carts" }, false},
		"with the label of a chart": {
			func(s *corev1.Service) { s.OwnerReferences, s.Labels[workloadsv1.LabelManagedBy] = nil, "Helm" }, false,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			service := render.Service(d)
			c.change(service)
			NewWithT(t).Expect(render.IsOurs(d, service)).To(Equal(c.want))
		})
	}
}
