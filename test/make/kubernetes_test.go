package make_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheVersionOfKubernetesReachesWhatMakeRuns(t *testing.T) {
	for sentence, c := range map[string]struct{ environment, arguments []string }{
		"from the command line":    {nil, []string{"KUBERNETES=1.28"}},
		"from the environment":     {[]string{"KUBERNETES=1.28"}, nil},
		"in the workloads as well": {nil, []string{"--directory=workloads", "KUBERNETES=1.28"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			repo := repository()
			repo.Env = append(repo.Env, c.environment...)
			said, err := repo.Run(t, "make", append(c.arguments, "--no-print-directory", "--eval=version: ; @echo of $$KUBERNETES", "version")...)
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).To(Equal("of 1.28\n"))
		})
	}
}

func TestTheConsumersAreTestedInTheModesThatKubeProxyHas(t *testing.T) {
	for sentence, c := range map[string]struct{ environment, arguments, modes []string }{
		"both":                                    {nil, nil, []string{"nftables", "iptables"}},
		"one that is given":                       {nil, []string{"nftables"}, []string{"nftables"}},
		"the only one of Kubernetes 1.28":         {[]string{"KUBERNETES=1.28"}, nil, []string{"iptables"}},
		"both again in a later one":               {[]string{"KUBERNETES=1.31"}, nil, []string{"nftables", "iptables"}},
		"what is given is never another silently": {[]string{"KUBERNETES=1.28"}, []string{"nftables"}, []string{"nftables"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.environment...)
			for _, program := range []string{"stubs/haproxy", "stubs/apt-get", "stubs/go", "hack/gotest.sh", "test/consumers/build.sh"} {
				s.Write(t, program, stub, 0o755)
			}
			said, err := s.Run(t, "test/consumers/run.sh", c.arguments...)
			g.Expect(err).NotTo(HaveOccurred(), said)
			var calls []string
			for _, mode := range c.modes {
				calls = append(calls, "devcluster up --proxy-mode "+mode)
			}
			g.Expect(s.called(t, "devcluster up")).To(Equal(calls))
		})
	}
}

func TestAVersionOfKubernetesIsRefusedForAnotherCluster(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, append([]string{"KUBECONFIG=far-away", "KUBERNETES=1.28"}, fork...)...)
	said, err := s.Run(t, "hack/run-bundle.sh", "up")
	g.Expect(err).To(HaveOccurred())
	g.Expect(said).To(ContainSubstring("KUBERNETES=1.28 chooses the version of the devcluster, and KUBECONFIG is that of another cluster: give one of them"))
}
