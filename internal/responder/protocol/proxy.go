package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The header of the PROXY protocol, with which a load balancer may begin the connection
// of a client. See https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt.
//
// It is read here, and by no library: all that is needed is where it ends, whatever it
// says, and byte for byte, as it may be followed by anything and be cut anywhere.
// That of pires/go-proxyproto wants version 1 in a single read.
const (
	proxySignature1 = "PROXY "
	proxySignature2 = "\r\n\r\n\x00\r\nQUIT\n"
	// proxyLimit1 is the longest header of version 1.
	proxyLimit1 = 107
	// proxyHeader2 is what every header of version 2 begins with: the signature, the
	// version and the command, the family, and the length of the rest.
	proxyHeader2 = len(proxySignature2) + 4
	// proxyLimit2 is far more than balancers add: a certificate takes 2 KiB.
	proxyLimit2 = 4 << 10
)

var errProxyHeader = errors.New("the header of the PROXY protocol is malformed")

// judgePROXY looks for the beginning of either version. A method of HTTP could be
// called PROXY, too; it is followed by another target.
func judgePROXY(first []byte) verdict {
	return judgeAny(first, proxySignature1+"TCP4 ", proxySignature1+"TCP6 ", proxySignature1+"UNKNOWN", proxySignature2)
}

// SkipProxyHeader reads a header of the PROXY protocol, and nothing beyond it. The
// connection's own end is the client in any case, so that what the header says is
// not looked at.
func SkipProxyHeader(in io.Reader) error {
	var header [proxyLimit1]byte
	// Version 1 is at least as long as the fixed part of version 2 is, but for
	// a byte: "PROXY UNKNOWN\r\n".
	begin := header[:proxyHeader2-1]
	if _, err := io.ReadFull(in, begin); err != nil {
		return err
	}
	if !bytes.HasPrefix(begin, []byte(proxySignature2)) {
		return skipLine(in, header[:], len(begin))
	}
	if _, err := io.ReadFull(in, header[proxyHeader2-1:proxyHeader2]); err != nil {
		return err
	}
	command, rest := header[len(proxySignature2)], binary.BigEndian.Uint16(header[proxyHeader2-2:])
	if command != 0x20 && command != 0x21 { // LOCAL and PROXY, of version 2
		return fmt.Errorf("%w: its version and command are %#x", errProxyHeader, command)
	}
	if rest > proxyLimit2 {
		return fmt.Errorf("%w: it has %d bytes", errProxyHeader, rest)
	}
	_, err := io.CopyN(io.Discard, in, int64(rest))
	return err
}

// skipLine reads a line of which some bytes are read, to its end.
func skipLine(in io.Reader, line []byte, read int) error {
	for end := []byte("\r\n"); !bytes.HasSuffix(line[:read], end); read++ {
		if read == len(line) || bytes.ContainsAny(line[:read], "\n") {
			return fmt.Errorf("%w: it has no end", errProxyHeader)
		}
		if _, err := io.ReadFull(in, line[read:read+1]); err != nil {
			return err
		}
	}
	return nil
}
