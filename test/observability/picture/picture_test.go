package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAPictureShowsWhatItIsGiven(t *testing.T) {
	g := NewWithT(t)
	start := time.Unix(1000, 0)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	svg := Picture{
		Title: "An <outage>", Description: "What happened.", Start: start, End: at(60), Zero: at(10),
		Lanes: []Lane{
			{Label: "state", Pieces: []Piece{
				{From: start, To: at(10), Text: "Armed", Colour: OK},
				{From: at(10), To: at(11), Text: "too long for a second", Colour: Bad},
				{From: at(11), To: at(90), Text: "Covered", Colour: Warn},
			}},
			{Label: "answers", Curves: []Curve{
				{Name: "application", Colour: OK, Points: []Point{{start, 50}, {at(10), 0}, {at(60), 0}}},
				{Name: "endpoints", Colour: Plain, Steps: true, Points: []Point{{start, 2}, {at(10), 0}, {at(60), 0}}},
			}},
		},
	}.SVG()

	g.Expect(wellFormed(svg)).To(Succeed())
	g.Expect(svg).To(And(ContainSubstring("An &lt;outage&gt;"), ContainSubstring(">Armed<"), ContainSubstring(">Covered<")))
	g.Expect(svg).NotTo(ContainSubstring("too long"), "a text that does not fit")
	g.Expect(svg).To(ContainSubstring(`>-10 s<`), "the axis begins before second 0")
	g.Expect(svg).To(ContainSubstring(`class="zero" x1="367.7"`), "second 0 is a sixth of the way")
	// From the left at full height down to the ground, a sixth of the way.
	g.Expect(svg).To(ContainSubstring(`d="M206.0 72.0L367.7 178.0L1176.0 178.0"`))
	g.Expect(svg).To(ContainSubstring("H367.7V178.0H1176.0"), "steps")
	g.Expect(svg).To(ContainSubstring(`width="792.2"`), "a piece ends with the picture")
}

func TestAPictureOfNothingIsDrawn(t *testing.T) {
	g := NewWithT(t)
	g.Expect(wellFormed(Picture{Start: time.Unix(0, 0), End: time.Unix(600, 0), Zero: time.Unix(0, 0)}.SVG())).To(Succeed())
}

func wellFormed(document string) error {
	decoder := xml.NewDecoder(strings.NewReader(document))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
