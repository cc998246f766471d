package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/internal/etcd/snapshot/snapshottest"
)

func TestASnapshotThatIsWhole(t *testing.T) {
	g := NewWithT(t)
	whole := snapshottest.Taken(t, 57)
	name := filepath.Join(t.TempDir(), "s.db")
	g.Expect(os.WriteFile(name, whole, 0o600)).To(Succeed())
	contents, err := snapshot.Inspect(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(contents.Revision).To(BeEquivalentTo(57))
	g.Expect(contents.Records).To(Equal(57))
	g.Expect(contents.StorageVersion).To(Equal("3.6.0"))
	g.Expect(contents.Bytes).To(BeEquivalentTo(len(whole)))
	g.Expect(contents.SHA256).To(HaveLen(64))
}

func TestASnapshotIsJudgedTheSameHoweverItArrives(t *testing.T) {
	whole := snapshottest.Taken(t, 20)
	for _, size := range []int{1, 7, 31, 32, 33, 80, 4096, len(whole)} {
		g := NewWithT(t)
		checker := snapshot.NewChecker()
		for rest := whole; len(rest) > 0; {
			chunk := rest[:min(size, len(rest))]
			rest = rest[len(chunk):]
			_, err := checker.Write(chunk)
			g.Expect(err).NotTo(HaveOccurred())
		}
		g.Expect(checker.Verdict()).To(Succeed(), "in chunks of %d", size)
		g.Expect(checker.Total()).To(BeEquivalentTo(len(whole)))
		g.Expect(checker.Size()).To(BeEquivalentTo(len(whole)))
	}
}

// Wherever a snapshot is cut, it is not whole, and the error says that it was cut.
func TestEveryCutIsRecognised(t *testing.T) {
	whole := snapshottest.Taken(t, 20)
	for length := range whole {
		if length > 200 && length%509 != 0 && length < len(whole)-200 {
			continue
		}
		checker := snapshot.NewChecker()
		_, _ = checker.Write(whole[:length])
		err := checker.Verdict()
		if length == len(whole)-sha256.Size {
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the database of a member")), "where only the digest is missing it may be another file")
			continue
		}
		cut := &snapshot.CutError{}
		if !errors.As(err, &cut) || cut.Have != int64(length) {
			t.Fatalf("cut after %d bytes: %v", length, err)
		}
	}
}

func TestWhatIsWrongWithASnapshot(t *testing.T) {
	whole := snapshottest.Taken(t, 20)
	changed := func(at int) []byte {
		other := bytes.Clone(whole)
		other[at] ^= 1
		return other
	}
	withDigest := func(file []byte) []byte {
		digest := sha256.Sum256(file)
		return append(bytes.Clone(file), digest[:]...)
	}
	for sentence, test := range map[string]struct {
		snapshot []byte
		says     string
	}{
		"nothing":                                {nil, "cut after 0 bytes"},
		"only its beginning":                     {whole[:60], "cut after 60 bytes"},
		"half of it":                             {whole[:len(whole)/2], "of"},
		"a byte of the data is another":          {changed(len(whole) / 2), "another SHA-256"},
		"a byte of the digest is another":        {changed(len(whole) - 1), "another SHA-256"},
		"a byte of the length is another":        {changed(56), "its own checksum"},
		"a byte of the first page's magic":       {changed(16), "does not begin as a snapshot"},
		"more follows":                           {append(bytes.Clone(whole), 1), "1 more follow"},
		"it is the database of a member":         {whole[:len(whole)-32], "the database of a member"},
		"it is another file":                     {withDigest(bytes.Repeat([]byte("<html>"), 100)), "does not begin as a snapshot"},
		"it is an empty file of the right shape": {withDigest(make([]byte, 8192)), "does not begin as a snapshot"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := snapshot.Verify(bytes.NewReader(test.snapshot))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.says)))
		})
	}
}

// A file that was made to look whole must not end the process that reads it.
func TestADatabaseThatMakesNoSenseIsAnError(t *testing.T) {
	g := NewWithT(t)
	whole := snapshottest.Taken(t, 20)
	file := whole[:len(whole)-sha256.Size]
	for at := 2 * 4096; at < len(file); at++ {
		file[at] = 0xff
	}
	digest := sha256.Sum256(file)
	name := filepath.Join(t.TempDir(), "s.db")
	g.Expect(os.WriteFile(name, append(bytes.Clone(file), digest[:]...), 0o600)).To(Succeed())
	_, err := snapshot.Inspect(name)
	g.Expect(err).To(HaveOccurred())
}

func FuzzChecker(f *testing.F) {
	whole := snapshottest.Taken(f, 3)
	f.Add(whole, 100)
	f.Add(whole[:100], 1)
	f.Fuzz(func(t *testing.T, content []byte, size int) {
		checker := snapshot.NewChecker()
		for rest := content; len(rest) > 0; {
			chunk := rest[:min(max(size, 1), len(rest))]
			rest = rest[len(chunk):]
			_, _ = checker.Write(chunk)
		}
		atOnce, err := snapshot.Verify(bytes.NewReader(content))
		if (checker.Verdict() == nil) != (err == nil) || !bytes.Equal(checker.Digest(), atOnce.Digest()) {
			t.Errorf("in chunks of %d the verdict is %v, and at once %v", size, checker.Verdict(), err)
		}
	})
}
