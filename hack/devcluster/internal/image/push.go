package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push puts an image, or an index of images, into the local registry.
func Push(ctx context.Context, ref Reference, content remote.Taggable) error {
	target, err := name.ParseReference(ref.Local, name.Insecure)
	if err != nil {
		return err
	}
	if err := remote.Push(target, content, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s into the local registry: %w", ref.Full, err)
	}
	return nil
}
