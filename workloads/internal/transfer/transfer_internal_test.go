package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/onsi/gomega"
	"go.etcd.io/bbolt"

	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

// whole is a snapshot without keys.
func whole(t *testing.T) []byte {
	t.Helper()
	g := gomega.NewWithT(t)
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("key")); return err })).To(gomega.Succeed())
	var file bytes.Buffer
	g.Expect(db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(&file); return err })).To(gomega.Succeed())
	g.Expect(db.Close()).To(gomega.Succeed())
	digest := sha256.Sum256(file.Bytes())
	return append(file.Bytes(), digest[:]...)
}

// stores puts files into a folder, the oldest first.
func stores(t *testing.T, folder string, names []string, contents map[string][]byte) {
	t.Helper()
	begin := time.Now().Add(-time.Hour)
	for i, name := range names {
		file, at := filepath.Join(folder, name), begin.Add(time.Duration(i)*time.Minute)
		gomega.NewWithT(t).Expect(os.WriteFile(file, contents[name], 0o600)).To(gomega.Succeed())
		gomega.NewWithT(t).Expect(os.Chtimes(file, at, at)).To(gomega.Succeed())
	}
}

// full is what a volume without space says.
var full = &os.PathError{Op: "write", Path: "etcd.part", Err: syscall.ENOSPC}

func TestTheOldestSnapshotMakesRoomAndTheNewestWholeOneStays(t *testing.T) {
	content := whole(t)
	all := []string{"etcd-1.db", "etcd-2.db", "etcd-3.db"}
	for sentence, c := range map[string]struct {
		files, isWhole []string
		keep           int
		err            error
		left           []string
	}{
		"the volume is full":           {all, all, 3, full, []string{"etcd-3.db"}},
		"the newest is not whole":      {all, all[:2], 3, full, []string{"etcd-2.db"}},
		"only the oldest is whole":     {all, all[:1], 3, full, []string{"etcd-1.db"}},
		"none is whole":                {all, nil, 3, full, all},
		"there is one":                 {all[:1], all[:1], 3, full, all[:1]},
		"something else is wrong":      {all, all, 3, io.ErrUnexpectedEOF, all},
		"files are not kept by number": {all, all, 0, full, all},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := gomega.NewWithT(t)
			folder, contents := t.TempDir(), map[string][]byte{}
			for _, name := range c.isWhole {
				contents[name] = content
			}
			stores(t, folder, c.files, contents)
			tries := 0
			_, err := persist(t.Context(), 0, func() (*result.Result, error) {
				tries++
				return Target{Folder: folder, Name: "etcd", Keep: c.keep}.write(iotest.ErrReader(c.err), 0)
			})
			g.Expect(err).To(gomega.MatchError(c.err))
			g.Expect(tries).To(gomega.Equal(len(c.files)-len(c.left)+1), "it is tried again where room was made")
			var left []string
			listed, err := os.ReadDir(folder)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			for _, file := range listed {
				left = append(left, file.Name())
			}
			g.Expect(left).To(gomega.Equal(c.left))
		})
	}
}

func TestASnapshotThatFitsOnceThereIsRoomIsStored(t *testing.T) {
	g := gomega.NewWithT(t)
	content, folder := whole(t), t.TempDir()
	stores(t, folder, []string{"etcd-1.db", "etcd-2.db"}, map[string][]byte{"etcd-2.db": content})
	froms := []io.Reader{iotest.ErrReader(full), bytes.NewReader(content)}
	done, err := persist(t.Context(), 0, func() (*result.Result, error) {
		from := froms[0]
		froms = froms[1:]
		return Target{Folder: folder, Name: "etcd", Keep: 3}.write(from, 0)
	})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	stored, err := Target{Folder: folder, Name: "etcd", Keep: 3}.stored()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(stored).To(gomega.Equal([]string{filepath.Join(folder, done.File), filepath.Join(folder, "etcd-2.db")}))
}

// A sender that goes on and on, with a byte now and then, must not keep the others from sending.
func TestASenderThatNeverEndsIsCutOff(t *testing.T) {
	g := gomega.NewWithT(t)
	r := &receiver{target: Target{Folder: t.TempDir(), Name: "snapshot.db"}, most: 1 << 30, longest: 100 * time.Millisecond, done: make(chan *result.Result, 1)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reader, writer := io.Pipe()
	t.Cleanup(func() { _ = reader.Close() })
	go func() {
		for ticker := time.Tick(10 * time.Millisecond); ; <-ticker {
			if _, err := writer.Write([]byte{0}); err != nil {
				return
			}
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+Path, reader)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		g.Expect(answer.Body.Close()).To(gomega.Succeed())
		g.Expect(answer.StatusCode).To(gomega.Equal(http.StatusRequestTimeout))
	}
	g.Expect(errors.Is(err, context.DeadlineExceeded)).To(gomega.BeFalse(), "%v", err)

	r.longest = time.Minute
	answer, err = http.Post(server.URL+Path, "application/octet-stream", bytes.NewReader(whole(t)))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(answer.Body.Close()).To(gomega.Succeed())
	g.Expect(answer.StatusCode).To(gomega.Equal(http.StatusOK))
	g.Expect((<-r.done).File).To(gomega.Equal("snapshot.db"))
}
