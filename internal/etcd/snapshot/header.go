package snapshot

import (
	"encoding/binary"
	"hash/fnv"
)

// What the first page of a file of bbolt has: 16 bytes for every page, and then the fields below.
// All numbers are in the order of bytes of the machine that wrote it.
const (
	atMagic, atPageSize, atPages, atChecksum = 16, 24, 56, 72
	fieldsBegin                              = 16

	// HeaderSize is how many bytes say how long a snapshot is.
	HeaderSize = 80
	magic      = 0xED0CDAED

	smallestPage, largestPage = 512, 1 << 20
	// mostPages bounds what a header may claim: 1 PiB in pages of the usual size.
	mostPages = 1 << 38
)

// header is what the first page says about the file.
type header struct {
	pageSize, pages int64
}

func (h header) size() int64 { return h.pageSize * h.pages }

// parseHeader reads the first bytes of a file.
func parseHeader(first []byte) (header, error) {
	if len(first) < HeaderSize {
		return header{}, &CutError{Have: int64(len(first))}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if binary.BigEndian.Uint32(first[atMagic:]) == magic {
		order = binary.BigEndian
	}
	if order.Uint32(first[atMagic:]) != magic {
		return header{}, &DamagedError{Reason: "the file does not begin as a snapshot of etcd does: it is another file, or damaged"}
	}
	sum := fnv.New64a()
	sum.Write(first[fieldsBegin:atChecksum])
	pageSize, pages := order.Uint32(first[atPageSize:]), order.Uint64(first[atPages:])
	if sum.Sum64() != order.Uint64(first[atChecksum:]) || pageSize < smallestPage || pageSize > largestPage || pages > mostPages {
		return header{}, &DamagedError{Reason: "the first page of the snapshot does not have its own checksum: it is damaged; take it again"}
	}
	return header{pageSize: int64(pageSize), pages: int64(pages)}, nil
}
