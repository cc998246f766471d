package render_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// input is a case: what the objects depend on, and the table.
type input struct {
	Responder render.Responder
	Table     listener.Table
}

func read(g Gomega, file string) input {
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	var in input
	g.Expect(yaml.UnmarshalStrict(data, &in)).To(Succeed())
	return in
}

// eachInput runs a test on every case.
func eachInput(t *testing.T, test func(g Gomega, file string, in input)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.input.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			test(g, file, read(g, file))
		})
	}
}

func TestTheObjectsOfAResponder(t *testing.T) {
	eachInput(t, func(g Gomega, file string, in input) {
		var documents []string
		objects := []any{in.Responder.ConfigMap(&in.Table), in.Responder.Deployment(), in.Responder.Budget()}
		if in.Responder.Scales() {
			objects = append(objects, in.Responder.Autoscaler())
		}
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
		g.Expect(got).To(Equal(string(want)))
		g.Expect(read(g, file)).To(Equal(in), "the input was changed")
	})
}

// restricted is what the API server asks where a namespace wants Pods that are
// "restricted", in every version of that policy.
func restricted(g Gomega, template *corev1.PodTemplateSpec) []string {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	var forbidden []string
	for _, version := range []api.Version{api.MajorMinorVersion(1, 28), api.LatestVersion()} {
		for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: version}, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				forbidden = append(forbidden, fmt.Sprintf("%s: %s: %s", version, result.ForbiddenReason, result.ForbiddenDetail))
			}
		}
	}
	return forbidden
}

func TestPodsAreRestricted(t *testing.T) {
	eachInput(t, func(g Gomega, _ string, in input) {
		template := &in.Responder.Deployment().Spec.Template
		g.Expect(restricted(g, template)).To(BeEmpty())
		g.Expect(template.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
		g.Expect(template.Spec.EnableServiceLinks).To(HaveValue(BeFalse()))

		loose := template.DeepCopy()
		loose.Spec.Containers[0].SecurityContext.Capabilities = nil
		g.Expect(restricted(g, loose)).NotTo(BeEmpty(), "the check itself must find something")
	})
}

// The responder understands its arguments, and has the time that it takes to end.
func TestTheArgumentsAreTheResponders(t *testing.T) {
	eachInput(t, func(g Gomega, _ string, in input) {
		spec := in.Responder.Deployment().Spec.Template.Spec
		container := spec.Containers[0]
		flags := pflag.NewFlagSet("responder", pflag.ContinueOnError)
		options := responder.Bind(flags)
		g.Expect(container.Command).To(Equal([]string{"/responder"}), "as the Dockerfile calls it")
		g.Expect(flags.Parse(container.Args)).To(Succeed())

		g.Expect(options.Listeners).To(Equal(in.Responder.Ports.String()))
		g.Expect(path.Dir(options.Table)).To(Equal(container.VolumeMounts[0].MountPath))
		for i, name := range in.Responder.Contents {
			g.Expect(path.Join(options.Content, name)).To(Equal(container.VolumeMounts[i+1].MountPath))
		}
		g.Expect(options.AdminBindAddress).To(Equal(fmt.Sprintf(":%d", container.Ports[0].ContainerPort)))
		g.Expect(time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second).
			To(BeNumerically(">", options.Drain+options.ConnectionTimeout))
	})
}

func TestAVolumesNameIsValidWhateverTheConfigMapsNameIs(t *testing.T) {
	g := NewWithT(t)
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63)
	r := render.Responder{Contents: []string{long, "a.b", "a-b"}}
	spec := r.Deployment().Spec.Template.Spec
	names := map[string]bool{}
	for _, volume := range spec.Volumes {
		g.Expect(validation.IsDNS1123Label(volume.Name)).To(BeEmpty(), volume.Name)
		names[volume.Name] = true
	}
	g.Expect(names).To(HaveLen(4), "each has a name of its own")
	g.Expect(spec.Containers[0].VolumeMounts).To(HaveLen(4))
	for i, mount := range spec.Containers[0].VolumeMounts {
		g.Expect(mount.Name).To(Equal(spec.Volumes[i].Name))
		g.Expect(mount.ReadOnly).To(BeTrue())
	}
}

