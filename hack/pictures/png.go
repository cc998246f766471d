package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// step is how coarse colours become: soft shades have thousands, which no one tells apart.
const step = 3

// coarse is the nearest colour of those that are kept.
func coarse(c color.Color) color.RGBA {
	red, green, blue, _ := c.RGBA()
	part := func(of uint32) uint8 { return uint8(min(255, (of>>8+step/2)/step*step)) }
	return color.RGBA{part(red), part(green), part(blue), 255}
}

// pack makes a PNG small: with the 256 colours that are there most.
func pack(taken []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		return nil, err
	}
	area := picture.Bounds()
	count := map[color.RGBA]int{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			count[coarse(picture.At(x, y))]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	packed := image.NewPaletted(area, palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			packed.Set(x, y, coarse(picture.At(x, y)))
		}
	}
	out := &bytes.Buffer{}
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, packed)
	return out.Bytes(), err
}

// keyword is that of the chunk of text in which a picture says of what it was taken.
const keyword = "Source"

// A PNG begins with 8 bytes of its own and a chunk of 25, which describes the picture. A
// chunk is its length and its type, of 4 bytes each, its data and a checksum of 4 bytes.
// The data of ours is the keyword, a zero and a hash in hexadecimal.
const (
	headEnd    = 8 + 25
	signLength = 4 + 4 + len(keyword) + 1 + 2*sha256.Size + 4
)

// sign writes into a PNG of what it was taken.
func sign(picture []byte, source string) []byte {
	body := []byte("tEXt" + keyword + "\x00" + source)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4)) //nolint:gosec // It is a hundred bytes.
	chunk = append(chunk, body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body))
	return slices.Insert(slices.Clone(picture), headEnd, chunk...)
}

// unsigned is what sign was given, or nil if it was not this long.
func unsigned(signed []byte) []byte {
	if len(signed) < headEnd+signLength {
		return nil
	}
	return slices.Delete(slices.Clone(signed), headEnd, headEnd+signLength)
}
