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
	"github.com/onsi/gomega/types"
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
	taken := blank(g)
	write := func(name string, signed []byte) {
		g.Expect(os.WriteFile(filepath.Join(folder, name), signed, 0o600)).To(Succeed())
	}
	for _, p := range pictures {
		write(p.name, sign(taken, p.source(taken)))
	}
	g.Expect(check(folder)).To(Succeed())

	of := func(p picture) types.GomegaMatcher {
		return MatchError(And(ContainSubstring(p.name), ContainSubstring("make pictures"), Not(ContainSubstring(pictures[0].name))))
	}
	other := pictures[1]
	write(other.name, sign(taken, pictures[0].source(taken)))
	g.Expect(check(folder)).To(of(other), "of another page")
	edited := sign(taken, other.source(taken))
	edited[len(edited)-20]++
	write(other.name, edited)
	g.Expect(check(folder)).To(of(other), "edited")
	write(other.name, taken)
	g.Expect(check(folder)).To(of(other), "not signed")
	write(other.name, nil)
	g.Expect(check(folder)).To(of(other), "empty")
}

func TestAPictureThatComesFromNoGeneratorIsAnError(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	for _, name := range []string{"screen.png", "photo.jpg", "drawn.svg"} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), nil, 0o600)).To(Succeed())
	}
	g.Expect(check(folder)).To(MatchError(And(ContainSubstring("screen.png comes from no generator"), ContainSubstring("photo.jpg"), Not(ContainSubstring("drawn.svg")))))
}

func TestTheSignatureIsTakenOff(t *testing.T) {
	g := NewWithT(t)
	taken := blank(g)
	signed := sign(taken, pictures[0].source(taken))
	g.Expect(signed).NotTo(Equal(taken))
	g.Expect(unsigned(signed)).To(Equal(taken))
	for length := range headEnd + signLength {
		g.Expect(unsigned(signed[:length])).To(BeNil())
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
