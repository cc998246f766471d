// Package console is what the programs that back etcds up have in common at a terminal: where a
// snapshot is written and when it gets its name, and what a person sees meanwhile.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/etcd/remote"
)

// ErrTerminal is of a snapshot that would be written to a terminal.
var ErrTerminal = errors.New("a snapshot is binary, and the output is a terminal: name a file, or redirect the output to one")

// Console is where a program writes: what it is for, and what a person sees meanwhile.
type Console struct {
	Out, ErrOut io.Writer
}

// Backup writes a snapshot to a file, or to the output if the name is empty or "-". A file gets its
// name when the snapshot is whole, and one that exists is replaced only if that is wanted.
func (c Console) Backup(ctx context.Context, client *remote.Client, instance types.NamespacedName, file string, replace bool) error {
	var taken *remote.Taken
	take := func(to io.Writer) (err error) {
		progress := newProgress(c.ErrOut)
		defer progress.end()
		taken, err = client.Backup(ctx, instance, to, progress.report)
		return err
	}
	var err error
	if file == "" || file == "-" {
		if IsTerminal(c.Out) {
			return ErrTerminal
		}
		err = take(c.Out)
	} else {
		err = save(file, replace, take)
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", instance, err)
	}
	fmt.Fprintf(c.ErrOut, "this is a backup for %s: revision %d, %s\n", instance, taken.Revision, Size(taken.Bytes))
	return nil
}

// save writes a file beside its name, readable for its owner alone: it holds all data of an etcd.
func save(name string, replace bool, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(name); !replace && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("the file %s exists: choose another name, or replace it by --overwrite", name))
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// Size is a number of bytes in words.
func Size(bytes int64) string {
	const unit = 1024
	if bytes < unit {
		return fmt.Sprintf("%d B", bytes)
	}
	value, units := float64(bytes)/unit, "KMGTPE"
	for value >= 999.5 { // Which three digits would say as 1e+03.
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.3g %ciB", value, units[0])
}
