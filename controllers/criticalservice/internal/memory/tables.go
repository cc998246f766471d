package memory

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/contract/listener"
)

// Tables keeps the parsed table of each namespace's responder, because a mass
// failure looks at the same one again and again. It may be lost at any time.
type Tables struct {
	mu     sync.Mutex
	parsed map[string]parsedTable
}

type parsedTable struct {
	version string
	table   *listener.Table
}

func NewTables() *Tables { return &Tables{parsed: map[string]parsedTable{}} }

// Of is the table in a ConfigMap; nil where it cannot be read, which the
// responder's controller mends. It must not be changed.
func (t *Tables) Of(config *corev1.ConfigMap) *listener.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, found := t.parsed[config.Namespace]
	version := string(config.UID) + "/" + config.ResourceVersion
	if found && last.version == version {
		return last.table
	}
	table, err := listener.Parse([]byte(config.Data[listener.Key]))
	if err != nil {
		table = nil
	}
	t.parsed[config.Namespace] = parsedTable{version: version, table: table}
	return table
}
