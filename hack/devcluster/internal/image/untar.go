package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// eachFile visits the regular files of an archive.
func eachFile(archive string, visit func(name string, content io.Reader) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
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
		if err := visit(filepath.Clean(header.Name), r); err != nil {
			return err
		}
	}
}

func fileNames(archive string) (map[string]bool, error) {
	names := map[string]bool{}
	err := eachFile(archive, func(name string, _ io.Reader) error {
		names[name] = true
		return nil
	})
	return names, err
}

// extract unpacks an archive into a folder, which no name in it can lead out of.
func extract(archive, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return eachFile(archive, func(name string, content io.Reader) error {
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
	})
}
