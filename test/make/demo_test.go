package make_test

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// words are those that a pattern finds in what make says.
func words(pattern, said string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(said, -1) {
		found = append(found, match[1])
	}
	return found
}

// It is what everybody runs first, and nearly all of its time is compiling.
func TestTheDemoBuildsNoMoreThanItRuns(t *testing.T) {
	g := NewWithT(t)
	said, err := planned(t, "demo", "TOOLS="+t.TempDir())
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(words(`-o \S+/bin/(\w+) \.`, said)).To(HaveExactElements("devcluster"), said)
	g.Expect(words(`building (\S+) \(once\)`, said)).To(HaveExactElements("kustomize"), said)
	said, err = planned(t, "binaries")
	g.Expect(err).NotTo(HaveOccurred(), said)
	g.Expect(words(`-o \S+/([\w-]+) `, said)).To(HaveExactElements("manager", "responder", "workload"), said)

	s := newStage(t, "IMG=registry.example.com/me/op:dev", "DEMO_IMG=registry.example.com/me/demo:dev")
	for _, program := range []string{"stubs/go", "bin/demo"} {
		s.Write(t, program, stub, 0o755)
	}
	said, err = s.Run(t, "hack/demo.sh", "up")
	g.Expect(err).NotTo(HaveOccurred(), said)
	// What `devcluster up` builds is held by its own tests.
	g.Expect(s.called(t, "devcluster", "make", "go", "docker", "buildah", "demo")).To(HaveExactElements(
		"devcluster up", "devcluster kubeconfig", "make --no-print-directory binaries ARCH=amd64",
		"devcluster image build --tag registry.example.com/me/op:dev --target prebuilt --build-arg BASE=scratch .",
		"devcluster image build --tag registry.example.com/me/demo:dev --file test/workload/Dockerfile bin/linux-amd64",
		"go build -o bin/demo ./test/demo",
		HavePrefix("demo "),
	))
}
