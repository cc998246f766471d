// Package live keeps what every port answers in step with the mounted files: the
// table of listeners, which the operator writes, and the teams' content. Both are
// ConfigMaps, so that the kubelet swaps them as a whole, by a symbolic link.
//
// Nothing that is wrong with a file takes an answer away. A table that cannot be
// read leaves the last valid one in place; the built-in page replaces content that
// cannot be read, or the part of it; a port that is not in the table answers with
// the built-in page.
package live

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/responder/protocol"
	"github.com/critical-service/operator/internal/responder/web"
)

// maxTableBytes is twice what a ConfigMap holds.
const maxTableBytes = 2 << 20

// Options say where the files are.
type Options struct {
	// Table is the file with the table of listeners.
	Table string
	// Content is the folder with a folder for every ConfigMap of content.
	Content string
	// MaxContentBytes bounds the content of all teams in memory.
	MaxContentBytes int64
	// Recheck is how often the files are read without a notification of a change.
	Recheck time.Duration
	Log     logr.Logger
	// Observer is notified of what was read; it may be nil.
	Observer Observer
}

// Observer is notified of what was read.
type Observer interface {
	// Reloaded is called when a table or a content changed, with the error that
	// keeps it, or a part of it, from being used.
	Reloaded(what What, err error)
	// Replaced is called when another table takes effect.
	Replaced(before, after []listener.Listener)
}

// What is a kind of file.
type What string

// The kinds of files.
const (
	TheTable   What = "table"
	TheContent What = "content"
)

// Entry is what one port answers.
type Entry struct {
	listener.Listener
	// Hint is the protocol that the port speaks; if it is not known beforehand,
	// Hinted is false.
	Hint   protocol.Kind
	Hinted bool
	// MayBeMySQL reports that a client that sends nothing may wait for a greeting.
	MayBeMySQL bool
	// Message is a sentence for people: that of the page, or of a maintenance.
	Message string
	Site    *web.Site

	content *page.Content
}

// Table is what all ports answer.
type Table struct {
	options    Options
	unassigned *Entry
	entries    atomic.Pointer[map[int32]*Entry]

	// The rest belongs to the goroutine that reads.
	listeners []listener.Listener
	hash      [sha256.Size]byte
	failure   string
	contents  map[string]*content
	size      int64
}

// NewTable is a table in which no port is assigned yet.
func NewTable(options Options) *Table {
	t := &Table{options: options, contents: map[string]*content{}}
	t.unassigned = newEntry(listener.Listener{Page: &criticalv2.PageFallback{}}, nil)
	t.entries.Store(&map[int32]*Entry{})
	return t
}

func newEntry(l listener.Listener, content *page.Content) *Entry {
	answered, shown := web.Announced(*l.Page, content, l.Maintenance)
	hint, hinted := protocol.FromAppProtocol(l.AppProtocol)
	return &Entry{
		Listener: l, Hint: hint, Hinted: hinted, MayBeMySQL: appprotocol.MayBeMySQL(l.AppProtocol, l.ServicePort, l.PortName),
		Message: answered.Message, Site: web.NewSite(answered, shown), content: content,
	}
}

// Entry is what a port answers; never nil.
func (t *Table) Entry(port int32) *Entry {
	if entry, found := (*t.entries.Load())[port]; found {
		return entry
	}
	return t.unassigned
}

// Load reads what has changed. Only one goroutine may call it.
func (t *Table) Load() {
	t.loadListeners()
	before := *t.entries.Load()
	after := make(map[int32]*Entry, len(t.listeners))
	used := map[string]bool{}
	for _, l := range t.listeners {
		var given *page.Content
		if name := l.Page.ConfigMapName; name != "" {
			given = t.contentOf(name, !used[name])
			used[name] = true
		}
		entry, found := before[l.Port]
		if !found || entry.content != given || !reflect.DeepEqual(entry.Listener, l) {
			entry = newEntry(l, given)
		}
		after[l.Port] = entry
	}
	t.forget(used)
	t.entries.Store(&after)
}

// loadListeners takes over another table, if there is one and it is valid.
func (t *Table) loadListeners() {
	data, err := readFile(t.options.Table)
	if errors.Is(err, fs.ErrNotExist) && t.hash == [sha256.Size]byte{} {
		t.keep("the table does not exist yet; every port answers with the built-in page")
		return
	}
	hash := sha256.Sum256(data)
	if err == nil && hash == t.hash && t.failure == "" {
		return
	}
	var table *listener.Table
	if err == nil {
		table, err = listener.Parse(data)
	}
	if err != nil {
		if t.keep(err.Error()) {
			t.reloaded(TheTable, err)
		}
		return
	}
	t.failure = ""
	if t.hash == hash {
		return
	}
	t.options.Log.Info("using a new listener table", "listeners", len(table.Listeners))
	if t.options.Observer != nil {
		t.options.Observer.Replaced(t.listeners, table.Listeners)
	}
	t.hash, t.listeners = hash, table.Listeners
	t.reloaded(TheTable, nil)
}

// keep logs, once, why the table in use stays. It reports whether it has logged.
func (t *Table) keep(failure string) bool {
	if t.failure == failure {
		return false
	}
	t.failure = failure
	t.options.Log.Info("keeping the last valid listener table", "file", t.options.Table, "reason", failure)
	return true
}

func (t *Table) reloaded(what What, err error) {
	if t.options.Observer != nil {
		t.options.Observer.Reloaded(what, err)
	}
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // The path is a flag of the responder.
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxTableBytes+1))
	if err == nil && len(data) > maxTableBytes {
		err = fmt.Errorf("the table of listeners is larger than %d bytes", maxTableBytes)
	}
	return data, err
}
