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
	"syscall"

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
		err = errors.Join(err, os.Remove(t.part()))
		if errors.Is(err, syscall.ENOSPC) {
			err = errors.Join(err, t.makeRoom())
		}
		return nil, err
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

// stored are the snapshots of the name, the newest first. Revisions of another cluster of the name say
// nothing about age.
func (t Target) stored() ([]string, error) {
	listed, err := os.ReadDir(t.Folder)
	if err != nil {
		return nil, err
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
	var files []string
	for _, file := range stored {
		files = append(files, filepath.Join(t.Folder, file.Name()))
	}
	return files, nil
}

// dropOlder deletes all snapshots of the name but the newest.
func (t Target) dropOlder() error {
	if t.Keep <= 0 {
		return nil
	}
	stored, err := t.stored()
	for _, old := range stored[min(t.Keep, len(stored)):] {
		err = errors.Join(err, os.Remove(old))
	}
	return err
}

// errRoomMade says that a volume was full, and that there is more room now.
var errRoomMade = errors.New("the oldest stored snapshot was deleted to make room")

// makeRoom deletes the oldest snapshot of the name, and says so. The newest one that is whole stays.
func (t Target) makeRoom() error {
	if t.Keep <= 0 {
		return nil
	}
	stored, err := t.stored()
	whole := slices.IndexFunc(stored, func(file string) bool {
		_, err := snapshot.Inspect(file)
		return err == nil
	})
	if err != nil || whole < 0 || len(stored) < 2 {
		return err
	}
	oldest := len(stored) - 1
	if oldest == whole {
		oldest--
	}
	if err := os.Remove(stored[oldest]); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", errRoomMade, filepath.Base(stored[oldest]))
}

// Finish reads what a snapshot held that was restored, and deletes its file.
func Finish(name string) (*result.Result, error) {
	contents, err := snapshot.Inspect(name)
	if err != nil {
		return nil, err
	}
	return &result.Result{Revision: contents.Revision, SizeBytes: contents.Bytes}, os.Remove(name)
}
