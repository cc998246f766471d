// Package snapshot judges snapshots of etcd: whether one is whole, and what it holds.
//
// A snapshot is a file of bbolt, the database of etcd, followed by the SHA-256 of it. Its first
// page says how long the file is, so that a snapshot that was cut is recognised as that, and not
// only as a different one.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
)

// digestSize is how many bytes follow the file.
const digestSize = sha256.Size

// A CutError is of a snapshot that ends before its end.
type CutError struct {
	// Have is how many bytes there are, and Want how many it should have; 0 is unknown.
	Have, Want int64
}

func (e *CutError) Error() string {
	if e.Want == 0 {
		return fmt.Sprintf("the snapshot was cut after %d bytes: it is not whole; take it again", e.Have)
	}
	return fmt.Sprintf("the snapshot was cut after %d of %d bytes: it is not whole; take it again", e.Have, e.Want)
}

// A DamagedError is of a snapshot whose content was changed, or which is none.
type DamagedError struct{ Reason string }

func (e *DamagedError) Error() string { return e.Reason }

// Checker judges a snapshot that is written to it. It keeps nothing of it but the first bytes and
// the last, so that a stream can be judged while it passes.
type Checker struct {
	digest hash.Hash
	// first are the bytes that say how long the snapshot is.
	first []byte
	// last may be the digest, and is not hashed before more follows.
	last []byte
	size int64
}

// NewChecker makes a Checker.
func NewChecker() *Checker {
	return &Checker{digest: sha256.New(), first: make([]byte, 0, HeaderSize), last: make([]byte, 0, digestSize)}
}

// Write takes the next bytes of the snapshot. It never fails.
func (c *Checker) Write(p []byte) (int, error) {
	written := len(p)
	c.size += int64(written)
	if missing := HeaderSize - len(c.first); missing > 0 {
		c.first = append(c.first, p[:min(missing, len(p))]...)
	}
	if len(p) >= digestSize {
		c.digest.Write(c.last)
		c.digest.Write(p[:len(p)-digestSize])
		c.last = append(c.last[:0], p[len(p)-digestSize:]...)
		return written, nil
	}
	if over := len(c.last) + len(p) - digestSize; over > 0 {
		c.digest.Write(c.last[:over])
		c.last = append(c.last[:0], c.last[over:]...)
	}
	c.last = append(c.last, p...)
	return written, nil
}

// Size is how many bytes were written.
func (c *Checker) Size() int64 { return c.size }

// Total is how many bytes the whole snapshot has; 0 while that is unknown.
func (c *Checker) Total() int64 {
	if parsed, err := parseHeader(c.first); err == nil {
		return parsed.size() + digestSize
	}
	return 0
}

// Digest is the SHA-256 at the end of the snapshot, by which one snapshot differs from another.
func (c *Checker) Digest() []byte { return bytes.Clone(c.last) }

// Verdict is nil for a snapshot that is whole, a CutError or a DamagedError. Nothing must be
// written after it.
func (c *Checker) Verdict() error {
	if len(c.first) < HeaderSize {
		return &CutError{Have: c.size}
	}
	header, err := parseHeader(c.first)
	if err != nil {
		return err
	}
	total := header.size() + digestSize
	switch {
	case c.size == header.size():
		return &DamagedError{Reason: "the file ends without the SHA-256 of a snapshot: it is the database of a member, and not a snapshot; " +
			"take one by `etcd backup`, or by `etcdctl snapshot save`"}
	case c.size < total:
		return &CutError{Have: c.size, Want: total}
	case c.size > total:
		return &DamagedError{Reason: fmt.Sprintf("the snapshot has %d bytes, and %d more follow: it is damaged; take it again", total, c.size-total)}
	case !bytes.Equal(c.digest.Sum(nil), c.last):
		return &DamagedError{Reason: "the content of the snapshot has another SHA-256 than its end says: it is damaged; take it again"}
	}
	return nil
}

// IsVerdict reports whether an error says that a snapshot is not whole, and not that it could not
// be read.
func IsVerdict(err error) bool {
	var cut *CutError
	var damaged *DamagedError
	return errors.As(err, &cut) || errors.As(err, &damaged)
}
