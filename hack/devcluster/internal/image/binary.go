package image

import v1 "github.com/google/go-containerregistry/pkg/v1"

// FromBinary makes an image of one static binary and nothing else.
func FromBinary(path, name string) (v1.Image, error) {
	return Scratch{Files: []File{Copy(name, path)}, Entrypoint: []string{"/" + name}}.Image()
}
