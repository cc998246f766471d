package snapshot

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// lockTimeout is how long the lock of the file is waited for: another process may read it.
	lockTimeout = 5 * time.Second
	// revisionSize is how many bytes of a key are its revision.
	revisionSize = 8
)

// Contents are what a snapshot holds.
type Contents struct {
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	// SHA256 is the digest at its end.
	SHA256 string `json:"sha256"`
	// Revision is the last one.
	Revision int64 `json:"revision"`
	// Records is how many revisions of keys there are, deletions included.
	Records int `json:"records"`
	// StorageVersion is the version of etcd whose format it has, for example 3.6.0; empty is that
	// of 3.5 or earlier.
	StorageVersion string `json:"storageVersion,omitempty"`
}

// Verify reads a snapshot to its end, and judges it as a Checker does.
func Verify(from io.Reader) (*Checker, error) {
	checker := NewChecker()
	if _, err := io.Copy(checker, from); err != nil {
		return checker, fmt.Errorf("read the snapshot: %w", err)
	}
	err := checker.Verdict()
	return checker, err
}

// Inspect verifies a file, and then reads what it holds.
func Inspect(name string) (*Contents, error) {
	file, err := os.Open(name) //nolint:gosec // The user names it.
	if err != nil {
		return nil, err
	}
	defer file.Close()
	checker, err := Verify(file)
	if err != nil {
		return nil, err
	}
	contents := &Contents{Bytes: checker.Size(), SHA256: hex.EncodeToString(checker.Digest())}
	if err := contents.read(name); err != nil {
		return nil, err
	}
	return contents, nil
}

// read fills in what the database says. The file is whole; a file that was made to look so must
// not end the process either, and bbolt panics at pages that make no sense.
func (c *Contents) read(name string) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = &DamagedError{Reason: fmt.Sprintf("the database in the snapshot cannot be read: %v", reason)}
		}
	}()
	db, err := bbolt.Open(name, 0o400, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("open the database in the snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		keys := tx.Bucket([]byte("key"))
		if keys == nil {
			return &DamagedError{Reason: "the snapshot has no bucket of keys: it is not one of etcd"}
		}
		c.Records = keys.Stats().KeyN
		if last, _ := keys.Cursor().Last(); len(last) >= revisionSize {
			c.Revision = int64(binary.BigEndian.Uint64(last)) //nolint:gosec // etcd counts in an int64, too.
		}
		if meta := tx.Bucket([]byte("meta")); meta != nil {
			c.StorageVersion = string(meta.Get([]byte("storageVersion")))
		}
		return nil
	})
}
