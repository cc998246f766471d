package image

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The annotations of an OCI archive that hold an image's name: what containerd
// and docker write, and the standard's, which may be a tag only.
const (
	containerdNameAnnotation = "io.containerd.image.name"
	refNameAnnotation        = "org.opencontainers.image.ref.name"
)

// Archive is an opened archive of images.
type Archive struct {
	Images []Archived
	// unpacked is the folder of an OCI archive.
	unpacked string
}

// Archived is one image in an archive, or an index of images.
type Archived struct {
	Reference Reference
	Content   remote.Taggable
}

// Close removes what opening left on disk.
func (a *Archive) Close() error {
	if a.unpacked == "" {
		return nil
	}
	return os.RemoveAll(a.unpacked)
}

// OpenArchive opens a docker or OCI archive. The given name replaces the
// archive's own; it is needed if the archive has none.
func OpenArchive(path, name string) (*Archive, error) {
	files, err := fileNames(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	archive := &Archive{}
	switch {
	// `docker save` writes both forms into one archive; the docker one has the names.
	case files["manifest.json"]:
		archive.Images, err = openDocker(path, name)
	case files["oci-layout"]:
		err = archive.openOCI(path, name)
	default:
		err = errors.New("it is not an image archive: it has neither manifest.json (docker save) nor oci-layout (OCI archive)")
	}
	if err == nil && len(archive.Images) == 0 {
		err = errUnnamed
	}
	if err != nil {
		_ = archive.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return archive, nil
}

var errUnnamed = errors.New("it does not say what its image is called: add --name REGISTRY/NAME:TAG")

func checkOnlyOne(count int, rename string) error {
	if rename != "" && count != 1 {
		return fmt.Errorf("it has %d images, so they cannot all be named %s: leave --name out", count, rename)
	}
	return nil
}

func openDocker(path, rename string) ([]Archived, error) {
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, err
	}
	if err := checkOnlyOne(len(manifest), rename); err != nil {
		return nil, err
	}
	if rename != "" {
		img, err := tarball.Image(open, nil)
		if err != nil {
			return nil, err
		}
		ref, err := ParseReference(rename)
		return []Archived{{ref, img}}, err
	}
	var images []Archived
	for _, entry := range manifest {
		for _, text := range entry.RepoTags {
			tag, err := name.NewTag(text, name.WeakValidation)
			if err != nil {
				return nil, err
			}
			img, err := tarball.Image(open, &tag)
			if err != nil {
				return nil, err
			}
			ref, err := ParseReference(text)
			if err != nil {
				return nil, err
			}
			images = append(images, Archived{ref, img})
		}
	}
	return images, nil
}

func (a *Archive) openOCI(path, rename string) (err error) {
	a.unpacked, err = os.MkdirTemp("", "devcluster-image-")
	if err != nil {
		return err
	}
	if err := extract(path, a.unpacked); err != nil {
		return err
	}
	index, err := layout.ImageIndexFromPath(a.unpacked)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if err := checkOnlyOne(len(manifest.Manifests), rename); err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		text := nameOf(descriptor, rename)
		if text == "" {
			return errUnnamed
		}
		ref, err := ParseReference(text)
		if err != nil {
			return err
		}
		content, err := contentOf(index, descriptor)
		if err != nil {
			return err
		}
		a.Images = append(a.Images, Archived{ref, content})
	}
	return nil
}

func nameOf(descriptor v1.Descriptor, rename string) string {
	for _, candidate := range []string{rename, descriptor.Annotations[containerdNameAnnotation], descriptor.Annotations[refNameAnnotation]} {
		if candidate != "" {
			return candidate
		}
	}
	return ""
}

func contentOf(index v1.ImageIndex, descriptor v1.Descriptor) (remote.Taggable, error) {
	if descriptor.MediaType.IsIndex() {
		return index.ImageIndex(descriptor.Digest)
	}
	return index.Image(descriptor.Digest)
}
