package traffic

import (
	"bufio"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	// maxBody and maxLine bound what is read of an answer: an application may say anything.
	maxBody, maxLine = 1 << 20, 64 << 10
)

var (
	errNoCounter = errors.New("the answer has no such counter")
	errTooLarge  = errors.New("the answer is too large")
)

// sum adds up the series of a counter in the text format of Prometheus, and of OpenMetrics, where
// the name of a counter ends in _total. It keeps nothing of the text. The library of Prometheus
// would keep all of it.
func sum(text io.Reader, counter string) (float64, error) {
	limited := &io.LimitedReader{R: text, N: maxBody + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	total, found := 0.0, false
	for lines.Scan() {
		value, is := valueOf(lines.Text(), counter)
		if !is {
			continue
		}
		total, found = total+value, true
	}
	switch {
	case lines.Err() != nil || limited.N <= 0:
		return 0, errTooLarge
	case !found || math.IsNaN(total) || math.IsInf(total, 0):
		return 0, errNoCounter
	default:
		return total, nil
	}
}

// valueOf is the value of a line that is a sample of the counter. Values below zero, and those
// that are no numbers, are none.
func valueOf(line, counter string) (float64, bool) {
	rest, is := strings.CutPrefix(line, counter)
	if !is {
		return 0, false
	}
	if strings.HasPrefix(rest, "{") {
		end := closing(rest)
		if end < 0 {
			return 0, false
		}
		rest = rest[end+1:]
	} else if !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
		return 0, false // A longer name.
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0, false
	}
	value, err := strconv.ParseFloat(words[0], 64)
	if err != nil || !(value >= 0) || math.IsInf(value, 0) {
		return 0, false
	}
	return value, true
}

// closing is where the labels end that a text begins with. Values of labels are quoted, and may
// have braces and escaped quotes.
func closing(labels string) int {
	quoted := false
	for i := 0; i < len(labels); i++ {
		switch c := labels[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i
		}
	}
	return -1
}
