package olm

import (
	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/image"
)

const (
	organisation = "quay.io/operator-framework/"

	// decompressImage unpacks the bundle for `operator-sdk run bundle`, which asks for it by this name.
	decompressImage = "registry.access.redhat.com/ubi9/ubi:9.8"

	// The scorecard of operator-sdk names its two helpers by the digests of the
	// published images (internal/cmd/operator-sdk/scorecard/cmd.go), which no other image can have.
	untarDigest   = "sha256:2e728c5e67a7f4dec0df157a322dd5671212e8ae60f69137463bd4fdfbff8747"
	storageDigest = "sha256:a3bfda71281393c7794cabdd39c563fb050d3020fd0b642ea164646bdd39a0e2"

	// user is whom OLM's own images run as. A number, because the kubelet cannot
	// tell of a name that it is not root's.
	user = "1001"
)

// Image is an image that OLM, its catalogs or operator-sdk use.
type Image struct {
	Names   []string
	Content image.Scratch
	// Alias is a name with a digest that the node takes for this image.
	Alias string
}

// Builder knows the binaries that images are made of.
type Builder interface {
	Binary(build.Component) (string, error)
	Version(build.Component) (string, error)
}

// Images of the versions that are pinned, with a static busybox for those that
// need a shell.
func Images(builder Builder, busybox string) ([]Image, error) {
	m := &maker{builder: builder, busybox: busybox}
	images := []Image{
		m.manager(), m.registry(), m.scorecardTest(),
		{Names: []string{decompressImage}, Content: m.shell("")},
		{Names: []string{organisation + "scorecard-untar:latest"}, Content: m.shell(user), Alias: organisation + "scorecard-untar@" + untarDigest},
		{Names: []string{organisation + "scorecard-storage:latest"}, Content: m.shell(user), Alias: organisation + "scorecard-storage@" + storageDigest},
	}
	return images, m.err
}

// V1Images are those of OLM v1, and of cert-manager.
func V1Images(builder Builder) ([]Image, error) {
	m := &maker{builder: builder}
	images := []Image{
		m.program(organisation+"operator-controller", "operator-controller", build.OperatorController),
		m.program(organisation+"catalogd", "catalogd", build.Catalogd),
		m.program("quay.io/jetstack/cert-manager-controller", "bin/controller", build.CertManager),
		m.program("quay.io/jetstack/cert-manager-cainjector", "bin/cainjector", build.CAInjector),
	}
	return images, m.err
}

// maker remembers the first error, so that the images can be written as a list.
type maker struct {
	builder Builder
	busybox string
	err     error
}

func (m *maker) binary(c build.Component) string {
	path, err := m.builder.Binary(c)
	if m.err == nil {
		m.err = err
	}
	return path
}

func (m *maker) version(c build.Component) string {
	version, err := m.builder.Version(c)
	if m.err == nil {
		m.err = err
	}
	return version
}

// manager is OLM itself, and what its Jobs copy out of it to unpack bundles.
func (m *maker) manager() Image {
	content := m.shell(user)
	content.Entrypoint = []string{"/bin/olm"}
	for _, c := range []build.Component{
		build.OLMOperator, build.CatalogOperator, build.PackageServer, build.CopyContent, build.CopyBundle,
	} {
		content.Files = append(content.Files, image.Copy("bin/"+c.Name, m.binary(c)))
	}
	return Image{Names: []string{organisation + "olm:" + m.version(build.OLMOperator)}, Content: content}
}

// registry serves catalogs, and is the base of their images. OLM and operator-sdk
// ask for the latest one; a catalog's Dockerfile may rather pin the version.
func (m *maker) registry() Image {
	content := m.shell(user)
	content.Entrypoint = []string{"/bin/opm"}
	for _, c := range []build.Component{build.OPM, build.HealthProbe} {
		content.Files = append(content.Files, image.Copy("bin/"+c.Name, m.binary(c)))
	}
	return Image{Names: []string{organisation + "opm:latest", organisation + "opm:" + m.version(build.OPM)}, Content: content}
}

func (m *maker) scorecardTest() Image {
	return m.program(organisation+"scorecard-test", "usr/local/bin/scorecard-test", build.ScorecardTest)
}

// program is an image of nothing but a program.
func (m *maker) program(name, path string, c build.Component) Image {
	return Image{
		Names: []string{name + ":" + m.version(c)},
		Content: image.Scratch{
			Files: append(foundation(), image.Copy(path, m.binary(c))),
			User:  user, Env: environment(), Entrypoint: []string{"/" + path},
		},
	}
}

// shell is what the images that need one have in common.
func (m *maker) shell(user string) image.Scratch {
	files := append(foundation(), image.Copy("bin/busybox", m.busybox))
	for _, name := range []string{
		"ash", "base64", "basename", "cat", "chmod", "cp", "cut", "date", "dirname", "du", "echo", "env", "false",
		"find", "grep", "gunzip", "gzip", "head", "hostname", "id", "ln", "ls", "md5sum", "mkdir", "mktemp", "mv",
		"nslookup", "ps", "pwd", "rm", "rmdir", "sed", "sh", "sha256sum", "sleep", "sort", "stat", "tail", "tar",
		"tee", "test", "touch", "tr", "true", "uname", "vi", "wc", "wget", "whoami", "xargs",
	} {
		files = append(files, image.Link("bin/"+name, "busybox"))
	}
	return image.Scratch{Files: files, User: user, Env: environment()}
}

// foundation is what programs expect of any system.
func foundation() []image.File {
	return []image.File{
		image.Text("etc/passwd", "root:x:0:0:root:/:/bin/sh\nuser:x:"+user+":0:user:/tmp:/bin/sh\n"),
		image.Text("etc/group", "root:x:0:\n"),
		image.Text("etc/nsswitch.conf", "hosts: files dns\n"),
		image.Folder("tmp", 0o1777),
	}
}

func environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
}
