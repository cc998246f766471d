package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

func TestColumnsStayStraight(t *testing.T) {
	columns := []Column{{Name: "NAME"}, {Name: "STATE", Tone: ToneOfState}, {Name: "WHO", Wide: true}, {Name: "WHY"}}
	rows := [][]string{{"web", "Exposed", "a", "it crashes"}, {"a-longer-name", "Armed", "b", ""}}
	text := func(palette Palette, wide bool) string {
		var out bytes.Buffer
		table := NewTable(&out, palette, wide, columns...)
		for _, row := range rows {
			table.Row(row...)
		}
		NewWithT(t).Expect(table.Flush()).To(Succeed())
		return out.String()
	}
	plain := strings.Join([]string{
		"NAME            STATE     WHY",
		"web             Exposed   it crashes",
		"a-longer-name   Armed     -",
		"",
	}, "\n")
	g := NewWithT(t)
	g.Expect(text(false, false)).To(Equal(plain))
	g.Expect(text(false, true)).To(ContainSubstring("WHO"))
	colored := text(true, false)
	g.Expect(colored).To(ContainSubstring("\x1b[31mExposed\x1b[0m"))
	for _, sequence := range []Tone{Neutral, Good, Warning, Bad, reset} {
		colored = strings.ReplaceAll(colored, string(sequence), "")
	}
	g.Expect(colored).To(Equal(plain))
}

func TestRowsThatFollowFitBelow(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	table := NewTable(&out, false, false, Column{Name: "NAME"}, Column{Name: "STATE"})
	table.Row("a-longer-name", "Armed")
	g.Expect(table.Flush()).To(Succeed())
	table.Row("web", "Exposed")
	g.Expect(table.Flush()).To(Succeed())
	g.Expect(out.String()).To(Equal("NAME            STATE\na-longer-name   Armed\nweb             Exposed\n"))
}

func TestNothingIsColoredThatNoTerminalShows(t *testing.T) {
	g := NewWithT(t)
	g.Expect(bool(PaletteOf(&bytes.Buffer{}))).To(BeFalse())
	g.Expect(Palette(false).Paint(Bad, "x")).To(Equal("x"))
	g.Expect(Palette(true).Paint(Bad, "x")).To(Equal("\x1b[31mx\x1b[0m"))
}

func TestFormats(t *testing.T) {
	type document struct {
		Text  string `json:"text"`
		Count int    `json:"count"`
	}
	for format, want := range map[Format]string{
		JSON: "{\n    \"text\": \"<a> & b\",\n    \"count\": 1\n}\n",
		YAML: "count: 1\ntext: <a> & b\n",
	} {
		t.Run(string(format), func(t *testing.T) {
			g := NewWithT(t)
			flags := AddTo(&cobra.Command{}, JSON, YAML)
			g.Expect(flags.Set(string(format))).To(Succeed())
			g.Expect(flags.Structured()).To(BeTrue())
			var out bytes.Buffer
			g.Expect(flags.Document(&out, document{Text: "<a> & b", Count: 1})).To(Succeed())
			g.Expect(out.String()).To(Equal(want))
		})
	}
}

func TestAFormatThatACommandDoesNotHaveIsRefused(t *testing.T) {
	g := NewWithT(t)
	command := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
	flags := AddTo(command, Wide, JSON)
	command.SetArgs([]string{"-o", "yaml"})
	g.Expect(command.Execute()).To(MatchError(ContainSubstring("it is one of wide, json")))
	command.SetArgs([]string{"-o", "wide"})
	g.Expect(command.Execute()).To(Succeed())
	g.Expect(flags.Wide()).To(BeTrue())
	g.Expect(flags.Structured()).To(BeFalse())
}

func TestDurations(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	g := NewWithT(t)
	g.Expect(Age(time.Time{}, now)).To(Equal("<unknown>"))
	g.Expect(Age(now.Add(-90*time.Minute), now)).To(Equal("90m"))
	for took, want := range map[time.Duration]string{
		-time.Second: "0s", 35*time.Millisecond + 400: "35ms", 1340 * time.Millisecond: "1.3s", 90 * time.Second: "90s", 26 * time.Hour: "26h",
	} {
		g.Expect(Took(took)).To(Equal(want))
	}
}
