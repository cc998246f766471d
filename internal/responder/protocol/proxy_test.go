package protocol

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"
)

func TestSkipProxyHeader(t *testing.T) {
	const two = "\r\n\r\n\x00\r\nQUIT\n"
	const rest = "GET / HTTP/1.1\r\n"
	tests := map[string]struct {
		header string
		err    string
	}{
		"version 1, TCP over IPv4":                 {header: "PROXY TCP4 203.0.113.7 203.0.113.8 56324 443\r\n"},
		"version 1, the longest":                   {header: "PROXY UNKNOWN " + strings.Repeat("f", 91) + "\r\n"},
		"version 1, the shortest":                  {header: "PROXY UNKNOWN\r\n"},
		"version 1, too long":                      {header: "PROXY UNKNOWN " + strings.Repeat("f", 92) + "\r\n", err: "it has no end"},
		"version 1, with a bare line feed":         {header: "PROXY TCP4 203.0.113.7 203.0.113.8 56324 443\n", err: "it has no end"},
		"version 2, of the balancer itself":        {header: two + "\x20\x00\x00\x00"},
		"version 2, over IPv4":                     {header: two + "\x21\x11\x00\x0c" + strings.Repeat("\r", 12)},
		"version 2, with as many fields as may be": {header: two + "\x21\x21\x10\x00" + strings.Repeat("\n", 4096)},
		"version 2, with more":                     {header: two + "\x21\x21\x10\x01" + strings.Repeat("\n", 4097), err: "it has 4097 bytes"},
		"version 2, with an unknown command":       {header: two + "\x22\x11\x00\x00", err: "its version and command are 0x22"},
		"version 3":                                {header: two + "\x31\x11\x00\x00", err: "its version and command are 0x31"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := iotest.OneByteReader(strings.NewReader(test.header + rest))
			err := SkipProxyHeader(in)
			if test.err != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring("the header of the PROXY protocol is malformed"), ContainSubstring(test.err))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			left, err := io.ReadAll(in)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(left)).To(Equal(rest), "nothing beyond it is read")

			for cut := range len(test.header) {
				g.Expect(SkipProxyHeader(strings.NewReader(test.header[:cut]))).NotTo(Succeed(), "of %d bytes", cut)
			}
		})
	}
}
