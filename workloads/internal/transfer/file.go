// Package transfer moves snapshots of etcd into files: from a cluster, or from who sends one. It
// runs in Pods of users, beside their data, and has no client of the API server.
package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

const (
	// unfinished ends the names of files that are being written.
	unfinished = ".part"
	// chunk is how many bytes of a snapshot are held at once.
	chunk = 32 << 10
)

// Target is where a snapshot goes.
type Target struct {
	// Folder is made where it is missing.
	Folder string
	// Name of the file. With Keep, the revision is added to it, and the newest so many files of
	// the name are kept.
	Name string
	Keep int
}

func (t Target) part() string { return filepath.Join(t.Folder, t.Name+unfinished) }

// prepare makes the folder, and deletes what a failed try has left.
func (t Target) prepare() error {
	if err := os.MkdirAll(t.Folder, 0o750); err != nil {
		return err
	}
	if err := os.Remove(t.part()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// write writes a snapshot that has at least a revision. The file has its name only once the
// snapshot is whole, and on the disk.
func (t Target) write(from io.Reader, least int64) (*result.Result, error) {
	if err := t.prepare(); err != nil {
		return nil, err
	}
	if err := t.fill(from); err != nil {
		return nil, errors.Join(err, os.Remove(t.part()))
	}
	contents, err := snapshot.Inspect(t.part())
	if err != nil {
		return nil, errors.Join(err, os.Remove(t.part()))
	}
	if contents.Revision < least {
		return nil, errors.Join(fmt.Errorf("the snapshot ends with revision %d, and the cluster had %d before: a member sent it that was behind", contents.Revision, least),
			os.Remove(t.part()))
	}
	done := &result.Result{Revision: contents.Revision, SizeBytes: contents.Bytes, File: t.Name}
	if t.Keep > 0 {
		done.File = fmt.Sprintf("%s-%d.db", t.Name, contents.Revision)
	}
	if err := os.Rename(t.part(), filepath.Join(t.Folder, done.File)); err != nil {
		return nil, err
	}
	return done, errors.Join(syncFolder(t.Folder), t.dropOlder())
}

func (t Target) fill(from io.Reader) error {
	file, err := os.OpenFile(t.part(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	checker := snapshot.NewChecker()
	if _, err = io.CopyBuffer(io.MultiWriter(file, checker), onlyReader{from}, make([]byte, chunk)); err == nil {
		err = checker.Verdict()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// onlyReader hides that a reader could write itself: the buffer bounds what is held.
type onlyReader struct{ io.Reader }

func syncFolder(name string) error {
	folder, err := os.Open(name) //nolint:gosec // The operator names the folder.
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// dropOlder deletes all snapshots of the name but the newest. Revisions of another cluster of the
// name say nothing about age.
func (t Target) dropOlder() error {
	if t.Keep <= 0 {
		return nil
	}
	listed, err := os.ReadDir(t.Folder)
	if err != nil {
		return err
	}
	isStored := regexp.MustCompile(`^` + regexp.QuoteMeta(t.Name) + `-[0-9]+\.db$`)
	var stored []os.FileInfo
	for _, entry := range listed {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && isStored.MatchString(entry.Name()) {
			stored = append(stored, info)
		}
	}
	slices.SortFunc(stored, func(a, b os.FileInfo) int {
		if order := b.ModTime().Compare(a.ModTime()); order != 0 {
			return order
		}
		return strings.Compare(b.Name(), a.Name())
	})
	for _, old := range stored[min(t.Keep, len(stored)):] {
		err = errors.Join(err, os.Remove(filepath.Join(t.Folder, old.Name())))
	}
	return err
}

// Finish reads what a snapshot held that was restored, and deletes its file.
func Finish(name string) (*result.Result, error) {
	contents, err := snapshot.Inspect(name)
	if err != nil {
		return nil, err
	}
	return &result.Result{Revision: contents.Revision, SizeBytes: contents.Bytes}, os.Remove(name)
}
