package listener

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// stored is the form of a Table in the ConfigMap. Nearly all listeners of a
// namespace answer with the same page, which is written once, and each takes one line
// without spaces: so thousands of listeners fit into the megabyte that a ConfigMap may
// have.
type stored struct {
	Pages     list[criticalv2.PageFallback] `json:"pages"`
	Listeners list[storedListener]          `json:"listeners"`
	Next      int32                         `json:"next,omitempty"`
}

type storedListener struct {
	Listener
	// Page is the index of the listener's page.
	Page int `json:"page"`
}

// list is an array that is read element by element, so that one that is too long is
// rejected before memory is allocated for it.
type list[T any] []T

// UnmarshalJSON reads an array of as many elements as there can be listeners.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	if *l != nil {
		return errors.New("a list is given twice")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return errors.New("pages and listeners must be arrays")
	}
	*l = list[T]{}
	for decoder.More() {
		if len(*l) == most {
			return fmt.Errorf("more than %d elements in a list", most)
		}
		var element T
		if err := decoder.Decode(&element); err != nil {
			return err
		}
		*l = append(*l, element)
	}
	return nil
}

// Parse reads a table. An error names what is wrong.
//
// Users of a namespace may edit its table, and the operator reads those of all
// namespaces. So nothing grows faster than the text: what is out of bounds is
// rejected before it is copied or kept, and listeners share their pages.
func Parse(data []byte) (*Table, error) {
	var from stored
	if err := json.Unmarshal(data, &from); err != nil {
		return nil, fmt.Errorf("invalid listener table: %w", err)
	}
	if err := from.check(); err != nil {
		return nil, fmt.Errorf("invalid listener table: %w", err)
	}
	table := &Table{Next: from.Next}
	for _, entry := range from.Listeners {
		entry.Listener.Page = &from.Pages[entry.Page]
		table.Listeners = append(table.Listeners, entry.Listener)
	}
	return table, nil
}

// Encode writes a table, the same table always as the same bytes.
func (t *Table) Encode() ([]byte, error) {
	to := stored{Pages: list[criticalv2.PageFallback]{}, Listeners: list[storedListener]{}, Next: t.Next}
	byPointer, byText := map[*criticalv2.PageFallback]int{}, map[string]int{}
	index := func(page *criticalv2.PageFallback) (int, error) {
		if known, found := byPointer[page]; found {
			return known, nil
		}
		text, err := json.Marshal(page)
		if err != nil {
			return 0, err
		}
		known, found := byText[string(text)]
		if !found {
			known = len(to.Pages)
			byText[string(text)] = known
			to.Pages = append(to.Pages, *page)
		}
		byPointer[page] = known
		return known, nil
	}
	for _, l := range t.Listeners {
		if l.Page == nil {
			l.Page = &zeroPage
		}
		page, err := index(l.Page)
		if err != nil {
			return nil, err
		}
		to.Listeners = append(to.Listeners, storedListener{Listener: l, Page: page})
	}
	return to.lines()
}

// lines are the JSON of a table, with a line for each page and each listener.
func (s *stored) lines() ([]byte, error) {
	pages, err := lines(s.Pages)
	if err != nil {
		return nil, err
	}
	listeners, err := lines(s.Listeners)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\n\"pages\": [%s],\n\"listeners\": [%s],\n\"next\": %d\n}", pages, listeners, s.Next), nil
}

func lines[T any](elements []T) ([]byte, error) {
	var text []byte
	for i := range elements {
		line, err := json.Marshal(&elements[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	return append(text, '\n'), nil
}

// zeroPage is the page of a listener that has none.
var zeroPage criticalv2.PageFallback
