package make_test

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/checkout"
)

// `kustomize edit set image`, as the scaffold's deploy does it, gives the image another name.
func TestManifestsHaveTheImageThatIsGiven(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	copied := checkout.New(t, root)
	for folder, image := range map[string]string{".": "operator", "workloads": "workloads"} {
		g := NewWithT(t)
		for _, given := range []string{"registry.example.com/me/op:v1", "registry.example.com/me/op" + digest, "localhost:5000/op:v1" + digest} {
			said, err := copied.Run(t, "hack/render.sh", given, folder)
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).To(ContainSubstring("image: " + given + "\n"))
		}
		tools, err := filepath.EvalSymlinks(copied.Path("bin/tools"))
		g.Expect(err).NotTo(HaveOccurred())
		said, err := copied.Run(t, "bash", "-euc", "cd "+folder+"/config/manager && "+tools+"/kustomize edit set image quay.io/critical-service/"+image+"=registry.example.com/me/op:old")
		g.Expect(err).NotTo(HaveOccurred(), said)
		for _, target := range []string{"bundle", "build-installer"} {
			said, err := copied.Run(t, "make", "--directory="+folder, target, "IMG=registry.example.com/me/op:v1")
			g.Expect(err).To(HaveOccurred(), said)
			g.Expect(said).To(ContainSubstring("The manifests do not have the image registry.example.com/me/op:v1: " + folder + "/config/manager must name " +
				"the operator's image quay.io/critical-service/" + image + ",\nwhich is replaced there."))
		}
	}
}

// Red Hat's certification looks for /licenses, and authors ask that their licences go with every copy.
func TestEveryImageHasTheLicencesOfWhatIsInIt(t *testing.T) {
	repo := repository()
	ignored := repo.Read(t, ".dockerignore")
	for dockerfile, folder := range map[string]string{"Dockerfile": "bin/", "workloads/Dockerfile": "bin/workloads/"} {
		g := NewWithT(t)
		text := repo.Read(t, dockerfile)
		base, stages, found := strings.Cut(text, "\nFROM base AS prebuilt\n")
		g.Expect(found).To(BeTrue())
		g.Expect(base).To(HaveSuffix("\nCOPY LICENSE /licenses/\n\n# Before the stages that need a registry: some builders go through all stages up to their target."))
		prebuilt, rest, _ := strings.Cut(stages, "\nFROM ")
		g.Expect(prebuilt).To(ContainSubstring("\nCOPY " + folder + "linux-${TARGETARCH}/THIRD_PARTY_LICENSES /licenses/\n"))
		_, last, _ := strings.Cut(rest, "\nFROM base\n")
		g.Expect(last).To(ContainSubstring("\nCOPY --from=build /THIRD_PARTY_LICENSES /licenses/\n"))
		for _, needed := range []string{"LICENSE", "hack/licenses", folder + "linux-*/THIRD_PARTY_LICENSES"} {
			g.Expect(ignored).To(ContainSubstring("\n!" + needed + "\n"))
		}

		// Of the programs that the image has, whichever way it is built.
		said, err := planned(t, "--directory=./"+strings.TrimSuffix(dockerfile, "Dockerfile"), "binaries", "scorecard-binary", "ARCH=arm64")
		g.Expect(err).NotTo(HaveOccurred(), said)
		programs := words(`THIRD_PARTY_LICENSES ((?:\./?\S* ?)+)`, text)
		g.Expect(programs).To(HaveLen(1))
		g.Expect(said).To(ContainSubstring(" -arch arm64 " + folder + "linux-arm64/THIRD_PARTY_LICENSES " + programs[0] + "\n"))
		g.Expect(words(`(?m)^COPY --from=build /(\w+) /`, last)).To(HaveLen(len(strings.Fields(programs[0])) + 1))
		g.Expect(said).To(ContainSubstring(" -arch arm64 " + folder + "linux-arm64/scorecard.THIRD_PARTY_LICENSES ./test/scorecard\n"))
	}
	NewWithT(t).Expect(repo.Read(t, "test/scorecard/Dockerfile")).To(ContainSubstring("\nCOPY scorecard.THIRD_PARTY_LICENSES /licenses/THIRD_PARTY_LICENSES\n"))
}
