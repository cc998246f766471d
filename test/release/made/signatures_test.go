//go:build e2e

package made_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// signing is a release that is signed with a key of its own.
type signing struct {
	*release
	// tree has the scripts, and the release as dist, so that nothing is written into that.
	tree string
	// environment has no home of a user, and no way to another machine.
	environment []string
}

func (r *release) sign() *signing {
	r.t.Helper()
	tools, err := filepath.Abs(filepath.Join(root, "bin/tools"))
	r.Expect(err).NotTo(HaveOccurred())
	s := &signing{release: r, tree: r.t.TempDir()}
	home := r.t.TempDir()
	s.environment = append(os.Environ(), "TOOLS="+tools, "PATH="+tools+":"+os.Getenv("PATH"), "COSIGN_PASSWORD=", "HOME="+home, "TUF_ROOT="+home,
		"DOCKER_CONFIG="+home, "HELM_CONFIG_HOME="+home, "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1")
	for _, folder := range []string{"hack", "dist"} {
		r.Expect(os.Mkdir(filepath.Join(s.tree, folder), 0o755)).To(Succeed())
	}
	for _, name := range []string{"sign.sh", "push-chart.sh"} {
		script, err := os.ReadFile(filepath.Join(root, "hack", name))
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(os.WriteFile(filepath.Join(s.tree, "hack", name), script, 0o755)).To(Succeed())
	}
	entries, err := os.ReadDir(r.dist)
	r.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		r.Expect(os.Symlink(filepath.Join(r.dist, entry.Name()), filepath.Join(s.tree, "dist", entry.Name()))).To(Succeed())
	}
	for _, name := range []string{"operator", "workloads"} {
		s.must("hack/push-chart.sh", "dist/critical-service-"+name+"-"+strings.TrimPrefix(r.version, "v")+".tgz", r.repository, "--plain-http")
	}
	for _, name := range []string{"ours", "other"} {
		s.must("cosign", "generate-key-pair", "--output-key-prefix", name)
	}
	// No log, no authority, and no server of time.
	s.must("cosign", "signing-config", "create", "--out", "signing.json")
	s.must("cosign", "trusted-root", "create", "--out", "trusted.json")
	return s
}

func (s *signing) run(program string, arguments ...string) (string, error) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "bash", append([]string{"-c", `"$0" "$@"`, program}, arguments...)...)
	command.Dir, command.Env = s.tree, s.environment
	output, err := command.CombinedOutput()
	return string(output), err
}

func (s *signing) must(program string, arguments ...string) {
	s.t.Helper()
	said, err := s.run(program, arguments...)
	s.Expect(err).NotTo(HaveOccurred(), "%s: %s", program, said)
}

// verify runs a command of the documents, where the variables mean this release and a key.
func (s *signing) verify(key, image, command string) (string, error) {
	s.t.Helper()
	command = strings.NewReplacer("quay.io/critical-service", s.repository, ":1.0.0", ":"+strings.TrimPrefix(s.version, "v")).Replace(command)
	script := "who=(--key ../" + key + ".pub --insecure-ignore-tlog)\nimage=" + image + "\ncd dist\n" + command
	return s.run("bash", "-euo", "pipefail", "-c", script)
}

// documented are the commands by which a user verifies a release, after those that set variables.
func (s *signing) documented() []string {
	s.t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/maintainers/release.md"))
	s.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "\n## Verifying a release\n")
	s.Expect(found).To(BeTrue())
	_, section, found = strings.Cut(section, "\n```sh\n")
	s.Expect(found).To(BeTrue())
	block, _, _ := strings.Cut(section, "\n```")
	lines := strings.Split(block, "\n")
	s.Expect(lines[0]).To(Equal("who=(--certificate-identity https://github.com/critical-service/operator/.github/workflows/release.yaml@refs/tags/v1.0.0" +
		" --certificate-oidc-issuer https://token.actions.githubusercontent.com)"))
	s.Expect(lines[1]).To(Equal("image=quay.io/critical-service/operator:v1.0.0"))
	s.Expect(len(lines)).To(BeNumerically(">", 5))
	return lines[2:]
}

func TestAReleaseIsSignedByTheKeyAndNoOther(t *testing.T) {
	s := published(t).sign()
	s.must("hack/sign.sh", s.version, s.repository, "--key", "ours.key", "--signing-config", "signing.json", "--trusted-root", "trusted.json")

	for _, command := range s.documented() {
		said, err := s.verify("ours", s.image("operator"), command)
		s.Expect(err).NotTo(HaveOccurred(), "%s: %s", command, said)
		said, err = s.verify("other", s.image("operator"), command)
		s.Expect(err).To(HaveOccurred(), "%s, with another key", command)
		s.Expect(said).To(ContainSubstring("failed to verify signature"), "%s, with another key", command)
	}
	for name := range s.digests {
		for architecture := range machines {
			said, err := s.verify("ours", s.image(name), `cosign verify "${who[@]}" "$(crane digest --full-ref --platform linux/`+architecture+` "$image")"`)
			s.Expect(err).NotTo(HaveOccurred(), "%s of %s: %s", name, architecture, said)
		}
	}

	// Another content under the same name, as of one who may write to the registry.
	s.tool("crane", "mutate", "--platform", "linux/amd64", "--label", "changed=true", "--tag", s.image("operator"), s.image("operator"))
	changed := 0
	for _, command := range s.documented() {
		if strings.Contains(command, "$image") {
			changed++
			said, err := s.verify("ours", s.image("operator"), command)
			s.Expect(err).To(HaveOccurred(), "%s, of another image", command)
			s.Expect(said).To(MatchRegexp("no (signatures found|matching attestations)"), "%s, of another image", command)
		}
	}
	s.Expect(changed).To(BeNumerically(">", 2))
	sums := filepath.Join(s.tree, "dist/SHA256SUMS")
	s.Expect(os.Remove(sums)).To(Succeed())
	s.Expect(os.WriteFile(sums, []byte(strings.Repeat("0", 64)+"  ./install.yaml\n"), 0o600)).To(Succeed())
	said, err := s.verify("ours", "", `cosign verify-blob "${who[@]}" --bundle SHA256SUMS.sigstore.json SHA256SUMS`)
	s.Expect(err).To(HaveOccurred(), "other checksums")
	s.Expect(said).To(ContainSubstring("failed to verify signature"))
}
