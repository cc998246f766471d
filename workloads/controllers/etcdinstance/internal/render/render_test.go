package render_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// eachInstance runs a test on every file of testdata.
func eachInstance(t *testing.T, test func(g Gomega, file string, e *workloadsv1alpha1.ETCDInstance)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.input.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			var e workloadsv1alpha1.ETCDInstance
			g.Expect(yaml.UnmarshalStrict(data, &e)).To(Succeed())
			test(g, file, &e)
		})
	}
}

// entries are those of a cluster whose last member is joining, and whose others have come up.
func entries(e *workloadsv1alpha1.ETCDInstance) []render.Entry {
	first := render.First(e)
	if e.Spec.Replicas == 1 {
		return []render.Entry{first}
	}
	first.ID, first.Volume = "8e9e05c52164694d", "claim-0"
	return []render.Entry{first, {Name: e.MemberName(1), ID: "a1", Folder: "a1", Volume: "claim-1"}, {Name: e.MemberName(2), ID: "b2", Folder: "b2"}}
}

// The hash of the spec is in the files: another version of the operator that changes it would
// replace every Pod.
func TestTheObjectsOfAnETCDInstance(t *testing.T) {
	eachInstance(t, func(g Gomega, file string, e *workloadsv1alpha1.ETCDInstance) {
		image := e.Spec.Image
		if image == "" {
			image = "quay.io/coreos/etcd:v3.7.3"
		}
		var documents []string
		for _, object := range []any{
			render.Service(e), render.Peers(e), render.Budget(e, entries(e)), render.Config(e, entries(e)), render.StatefulSet(e, entries(e), e.Spec.Replicas, image),
			render.BackupClaim(e), render.BackupPod(e, "workloads:1", "first"),
		} {
			document, err := yaml.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			documents = append(documents, string(document))
		}
		if e.Spec.Storage != nil {
			for _, origin := range []*workloadsv1alpha1.ETCDInstance{nil, e} {
				document, err := yaml.Marshal(render.RestorePod(e, origin, "workloads:1", image))
				g.Expect(err).NotTo(HaveOccurred())
				documents = append(documents, string(document))
			}
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

func TestPodsAreRestricted(t *testing.T) {
	eachInstance(t, func(g Gomega, _ string, e *workloadsv1alpha1.ETCDInstance) {
		evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
		g.Expect(err).NotTo(HaveOccurred())
		member := render.StatefulSet(e, entries(e), 1, "etcd:v3.7.3").Spec.Template
		made := []*corev1.Pod{{ObjectMeta: member.ObjectMeta, Spec: member.Spec}, render.BackupPod(e, "workloads:1", "first")}
		if e.Spec.Storage != nil {
			made = append(made, render.RestorePod(e, e, "workloads:1", "etcd:v3.7.3"), render.RestorePod(e, nil, "workloads:1", "etcd:v3.7.3"))
		}
		for i, pod := range made {
			for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
				g.Expect(result.Allowed).To(BeTrue(), "%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
			}
			g.Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
			g.Expect(labels.SelectorFromSet(render.Selector(e)).Matches(labels.Set(pod.Labels))).To(Equal(i == 0), "clients reach members only")
		}
	})
}

// The oldest snapshot goes only once the newest is whole.
func TestOneSnapshotMoreThanAreKeptFitsIntoTheirClaim(t *testing.T) {
	for size, want := range map[string]string{"": "8Gi", "600Mi": "2400Mi", "1Gi": "4Gi", "1500m": "6", "8Gi": "32Gi", "1Ti": "32Gi", "7E": "32Gi"} {
		e := &workloadsv1alpha1.ETCDInstance{}
		e.Name = "etcd"
		if size != "" {
			e.Spec.Storage = &workloadsv1alpha1.ETCDStorage{Size: size}
		}
		got := render.BackupClaim(e).Spec.Resources.Requests[corev1.ResourceStorage]
		NewWithT(t).Expect(got.String()).To(Equal(want), size)
	}
}

// A drain must not take away data that no volume and too few other members have.
func TestNoMemberIsEvictedWhoseDataTheOthersCannotDoWithout(t *testing.T) {
	for sentence, c := range map[string]struct {
		stored            bool
		replicas, hasData int32
		most              int32
	}{
		"one member without a volume":                  {false, 1, 1, 0},
		"two members without volumes":                  {false, 2, 2, 0},
		"three members, of which one has the data yet": {false, 3, 1, 0},
		"three members that become one":                {false, 1, 3, 0},
		"three members without volumes":                {false, 3, 3, 1},
		"one member with a volume":                     {true, 1, 1, 1},
	} {
		e := &workloadsv1alpha1.ETCDInstance{}
		e.Name, e.Spec.Replicas = "etcd", c.replicas
		if c.stored {
			e.Spec.Storage = &workloadsv1alpha1.ETCDStorage{Size: "1Gi"}
		}
		noted := []render.Entry{{Name: "etcd-8"}}
		for ordinal := range int(c.hasData) {
			noted = append(noted, render.Entry{Name: e.MemberName(ordinal), Volume: "pod"})
		}
		NewWithT(t).Expect(render.Budget(e, noted).Spec.MaxUnavailable.IntVal).To(Equal(c.most), sentence)
	}
}

// etcd reads the initial cluster only where there is no data: a member that had a vote must not
// find itself there.
func TestAMemberThatHasComeUpNeverStartsWithoutItsData(t *testing.T) {
	g := NewWithT(t)
	e := &workloadsv1alpha1.ETCDInstance{}
	e.Name, e.Namespace, e.UID, e.Spec.Replicas = "etcd", "shop", "1", 3
	data := render.Config(e, entries(e)).Data
	g.Expect(data["etcd-0.yaml"]).NotTo(ContainSubstring("etcd-0=http"))
	g.Expect(data["etcd-1.yaml"]).NotTo(ContainSubstring("etcd-1=http"))
	g.Expect(data["etcd-2.yaml"]).To(ContainSubstring("etcd-0=http://etcd-0.etcd-peers.shop.svc:2380,etcd-1=http://etcd-1.etcd-peers.shop.svc:2380,etcd-2=http"))
}

// What others write there must not be taken for members.
func TestNotedEntriesAreBounded(t *testing.T) {
	g := NewWithT(t)
	e := &workloadsv1alpha1.ETCDInstance{}
	e.Name, e.UID, e.Spec.Replicas = "etcd", "1", 3
	config := &corev1.ConfigMap{}
	for sentence, c := range map[string]struct {
		text string
		kept int
	}{
		"what the operator notes":          {render.Config(e, entries(e)).Annotations[render.AnnotationMembers], 3},
		"what is no JSON":                  {"[{", 0},
		"a name that no member has":        {`[{"name":"carts-0","folder":"a"},{"name":"etcd-9","folder":"a"}]`, 0},
		"a member without a folder":        {`[{"name":"etcd-0"}]`, 0},
		"more members than there ever are": {"[" + strings.TrimSuffix(strings.Repeat(`{"name":"etcd-0","folder":"a"},`, 20), ",") + "]", workloadsv1alpha1.MaxReplicas},
	} {
		config.Annotations = map[string]string{render.AnnotationMembers: c.text}
		g.Expect(render.Entries(e, config)).To(HaveLen(c.kept), sentence)
	}
}
