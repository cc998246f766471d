//go:build e2e

package made_test

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// machines are those of the architectures, and the order of their bytes.
var machines = map[string]struct {
	machine elf.Machine
	order   binary.ByteOrder
}{
	"amd64": {elf.EM_X86_64, binary.LittleEndian}, "arm64": {elf.EM_AARCH64, binary.LittleEndian},
	"ppc64le": {elf.EM_PPC64, binary.LittleEndian}, "s390x": {elf.EM_S390, binary.BigEndian},
}

// content are the programs of an image, by path, with the package whose SBOMs they have; that of the catalog is of others.
type content struct {
	programs []string
	sboms    string
	title    string
}

var contents = map[string]content{
	"operator":            {[]string{"manager", "responder"}, "critical-service-operator", "critical-service-operator"},
	"operator-scorecard":  {[]string{"usr/local/bin/scorecard"}, "critical-service-operator", "critical-service-operator scorecard"},
	"operator-bundle":     {},
	"workloads":           {[]string{"manager", "meter", "snapshot"}, "critical-service-workloads", "critical-service-workloads"},
	"workloads-scorecard": {[]string{"usr/local/bin/scorecard"}, "critical-service-workloads", "critical-service-operator scorecard"},
	"workloads-bundle":    {},
	"operator-catalog":    {[]string{"bin/opm"}, "", "critical-service-operator catalog"},
}

// index is what these tests look at in the index of an image.
type index struct {
	Manifests []struct {
		Platform struct {
			OS           string `json:"os"`
			Architecture string `json:"architecture"`
		} `json:"platform"`
	} `json:"manifests"`
}

// configuration is what they look at in the configuration of one of its images.
type configuration struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Config       struct {
		User   string            `json:"User"`
		Labels map[string]string `json:"Labels"`
	} `json:"config"`
}

func TestEveryImageIsOfAllArchitectures(t *testing.T) {
	r := published(t)
	commit := r.commit()
	for name, expected := range contents {
		t.Run(name, func(t *testing.T) {
			r := *r
			r.WithT, r.t = NewWithT(t), t
			var read index
			r.Expect(json.Unmarshal([]byte(r.tool("crane", "manifest", r.image(name))), &read)).To(Succeed())
			var platforms []string
			for _, one := range read.Manifests {
				platforms = append(platforms, one.Platform.OS+"/"+one.Platform.Architecture)
			}
			r.Expect(platforms).To(ConsistOf("linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"))
			for architecture := range machines {
				r.has(name, architecture, commit, expected)
			}
		})
	}
}

// has checks the image of one architecture.
func (r *release) has(name, architecture, commit string, expected content) {
	r.t.Helper()
	var read configuration
	r.Expect(json.Unmarshal([]byte(r.tool("crane", "config", "--platform", "linux/"+architecture, r.image(name))), &read)).To(Succeed())
	r.Expect(read.OS + "/" + read.Architecture).To(Equal("linux/" + architecture))
	files := r.files(name, architecture)
	var programs []string
	for path, data := range files {
		if bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
			programs = append(programs, path)
			r.runsOn(architecture, path, data)
		}
	}
	r.Expect(programs).To(ConsistOf(expected.programs))
	if expected.title == "" {
		r.Expect(read.Config.Labels).To(HaveKey("operators.operatorframework.io.bundle.package.v1"))
		return
	}
	r.Expect(read.Config.Labels).To(And(
		HaveKeyWithValue("org.opencontainers.image.title", expected.title), HaveKeyWithValue("org.opencontainers.image.version", r.version),
		HaveKeyWithValue("org.opencontainers.image.licenses", "Apache-2.0"), HaveKey("org.opencontainers.image.description"),
		HaveKeyWithValue("org.opencontainers.image.source", "https://github.com/critical-service/operator")))
	if expected.sboms == "" {
		return // A program of others.
	}
	r.Expect(read.Config.User).To(Equal("65532:65532"))
	r.Expect(read.Config.Labels).To(HaveKeyWithValue("org.opencontainers.image.revision", commit))
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(files).To(HaveKeyWithValue("licenses/LICENSE", license))
	for _, path := range expected.programs {
		r.isAccountedFor(expected.sboms+"-"+filepath.Base(path)+"_linux_"+architecture, files[path], string(files["licenses/THIRD_PARTY_LICENSES"]))
	}
}

// files are what is in the image of an architecture.
func (r *release) files(name, architecture string) map[string][]byte {
	r.t.Helper()
	files := map[string][]byte{}
	for reader := tar.NewReader(strings.NewReader(r.tool("crane", "export", "--platform", "linux/"+architecture, r.image(name), "-"))); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		r.Expect(err).NotTo(HaveOccurred())
		if header.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(reader)
			r.Expect(err).NotTo(HaveOccurred())
			files[strings.TrimPrefix(filepath.Clean(header.Name), "/")] = data
		}
	}
}

// runsOn checks that a program is one for an architecture, and needs nothing else of an image.
func (r *release) runsOn(architecture, path string, data []byte) {
	r.t.Helper()
	program, err := elf.NewFile(bytes.NewReader(data))
	r.Expect(err).NotTo(HaveOccurred(), path)
	r.Expect(program.Machine).To(Equal(machines[architecture].machine), "%s of %s", path, architecture)
	r.Expect(program.ByteOrder).To(Equal(machines[architecture].order), "%s of %s", path, architecture)
	for _, part := range program.Progs {
		r.Expect(part.Type).NotTo(Equal(elf.PT_INTERP), "%s of %s is not static", path, architecture)
	}
}

// isAccountedFor checks that each module in a program is in its SBOM, and its licence in the image.
func (r *release) isAccountedFor(sbom string, program []byte, licenses string) {
	r.t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	r.Expect(err).NotTo(HaveOccurred(), sbom)
	var bom struct {
		Components []struct{ Name, Version string }
	}
	r.Expect(json.Unmarshal([]byte(r.read("sbom/"+sbom+".cdx.json")), &bom)).To(Succeed())
	components := map[string]string{}
	for _, component := range bom.Components {
		components[component.Name] = component.Version
	}
	for _, module := range info.Deps {
		if strings.HasPrefix(module.Path, "github.com/critical-service/operator") {
			continue
		}
		r.Expect(components).To(HaveKeyWithValue(module.Path, module.Version), sbom)
		r.Expect(licenses).To(ContainSubstring("\n"+module.Path+" "+module.Version+": "), sbom)
	}
}
