package console

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func writing(text string, err error) func(io.Writer) error {
	return func(to io.Writer) error {
		_, failed := io.WriteString(to, text)
		return errors.Join(failed, err)
	}
}

func TestAFileGetsItsNameWhenItIsWhole(t *testing.T) {
	for sentence, test := range map[string]struct {
		before  string
		replace bool
		err     error
		want    string
		says    string
	}{
		"a new file":                        {want: "new"},
		"one that exists is kept":           {before: "old", want: "old", says: "--overwrite"},
		"or replaced, where that is wanted": {before: "old", replace: true, want: "new"},
		"a snapshot that is cut is no file": {err: errors.New("cut"), says: "cut"},
		"and does not replace one that is":  {before: "old", replace: true, err: errors.New("cut"), want: "old", says: "cut"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			name := filepath.Join(folder, "s.db")
			if test.before != "" {
				g.Expect(os.WriteFile(name, []byte(test.before), 0o600)).To(Succeed())
			}
			err := save(name, test.replace, writing("new", test.err))
			if test.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			}
			found, err := os.ReadFile(name)
			if test.want == "" {
				g.Expect(err).To(MatchError(fs.ErrNotExist))
			} else {
				g.Expect(string(found)).To(Equal(test.want))
				info, err := os.Stat(name)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(info.Mode().Perm()).To(Equal(fs.FileMode(0o600)), "it holds all data: no one else reads it")
			}
			entries, err := os.ReadDir(folder)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(entries)).To(BeNumerically("<=", 1), "nothing is left over")
		})
	}
}

func TestProgress(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	p := newProgress(&out)
	p.report(1<<20, 0)
	g.Expect(out.String()).To(BeEmpty(), "what takes no time has none")
	p.started, p.said = time.Now().Add(-2*inLog), time.Now().Add(-2*inLog)
	p.report(40<<20, 80<<20)
	g.Expect(out.String()).To(MatchRegexp(`^40 MiB of 80 MiB, (2|1\.9\d) MiB/s\n$`))
	p.report(41<<20, 80<<20)
	g.Expect(out.String()).To(HaveSuffix("/s\n"), "and no line for each chunk")
	g.Expect(bytes.Count(out.Bytes(), []byte("\n"))).To(Equal(1))
}

func TestSizes(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 20 << 10: "20 KiB", 1536: "1.5 KiB", 2 << 30: "2 GiB", 1<<20 - 1: "1 MiB", 1000 << 10: "0.977 MiB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d is %q, and should be %q", bytes, got, want)
		}
	}
}
