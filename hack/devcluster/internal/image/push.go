package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push puts an image into the local registry.
func Push(ctx context.Context, ref Reference, img v1.Image) error {
	target, err := name.ParseReference(ref.Local, name.Insecure)
	if err != nil {
		return err
	}
	if err := remote.Write(target, img, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s into the local registry: %w", ref.Full, err)
	}
	return nil
}

// pushIndex puts an image for several platforms into the local registry.
func pushIndex(ctx context.Context, ref Reference, index v1.ImageIndex) error {
	target, err := name.ParseReference(ref.Local, name.Insecure)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(target, index, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s into the local registry: %w", ref.Full, err)
	}
	return nil
}
