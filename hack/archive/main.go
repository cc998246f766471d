// Command archive packs files into a .tar.gz or a .zip, for the release of the
// kubectl plugin. The same files give the same bytes on every machine, which tar and
// zip of different systems do not.
//
//	archive OUTPUT FILE...
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("give the archive and the files that it is to have: archive OUTPUT FILE")
	}
	at, err := moment()
	if err != nil {
		return err
	}
	output, files := arguments[0], arguments[1:]
	pack := packTar
	switch {
	case strings.HasSuffix(output, ".zip"):
		pack = packZip
	case !strings.HasSuffix(output, ".tar.gz"):
		return fmt.Errorf("%s is neither a .tar.gz nor a .zip", output)
	}
	archive, err := os.Create(output)
	if err != nil {
		return err
	}
	return errors.Join(pack(archive, files, at), archive.Close())
}

// moment is the time of all files: SOURCE_DATE_EPOCH, or that of the first archives.
func moment() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// modeOf is that of a program or of a text, whatever the umask was.
func modeOf(info os.FileInfo) os.FileMode {
	if info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

func packTar(out io.Writer, files []string, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		err := copied(file, func(info os.FileInfo) (io.Writer, error) {
			err := archive.WriteHeader(&tar.Header{
				Name: filepath.Base(file), Mode: int64(modeOf(info)), Size: info.Size(), ModTime: at, Format: tar.FormatUSTAR,
			})
			return archive, err
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func packZip(out io.Writer, files []string, at time.Time) error {
	archive := zip.NewWriter(out)
	for _, file := range files {
		err := copied(file, func(info os.FileInfo) (io.Writer, error) {
			header := &zip.FileHeader{Name: filepath.Base(file), Method: zip.Deflate, Modified: at}
			header.SetMode(modeOf(info))
			return archive.CreateHeader(header)
		})
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// copied copies a file to where begin says.
func copied(file string, begin func(os.FileInfo) (io.Writer, error)) error {
	source, err := os.Open(file)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := begin(info)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return err
}
