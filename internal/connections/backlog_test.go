package connections

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

const (
	beginning = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	ping      = "\x00\x00\x08\x06\x00\x00\x00\x00\x00ping-..."
)

func TestAClientSendsLittleWhileItTakesNoAnswer(t *testing.T) {
	pings := func(bytes int) string { return strings.Repeat(ping, bytes/len(ping)+1) }
	for sentence, c := range map[string]struct {
		sent string
		// others is what all others have sent, in bytes, and isTaken whether the client has its answer.
		others  int64
		isTaken bool
		want    types.GomegaMatcher
	}{
		"one that pings much is cut off":                     {pings(mostOfAll), 0, false, MatchError(ErrBacklog)},
		"one that pings a little is not":                     {pings(8 * mostOfOne), 0, false, Succeed()},
		"one that pings a little beside others is cut off":   {pings(mostOfOne), mostOfAll, false, MatchError(ErrBacklog)},
		"one that pings once beside others is not":           {ping, mostOfAll, false, Succeed()},
		"one that uploads is not":                            {strings.Repeat("\x00\x40\x00\x00\x00\x00\x00\x00\x01"+strings.Repeat("x", 16<<10), 100), mostOfAll - mostOfOne, false, Succeed()},
		"one that has its answer goes on, whatever it sends": {pings(mostOfAll), mostOfAll, true, Succeed()},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, all := NewWithT(t), &Backlogs{}
			all.bytes.Store(c.others)
			client, err := all.Begin(), error(nil)
			g.Expect(client.Received([]byte(beginning))).To(Succeed())
			send := func([]byte) (int, error) {
				err = client.Received([]byte(c.sent))
				return 0, nil
			}
			if c.isTaken {
				_, _ = send(nil)
			} else {
				_, _ = client.Write(send, nil)
			}
			g.Expect(err).To(c.want)
			g.Expect(all.bytes.Load()).To(Equal(c.others), "what was sent counts no more")
		})
	}
}

func TestFramesAreFollowedHoweverTheyArrive(t *testing.T) {
	sent := strings.Repeat("p", lengthOfPreface) +
		"\x00\x00\x05\x00\x00\x00\x00\x00\x01words" + "\x00\x00\x00\x04\x01\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x08\x06\x00\x00\x00\x00\x00ping-..."
	for each := 1; each <= len(sent); each++ {
		f, other := newFrames(), int64(0)
		for part := range slices.Chunk([]byte(sent), each) {
			other += f.count(part)
		}
		NewWithT(t).Expect(other).To(BeEquivalentTo(len(sent)-len("words")), "all but the upload, %d bytes at a time", each)
	}
}
