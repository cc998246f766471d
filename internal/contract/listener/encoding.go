package listener

import (
	"encoding/json"
	"fmt"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// stored is the form of a Table in the ConfigMap. Nearly all listeners of a
// namespace answer with the same page, which is written once: so thousands of
// listeners fit into the megabyte that a ConfigMap may have.
type stored struct {
	Pages     []criticalv2.PageFallback `json:"pages"`
	Listeners []storedListener          `json:"listeners"`
	Next      int32                     `json:"next,omitempty"`
}

type storedListener struct {
	Listener
	// Page is the index of the listener's page.
	Page int `json:"page"`
}

// Parse reads a table. An error names what is wrong. A page that is not there is
// no error, but the zero page, which the responder answers with its defaults: the
// numbers are worth keeping even if a user edited the table.
func Parse(data []byte) (*Table, error) {
	var from stored
	if err := json.Unmarshal(data, &from); err != nil {
		return nil, fmt.Errorf("invalid listener table: %w", err)
	}
	table := &Table{Next: from.Next}
	for _, entry := range from.Listeners {
		if 0 <= entry.Page && entry.Page < len(from.Pages) {
			entry.Listener.Page = *from.Pages[entry.Page].DeepCopy()
		}
		table.Listeners = append(table.Listeners, entry.Listener)
	}
	return table, nil
}

// Encode writes a table, the same table always as the same bytes.
func (t *Table) Encode() ([]byte, error) {
	to := stored{Pages: []criticalv2.PageFallback{}, Listeners: []storedListener{}, Next: t.Next}
	known := map[string]int{}
	for _, l := range t.Listeners {
		text, err := json.Marshal(l.Page)
		if err != nil {
			return nil, err
		}
		page, found := known[string(text)]
		if !found {
			page = len(to.Pages)
			known[string(text)] = page
			to.Pages = append(to.Pages, l.Page)
		}
		to.Listeners = append(to.Listeners, storedListener{Listener: l, Page: page})
	}
	return json.MarshalIndent(to, "", " ")
}
