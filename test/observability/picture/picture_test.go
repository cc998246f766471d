package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAPictureShowsWhatItIsGiven(t *testing.T) {
	g := NewWithT(t)
	svg := drawn(g, Picture{
		Title: "An <outage>", Description: "What happened.", Command: "make outage", Start: -10, End: 50,
		Lanes: []Lane{
			{Label: "state", Pieces: []Piece{
				{From: -10, To: 0, Text: "Armed", Colour: OK},
				{From: 0, To: 1, Text: "long for a second", Colour: Bad},
				{From: 1, To: 2, Text: "no room at all", Colour: Bad},
				{From: 2, To: 80, Text: "Covered", Colour: Warn},
			}},
			{Label: "answers", Curves: []Curve{
				{Name: "application", Colour: OK, Points: []Point{{-10, 50}, {0, 0}, {50, 0}}},
				{Name: "endpoints", Colour: Plain, Steps: true, Points: []Point{{-10, 2}, {0, 0}, {50, 0}}},
			}},
		},
	})

	g.Expect(svg).To(And(ContainSubstring("An &lt;outage&gt;"), ContainSubstring("make outage"), ContainSubstring(`y="36" text-anchor="middle">Covered<`)))
	g.Expect(svg).To(ContainSubstring(`class="t-bad b" x="375.8" y="62" text-anchor="middle">long for a second<`), "below its piece")
	g.Expect(svg).NotTo(ContainSubstring(">no room at all<"), "a text that would stand on another")
	g.Expect(svg).To(ContainSubstring(`>-10 s<`), "the axis begins before second 0")
	g.Expect(svg).To(And(ContainSubstring(`>0 s<`), Not(ContainSubstring(`>-0 s<`))))
	g.Expect(svg).To(ContainSubstring(`class="zero" x1="367.7"`), "second 0 is a sixth of the way")
	// From the left at full height down to the ground, a sixth of the way.
	g.Expect(svg).To(ContainSubstring(`d="M206.0 72.0L367.7 178.0L1176.0 178.0"`))
	g.Expect(svg).To(ContainSubstring("H367.7V178.0H1176.0"), "steps")
	g.Expect(svg).To(ContainSubstring(`width="776.0"`), "a piece ends with the picture")
}

func TestAPictureOfNothingIsDrawn(t *testing.T) {
	g := NewWithT(t)
	g.Expect(drawn(g, Picture{End: 600})).NotTo(ContainSubstring(`class="zero"`), "second 0 is no event if all begins with it")
}

func TestAPictureHoldsWhatItIsDrawnFrom(t *testing.T) {
	g := NewWithT(t)
	third := Picture{Title: "</metadata>", End: 10, Lanes: []Lane{{Curves: []Curve{{Points: []Point{{1. / 3, 2. / 3}, {1, 1}}}}}}}
	svg := drawn(g, third)
	read, err := Read(svg)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Title).To(Equal(third.Title))
	g.Expect(read.Lanes[0].Curves[0].Points).To(Equal([]Point{{0.33, 0.67}, {1, 1}}), "as exactly as the eye sees it")
	g.Expect(drawn(g, read)).To(Equal(svg), "the same comes out again")
}

func TestFiguresThatCannotBeDrawnAreAnError(t *testing.T) {
	g := NewWithT(t)
	_, err := Picture{Lanes: []Lane{{Curves: []Curve{{Points: []Point{{0, math.NaN()}}}}}}}.SVG()
	g.Expect(err).To(MatchError(ContainSubstring("NaN")))
	for sentence, svg := range map[string]string{
		"an SVG that holds none":    "<svg></svg>",
		"figures without an end":    "<svg><metadata>{}</svg>",
		"figures that are no JSON":  "<svg><metadata>{</metadata></svg>",
		"a field that no one draws": `<svg><metadata>{"colour": "red"}</metadata></svg>`,
	} {
		_, err := Read(svg)
		g.Expect(err).To(MatchError(ContainSubstring("figures")), sentence)
	}
}

// drawn is the SVG of a picture.
func drawn(g Gomega, p Picture) string {
	svg, err := p.SVG()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wellFormed(svg)).To(Succeed())
	return svg
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
