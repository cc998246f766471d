package prober

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// WriteLines returns a callback for Prober.Run that writes each result as one line of JSON, and a
// function that says whether a write has failed.
func WriteLines(w io.Writer) (each func(Result), failed func() error) {
	encoder := json.NewEncoder(w)
	var firstErr error
	each = func(result Result) {
		if firstErr == nil {
			firstErr = encoder.Encode(result)
		}
	}
	return each, func() error { return firstErr }
}

// ReadLines hands each line that WriteLines has written to each, until r ends. A line that is not a
// result is an error that quotes it: it is what the prober had to say for itself.
func ReadLines(r io.Reader, each func(Result)) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var result Result
		if err := json.Unmarshal(lines.Bytes(), &result); err != nil {
			return fmt.Errorf("the prober wrote %q, which is not a result", lines.Text())
		}
		each(result)
	}
	return lines.Err()
}