func TestMemoryGrowsWithWhatTheResponderHolds(t *testing.T) {
	tests := map[string]struct {
		ports                listener.Range
		contents             int
		request, limit, soft string
	}{
		"64 ports":                      {listener.Range{First: 20000, Last: 20063}, 0, "24Mi", "128Mi", "96MiB"},
		"2,048 ports":                   {listener.Range{First: 20000, Last: 22047}, 0, "55Mi", "190Mi", "158MiB"},
		"all ports":                     {listener.Range{First: listener.First, Last: listener.Last}, 0, "222Mi", "525Mi", "493MiB"},
		"64 ports, and 10 teams' pages": {listener.Range{First: 20000, Last: 20063}, 10, "34Mi", "158Mi", "126MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.Responder{Ports: test.ports}
			for i := range test.contents {
				r.Contents = append(r.Contents, fmt.Sprint("content-", i))
			}
			container := r.Deployment().Spec.Template.Spec.Containers[0]
			g.Expect(container.Resources.Requests.Memory().String()).To(Equal(test.request))
			g.Expect(container.Resources.Limits.Memory().String()).To(Equal(test.limit))
			g.Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "GOMEMLIMIT", Value: test.soft}))
		})
	}
}

func TestTheSealTellsEveryChange(t *testing.T) {
	base := render.Responder{Namespace: "shop", Image: "a", Replicas: 2, Ports: listener.Range{First: 20000, Last: 20063}}
	seal := func(r render.Responder) string { return r.Deployment().Annotations[render.AnnotationApplied] }
	g := NewWithT(t)
	g.Expect(seal(base)).To(Equal(seal(base)), "the same gives the same")
	for name, change := range map[string]func(*render.Responder){
		"image":      func(r *render.Responder) { r.Image = "b" },
		"secrets":    func(r *render.Responder) { r.ImagePullSecrets = []string{"s"} },
		"priority":   func(r *render.Responder) { r.PriorityClass = "p" },
		"replicas":   func(r *render.Responder) { r.Replicas = 3 },
		"ports":      func(r *render.Responder) { r.Ports.Last = 20127 },
		"content":    func(r *render.Responder) { r.Contents = []string{"c"} },
		"one owner":  func(r *render.Responder) { r.Owners = []metav1.OwnerReference{{Name: "a", UID: "1"}} },
		"new owner":  func(r *render.Responder) { r.Owners = []metav1.OwnerReference{{Name: "a", UID: "2"}} },
		"no replica": func(r *render.Responder) { r.Replicas = 0 },
	} {
		changed := base
		change(&changed)
		g.Expect(seal(changed)).NotTo(Equal(seal(base)), name)
	}
}

func TestIsOurs(t *testing.T) {
	r := render.Responder{Namespace: "shop"}
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"what we made is ours":               {func(*appsv1.Deployment) {}, true},
		"without its label too, by its seal": {func(d *appsv1.Deployment) { d.Labels = nil }, true},
		"without its seal too, by its label": {func(d *appsv1.Deployment) { d.Annotations = nil }, true},
		"with neither it is not":             {func(d *appsv1.Deployment) { d.Labels, d.Annotations = nil, nil }, false},
		"what carries the label of another role isn't": {func(d *appsv1.Deployment) {
			d.Annotations, d.Labels[criticalv2.LabelResponder] = nil, criticalv2.ResponderContent
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := r.Deployment()
			test.change(object)
			NewWithT(t).Expect(render.IsOurs(object, criticalv2.ResponderServer)).To(Equal(test.want))
		})
	}
}

func TestImageOf(t *testing.T) {
	g := NewWithT(t)
	r := render.Responder{Image: "quay.io/x:1"}
	spec := r.Deployment().Spec.Template.Spec
	g.Expect(render.ImageOf(&spec)).To(Equal("quay.io/x:1"))
	spec.Containers[0].Name = "other"
	g.Expect(render.ImageOf(&spec)).To(BeEmpty())
}
