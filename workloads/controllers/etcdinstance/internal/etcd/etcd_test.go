package etcd_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
)

func TestWhichUpgradesEtcdTakes(t *testing.T) {
	for sentence, c := range map[string]struct {
		from, to, says string
	}{
		"a patch":                        {"3.6.1", "3.6.5", ""},
		"a patch back":                   {"3.6.5", "3.6.1", ""},
		"the next minor version":         {"3.6.5", "3.7.0", ""},
		"two minor versions":             {"3.5.9", "3.7.0", "Set spec.image to a version 3.6 first."},
		"a minor version back":           {"3.7.0", "3.6.9", "Set spec.image to a version 3.7 or 3.8."},
		"another major version":          {"3.7.0", "4.0.0", "Set spec.image to a version 3.8 first."},
		"a major version back":           {"4.0.0", "3.7.0", "does not go back"},
		"the same version":               {"3.7.0", "3.7.0", ""},
		"a number of two digits is one":  {"3.9.0", "3.10.0", ""},
		"a number is no text, backwards": {"3.10.0", "3.9.0", "does not go back"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			from, isKnown := etcd.Parse(c.from)
			g.Expect(isKnown).To(BeTrue())
			to, isKnown := etcd.Parse(c.to)
			g.Expect(isKnown).To(BeTrue())
			if c.says == "" {
				g.Expect(etcd.CheckUpgrade(from, to)).To(BeEmpty())
			} else {
				g.Expect(etcd.CheckUpgrade(from, to)).To(ContainSubstring(c.says))
			}
		})
	}
}

func TestTheVersionOfAnImage(t *testing.T) {
	g := NewWithT(t)
	for image, want := range map[string]string{
		"quay.io/coreos/etcd:v3.6.5": "3.6.5", "etcd:3.7.0": "3.7.0", "registry:5000/etcd:v3.7.0-arm64": "3.7.0",
		"registry.k8s.io/etcd:3.6.4-0": "3.6.4",
	} {
		version, isNamed := etcd.OfImage(image)
		g.Expect(isNamed).To(BeTrue(), image)
		g.Expect(version.String()).To(Equal(want))
	}
	for _, image := range []string{"etcd", "etcd:latest", "etcd:v3", "registry:5000/etcd"} {
		_, isNamed := etcd.OfImage(image)
		g.Expect(isNamed).To(BeFalse(), image)
	}
}

func TestAQuorumIsMoreThanHalf(t *testing.T) {
	g := NewWithT(t)
	for voters, want := range []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5} {
		g.Expect(etcd.Quorum(voters)).To(Equal(want))
	}
}
