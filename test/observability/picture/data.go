package picture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Figures is where an SVG begins to say what it was drawn from.
const Figures = "<metadata>"

// Read is the picture that an SVG was drawn from.
func Read(drawn string) (Picture, error) {
	_, rest, begins := strings.Cut(drawn, Figures)
	data, _, ends := strings.Cut(rest, "</metadata>")
	if !begins || !ends {
		return Picture{}, errors.New("the SVG holds no figures: there is no <metadata>, which package picture writes")
	}
	return parse([]byte(data))
}

func parse(data []byte) (Picture, error) {
	var p Picture
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("the figures of a picture: %w", err)
	}
	return p, nil
}

// MarshalJSON writes a point as exactly as the eye sees it.
func (p Point) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]float64{round(p[0]), round(p[1])})
}

// round is a number with two decimals.
func round(number float64) float64 { return math.Round(number*100) / 100 }
