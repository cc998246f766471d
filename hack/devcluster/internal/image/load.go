package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The annotations of an OCI archive that hold an image's name: what containerd
// and docker write, and the standard's, which may be a tag only.
const (
	containerdNameAnnotation = "io.containerd.image.name"
	refNameAnnotation        = "org.opencontainers.image.ref.name"
)

// Load puts the images of a docker or OCI archive into the local registry. The
// name given replaces the archive's own; it is needed if the archive has none.
func Load(ctx context.Context, archive, rename string) ([]Reference, error) {
	isOCI, err := hasFile(archive, "oci-layout")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	// `docker save` writes both forms into one archive; the docker one has the names.
	isDocker, err := hasFile(archive, "manifest.json")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	switch {
	case isDocker:
		return loadDocker(ctx, archive, rename)
	case isOCI:
		return loadOCI(ctx, archive, rename)
	}
	return nil, fmt.Errorf("%s is not an image archive: it has neither manifest.json (docker save) nor oci-layout (OCI archive)", archive)
}

func loadDocker(ctx context.Context, archive, rename string) ([]Reference, error) {
	open := func() (io.ReadCloser, error) { return os.Open(archive) }
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	if rename != "" {
		if len(manifest) != 1 {
			return nil, fmt.Errorf("%s has %d images, so they cannot all be named %s: leave --name out", archive, len(manifest), rename)
		}
		img, err := tarball.Image(open, nil)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", archive, err)
		}
		return pushAs(rename, func(ref Reference) error { return Push(ctx, ref, img) })
	}
	var loaded []Reference
	for _, entry := range manifest {
		for _, tag := range entry.RepoTags {
			parsed, err := name.NewTag(tag, name.WeakValidation)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", archive, err)
			}
			img, err := tarball.Image(open, &parsed)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", archive, err)
			}
			refs, err := pushAs(tag, func(ref Reference) error { return Push(ctx, ref, img) })
			if err != nil {
				return nil, err
			}
			loaded = append(loaded, refs...)
		}
	}
	if len(loaded) == 0 {
		return nil, unnamed(archive)
	}
	return loaded, nil
}

func loadOCI(ctx context.Context, archive, rename string) ([]Reference, error) {
	dir, err := os.MkdirTemp("", "devcluster-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := extract(archive, dir); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", archive, err)
	}
	if rename != "" && len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d images, so they cannot all be named %s: leave --name out", archive, len(manifest.Manifests), rename)
	}
	var loaded []Reference
	for _, descriptor := range manifest.Manifests {
		own := rename
		for _, annotation := range []string{containerdNameAnnotation, refNameAnnotation} {
			if own == "" {
				own = descriptor.Annotations[annotation]
			}
		}
		if own == "" {
			return nil, unnamed(archive)
		}
		refs, err := pushAs(own, func(ref Reference) error { return pushDescriptor(ctx, ref, index, descriptor) })
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, refs...)
	}
	return loaded, nil
}

func pushDescriptor(ctx context.Context, ref Reference, index v1.ImageIndex, descriptor v1.Descriptor) error {
	if descriptor.MediaType.IsIndex() {
		child, err := index.ImageIndex(descriptor.Digest)
		if err != nil {
			return err
		}
		return pushIndex(ctx, ref, child)
	}
	img, err := index.Image(descriptor.Digest)
	if err != nil {
		return err
	}
	return Push(ctx, ref, img)
}

func pushAs(image string, push func(Reference) error) ([]Reference, error) {
	ref, err := ParseReference(image)
	if err != nil {
		return nil, err
	}
	return []Reference{ref}, push(ref)
}

func unnamed(archive string) error {
	return fmt.Errorf("%s does not say what its image is called: add --name REGISTRY/NAME:TAG", archive)
}

func hasFile(archive, file string) (bool, error) {
	f, err := os.Open(archive)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if filepath.Clean(header.Name) == file {
			return true, nil
		}
	}
}

// extract unpacks the regular files of an archive, which is all that an OCI layout has.
func extract(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	// Root refuses names that lead out of the folder.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := extractFile(root, filepath.Clean(header.Name), r); err != nil {
			return err
		}
	}
}

func extractFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, content); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
