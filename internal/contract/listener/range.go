package listener

import (
	"fmt"
	"hash/fnv"
)

const (
	// Block is how many ports a responder listens on to begin with.
	Block int32 = 64
	// Blocks is how many there are.
	Blocks = (Last - First + 1) / Block
)

// Range is an unbroken range of listener ports.
type Range struct{ First, Last int32 }

// Home is the block with which the responder of a namespace begins, unless that of
// another has it. An address that was reused then refuses what was meant for another
// namespace, and does not answer it with a page of its own.
func Home(namespace string) int32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(namespace)) // It never fails.
	return int32(hash.Sum32() % uint32(Blocks))
}

// BlockAt is the range of a block; they are counted round.
func BlockAt(block int32) Range {
	first := First + block%Blocks*Block
	return Range{First: first, Last: first + Block - 1}
}

// ParseRange reads "first-last".
func ParseRange(text string) (Range, error) {
	var r Range
	var rest string
	n, _ := fmt.Sscanf(text, "%d-%d%s", &r.First, &r.Last, &rest)
	if n != 2 || r.First < 1 || r.Last > 65535 || r.Last < r.First {
		return Range{}, fmt.Errorf("%q is not a range of ports, such as %q", text, Range{First: First, Last: First + 63})
	}
	return r, nil
}

// String is the form that ParseRange reads.
func (r Range) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Contains reports whether a port is within the range.
func (r Range) Contains(port int32) bool { return r.First <= port && port <= r.Last }

// Overlaps reports whether a port is within both ranges.
func (r Range) Overlaps(other Range) bool { return r.First <= other.Last && other.First <= r.Last }

// Size is how many ports it has.
func (r Range) Size() int32 { return r.Last - r.First + 1 }
