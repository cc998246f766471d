// Package snapshottest has snapshots for tests.
package snapshottest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"go.etcd.io/bbolt"
)

// Taken is a snapshot as etcd makes it: of a database with some revisions.
func Taken(t testing.TB, revisions int) []byte {
	t.Helper()
	g := NewWithT(t)
	name := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(name, 0o600, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.Update(func(tx *bbolt.Tx) error {
		keys, err := tx.CreateBucket([]byte("key"))
		for revision := 1; err == nil && revision <= revisions; revision++ {
			key := binary.BigEndian.AppendUint64(nil, uint64(revision))
			err = keys.Put(append(append(key, '_'), make([]byte, 8)...), bytes.Repeat([]byte{byte(revision)}, 1000))
		}
		meta, failed := tx.CreateBucket([]byte("meta"))
		if failed == nil {
			failed = meta.Put([]byte("storageVersion"), []byte("3.6.0"))
		}
		return errors.Join(err, failed)
	})).To(Succeed())
	var file bytes.Buffer
	g.Expect(db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(&file); return err })).To(Succeed())
	g.Expect(db.Close()).To(Succeed())
	digest := sha256.Sum256(file.Bytes())
	return append(file.Bytes(), digest[:]...)
}
