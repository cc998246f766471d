package make_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/checkout"
)

func TestADefinitionMayReplaceThatOfTheLastRelease(t *testing.T) {
	const definition = "config/crd/bases/mycrd.com_servicefallbacks.yaml"
	copied := checkout.New(t, root)
	git := func(arguments ...string) {
		t.Helper()
		said, err := copied.Run(t, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, arguments...)...)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), said)
	}
	git("init", "--quiet")
	git("add", "config/crd", "workloads/config/crd")
	git("commit", "--quiet", "--message", "Released")
	t.Run("nothing is compared before the first release", func(t *testing.T) {
		said, err := copied.Run(t, "hack/crdify.sh")
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), said)
		NewWithT(t).Expect(said).To(ContainSubstring("There is no release in the history yet"))
	})
	git("tag", "v1.2.3")
	released := copied.Read(t, definition)

	for sentence, c := range map[string]struct {
		old, changed string
		refused      bool
		says         string
	}{
		"as it is it may":           {"", "", false, "All definitions may replace those of v1.2.3."},
		"with another text it may":  {"description: ", "description: Also, ", false, "All definitions may replace those of v1.2.3."},
		"with a smaller maximum":    {"maxLength: 253", "maxLength: 200", true, "maximum decreased : 253 -> 200"},
		"with another rule for all": {"rule: ", "rule: true && ", true, "OLM v1 would refuse the upgrade from v1.2.3"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(released).To(ContainSubstring(c.old))
			changed := strings.Replace(released, c.old, c.changed, 1)
			copied.Write(t, definition, changed, 0o600)
			said, err := copied.Run(t, "hack/crdify.sh")
			g.Expect(err != nil).To(Equal(c.refused), said)
			g.Expect(said).To(ContainSubstring(c.says))
		})
	}
	t.Run("a kind that the release does not have is new", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(os.Rename(copied.Path(definition), copied.Path("config/crd/bases/new.yaml"))).To(Succeed())
		said, err := copied.Run(t, "hack/crdify.sh")
		g.Expect(err).NotTo(HaveOccurred(), said)
		g.Expect(said).To(ContainSubstring("config/crd/bases/new.yaml is new since v1.2.3."))
	})
}
