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

// pings are so many bytes of them.
func pings(bytes int) string { return strings.Repeat(ping, bytes/len(ping)+1) }

// sends is what comes of a client while an answer waits for it, of which it takes so many bytes then.
func sends(client *Backlog, what string, taken int) error {
	var err error
	_, _ = client.Write(func([]byte) (int, error) {
		err = client.Received([]byte(what))
		return taken, nil
	}, nil)
	return err
}

func TestAClientSendsLittleWhileItTakesNoAnswer(t *testing.T) {
	upload := "\x00\x40\x00\x00\x00\x00\x00\x00\x01" + strings.Repeat("x", 16<<10)
	for sentence, c := range map[string]struct {
		sent string
		// others is what all others have to take, in bytes.
		others int64
		want   types.GomegaMatcher
	}{
		"one that pings much is cut off":                       {pings(mostOfAll), 0, MatchError(ErrBacklog)},
		"one that pings a little is not":                       {pings(8 * mostOfOne), 0, Succeed()},
		"one that pings a little beside others is cut off":     {pings(mostOfOne), mostOfAll, MatchError(ErrBacklog)},
		"one that pings once beside others is not":             {ping, mostOfAll, Succeed()},
		"one that sends empty frames beside others is cut off": {strings.Repeat("\x00\x00\x00\x00\x00\x00\x00\x00\x01", 300), mostOfAll, MatchError(ErrBacklog)},
		"one that uploads beside others is not":                {strings.Repeat(upload, 100), mostOfAll, Succeed()},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, all := NewWithT(t), &Backlogs{}
			all.bytes.Store(c.others)
			client := all.Begin()
			g.Expect(client.Received([]byte(beginning))).To(Succeed())
			g.Expect(sends(client, c.sent, 0)).To(c.want)
			client.End()
			g.Expect(all.bytes.Load()).To(Equal(c.others), "it counts no more when it has gone")
			g.Expect(sends(client, pings(mostOfOne), 0)).To(Succeed())
			g.Expect(all.bytes.Load()).To(Equal(c.others), "nor does what still comes")
		})
	}
}

func TestAClientThatHasItsAnswersSendsWhatItLikes(t *testing.T) {
	g, all := NewWithT(t), &Backlogs{}
	all.bytes.Store(mostOfAll)
	client := all.Begin()
	g.Expect(client.Received([]byte(beginning + pings(mostOfAll)))).To(Succeed())
	for range 100 {
		g.Expect(sends(client, pings(mostOfOne/2), mostOfOne)).To(Succeed())
	}
	g.Expect(all.bytes.Load()).To(BeEquivalentTo(mostOfAll))
}

// Else many clients in turn could each have as much as one may have alone.
func TestWhatAClientHasNotTakenStillCounts(t *testing.T) {
	g, all := NewWithT(t), &Backlogs{}
	var failed error
	for range 128 {
		client := all.Begin()
		g.Expect(client.Received([]byte(beginning))).To(Succeed())
		if failed = sends(client, pings(mostOfAll/8), mostOfOne); failed != nil {
			break
		}
	}
	g.Expect(failed).To(MatchError(ErrBacklog))
}

func TestFramesAreFollowedHoweverTheyArrive(t *testing.T) {
	sent := beginning +
		"\x00\x00\x05\x00\x00\x00\x00\x00\x01words" + "\x00\x00\x00\x04\x01\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x01" + ping
	for each := 1; each <= len(sent); each++ {
		f, begun := newFrames(), int64(0)
		for part := range slices.Chunk([]byte(sent), each) {
			begun += f.count(part)
		}
		NewWithT(t).Expect(begun).To(BeEquivalentTo(4), "%d bytes at a time", each)
	}
}
