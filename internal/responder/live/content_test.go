package live

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/listener"
)

// observed counts what is reported of content.
type observed struct{ failed, ok int }

func (o *observed) Reloaded(what What, err error) {
	switch {
	case what != TheContent:
	case err != nil:
		o.failed++
	default:
		o.ok++
	}
}

func (*observed) Replaced(_, _ []listener.Listener) {}

func TestContentThatWasRefusedIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	folder, seen := t.TempDir(), &observed{}
	table := NewTable(Options{Content: folder, MaxContentBytes: 100, Log: logr.Discard(), Observer: seen})
	for _, name := range []string{"first", "second"} {
		g.Expect(os.MkdirAll(filepath.Join(folder, name), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(folder, name, "503.txt"), bytes.Repeat([]byte("x"), 60), 0o600)).To(Succeed())
	}
	g.Expect(table.contentOf("first", true)).NotTo(BeNil())
	for range 3 {
		g.Expect(table.contentOf("second", true)).To(BeNil(), "there is no room")
	}
	g.Expect(*seen).To(Equal(observed{failed: 1, ok: 1}), "the same is reported once")
	table.forget(map[string]bool{"second": true})
	g.Expect(table.contentOf("second", true)).NotTo(BeNil(), "now there is room, though its files are the same")
	g.Expect(*seen).To(Equal(observed{failed: 1, ok: 2}))
	g.Expect(table.size).To(BeEquivalentTo(60 + len("503.txt")))
}
