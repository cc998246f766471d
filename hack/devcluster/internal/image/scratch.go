package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Scratch is an image of given files, without a base. It needs no root and no
// build tool.
type Scratch struct {
	Files      []File
	User       string
	Entrypoint []string
	Env        []string
}

// File is a file, a folder or a symbolic link in an image.
type File struct {
	header  tar.Header
	source  string
	content string
}

// Copy is a program of this machine.
func Copy(path, source string) File {
	return File{header: tar.Header{Name: path, Mode: 0o755, Typeflag: tar.TypeReg}, source: source}
}

// Text is a file with this content.
func Text(path, content string) File {
	return File{header: tar.Header{Name: path, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(content))}, content: content}
}

// Link is a symbolic link.
func Link(path, target string) File {
	return File{header: tar.Header{Name: path, Linkname: target, Mode: 0o777, Typeflag: tar.TypeSymlink}}
}

// Folder is an empty folder.
func Folder(path string, mode int64) File {
	return File{header: tar.Header{Name: path + "/", Mode: mode, Typeflag: tar.TypeDir}}
}

// recipeLabel has the key of the Scratch that an image was made from.
const recipeLabel = "devcluster.recipe"

// Image makes the image. The same files make the same image.
func (s Scratch) Image() (v1.Image, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	// Uncompressed would be faster still, but registries and runtimes agree only
	// on gzip. The cache saves compressing a second time for the upload.
	layer, err := tarball.LayerFromOpener(s.open, tarball.WithCompressionLevel(1), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config.User, file.Config.Entrypoint, file.Config.Env = s.User, s.Entrypoint, s.Env
	file.Config.Labels = map[string]string{recipeLabel: key}
	return mutate.ConfigFile(img, file)
}

// IsCurrent reports whether the local registry has the image as it would be made
// now: making the larger ones takes seconds, and asking takes none.
func (s Scratch) IsCurrent(ctx context.Context, ref Reference) (bool, error) {
	key, err := s.key()
	if err != nil {
		return false, err
	}
	target, err := name.ParseReference(ref.Local, name.Insecure)
	if err != nil {
		return false, err
	}
	img, err := remote.Image(target, remote.WithContext(ctx))
	if err != nil {
		// Whatever prevents the reading, a push repairs it or says why it cannot.
		return false, nil
	}
	file, err := img.ConfigFile()
	if err != nil {
		return false, nil
	}
	return file.Config.Labels[recipeLabel] == key, nil
}

// key stands for everything that makes the image. A program counts by its size
// and time: it is replaced as a whole if at all.
func (s Scratch) key() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", s.User, s.Entrypoint, s.Env)
	for _, f := range s.Files {
		fmt.Fprintf(h, "%q %q %o %q %q", f.header.Name, f.header.Linkname, f.header.Mode, f.content, f.source)
		if f.source != "" {
			info, err := os.Stat(f.source)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, " %d %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// open streams the files as an archive: the programs together are larger than
// what one wants to keep in memory.
func (s Scratch) open() (io.ReadCloser, error) {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(s.write(writer)) }()
	return reader, nil
}

func (s Scratch) write(out io.Writer) error {
	w := tar.NewWriter(out)
	for _, f := range s.Files {
		if err := f.write(w); err != nil {
			return fmt.Errorf("%s: %w", f.header.Name, err)
		}
	}
	return w.Close()
}

func (f File) write(w *tar.Writer) error {
	header := f.header
	header.Format = tar.FormatPAX
	var content io.Reader = strings.NewReader(f.content)
	if f.source != "" {
		file, err := os.Open(f.source)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		header.Size, content = info.Size(), file
	}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := io.Copy(w, content)
	return err
}
