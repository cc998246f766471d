package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

const documents = "../../docs/images"

func TestThePicturesAreOfThePageAsItIs(t *testing.T) {
	NewWithT(t).Expect(check(documents)).To(Succeed())
}

func TestThePicturesAreSmall(t *testing.T) {
	for _, p := range pictures {
		g := NewWithT(t)
		taken, err := os.ReadFile(filepath.Join(documents, p.name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(taken)).To(BeNumerically("<", 60_000), p.name)
		shown, err := png.Decode(bytes.NewReader(taken))
		g.Expect(err).NotTo(HaveOccurred(), "the chunk of text leaves it a picture")
		g.Expect(shown.Bounds().Dx()).To(BeEquivalentTo(p.view.Width))
	}
}

func TestAPictureOfAnotherPageIsAnError(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	g.Expect(check(folder)).To(MatchError(os.ErrNotExist))
	for i, p := range pictures {
		text := p.source()
		if i == 1 {
			text = pictures[0].source()
		}
		g.Expect(os.WriteFile(filepath.Join(folder, p.name), sign(blank(g), text), 0o600)).To(Succeed())
	}
	g.Expect(check(folder)).To(MatchError(And(ContainSubstring(pictures[1].name), ContainSubstring("make pictures"), Not(ContainSubstring(pictures[0].name)))))
}

func TestTheSignatureIsReadFromWhatMayNotBeAPicture(t *testing.T) {
	g := NewWithT(t)
	signed := sign(blank(g), "here")
	g.Expect(signature(signed)).To(Equal("here"))
	g.Expect(signature(blank(g))).To(BeEmpty())
	for length := range headEnd + chunkHead {
		g.Expect(signature(signed[:length])).To(BeEmpty())
	}
}

// blank is a small picture, packed.
func blank(g Gomega) []byte {
	picture := image.NewRGBA(image.Rect(0, 0, 20, 20))
	for i := range 400 {
		picture.Set(i%20, i/20, color.RGBA{uint8(i), uint8(i / 2), 255, 255})
	}
	out := &bytes.Buffer{}
	g.Expect(png.Encode(out, picture)).To(Succeed())
	packed, err := pack(out.Bytes())
	g.Expect(err).NotTo(HaveOccurred())
	return packed
}
