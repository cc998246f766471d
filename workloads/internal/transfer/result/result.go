// Package result is what the Pods that store and restore snapshots of etcd report to the operator: the
// message with which their container ends. It is pure.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MaxName bounds the name of a file.
const MaxName = 128

// Result is what was done with a snapshot.
type Result struct {
	// File is its name in the claim with stored snapshots; empty where it is not stored.
	File string `json:"file,omitempty"`
	// Revision is the last one that it holds.
	Revision int64 `json:"revision"`
	// SizeBytes is the size of the file.
	SizeBytes int64 `json:"sizeBytes"`
}

// Parse reads a message, which other users of the namespace of the Pod may have written.
func Parse(message string) (*Result, error) {
	var parsed Result
	if err := json.Unmarshal([]byte(message), &parsed); err != nil {
		return nil, fmt.Errorf("read what the Pod reports: %w", err)
	}
	if len(parsed.File) > MaxName || parsed.Revision < 0 || parsed.SizeBytes < 0 {
		return nil, errors.New("what the Pod reports is not what the operator's program writes")
	}
	return &parsed, nil
}
