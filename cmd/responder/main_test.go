package main

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/listener"
	probe "github.com/critical-service/operator/internal/probe/command"
)

// The operator and the plugin start the program by its path in the image.
func TestTheImageHasTheProgram(t *testing.T) {
	g := NewWithT(t)
	dockerfile, err := os.ReadFile("../../Dockerfile")
	g.Expect(err).NotTo(HaveOccurred())
	for _, stage := range []string{"COPY bin/linux-${TARGETARCH}/responder ", "COPY --from=build /responder "} {
		g.Expect(string(dockerfile)).To(ContainSubstring(stage + listener.Program + "\n"))
	}
}

func TestTheCommand(t *testing.T) {
	g := NewWithT(t)
	root := command()
	server, flags, err := root.Find([]string{"--listeners=20000-20063"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server).To(BeIdenticalTo(root))
	g.Expect(server.ParseFlags(flags)).To(Succeed())
	prober, _, err := root.Find([]string{probe.Name, "--tries=1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(prober.Name()).To(Equal("probe"))

	out := &strings.Builder{}
	root.SetOut(out)
	root.SetArgs([]string{"--version"})
	g.Expect(root.Execute()).To(Succeed())
	g.Expect(out.String()).To(Equal("responder version dev (commit unknown)\n"))
}
