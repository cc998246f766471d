package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/observability/picture"
)

const documents = "../../docs/images"

func TestThePicturesAreWhatTheirFiguresSay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(documents, "*.svg"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	measured := 0
	for _, path := range files {
		committed, err := os.ReadFile(path)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if !strings.Contains(string(committed), picture.Figures) {
			continue // It is drawn from no figures.
		}
		measured++
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for sentence, found := range map[string]string{
				"as it is":            string(committed),
				"with another colour": strings.Replace(string(committed), `class="line l-`, `class="line l-bad l-`, 1),
				"with another value":  strings.Replace(string(committed), `d="M206.`, `d="M216.`, 1),
				"with another word":   strings.Replace(string(committed), `</text>`, `!</text>`, 1),
			} {
				file := filepath.Join(t.TempDir(), name)
				g.Expect(os.WriteFile(file, []byte(found), 0o600)).To(Succeed())
				g.Expect(redraw(filepath.Dir(file))).To(Succeed(), sentence)
				drawn, err := os.ReadFile(file)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(drawn)).To(Equal(string(committed)), "%s: run 'make redraw' and commit the result", sentence)
			}
		})
	}
	NewWithT(t).Expect(measured).To(BeNumerically(">=", 2))
}

func TestAPictureOfFiguresThatCannotBeReadIsAnError(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	write := func(name, text string) {
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
	}
	write("scene.svg", "<svg>without figures</svg>")
	g.Expect(redraw(folder)).To(Succeed())
	write("broken.svg", "<svg><metadata>{</metadata></svg>")
	g.Expect(redraw(folder)).To(MatchError(And(ContainSubstring("broken.svg"), Not(ContainSubstring("scene.svg")))))
}
