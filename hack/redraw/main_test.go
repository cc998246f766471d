package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const documents = "../../docs/images"

func TestThePicturesAreWhatTheirFiguresSay(t *testing.T) {
	for _, name := range []string{"outage-timeline.svg", "scale.svg"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			committed, err := os.ReadFile(filepath.Join(documents, name))
			g.Expect(err).NotTo(HaveOccurred())
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
