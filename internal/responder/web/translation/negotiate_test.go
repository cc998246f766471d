package translation

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAcceptLanguageDecides(t *testing.T) {
	for sentence, c := range map[string]struct{ header, want string }{
		"a visitor who says nothing reads English":            {"", "en"},
		"a visitor who does not mind reads English":           {"*", "en"},
		"a language that is not there is English":             {"sw", "en"},
		"a language whose speakers may read another":          {"be", "en"},
		"unless they say that they do":                        {"be,ru;q=0.5", "ru"},
		"a dialect is not its language":                       {"gsw", "en"},
		"a header that cannot be read is as good as none":     {"de;q=nonsense", "en"},
		"a language that does not exist is as good as none":   {"-----", "en"},
		"a browser's list: the first that is there":           {"sw-KE,sw;q=0.9,fr;q=0.8,en;q=0.7", "fr"},
		"the greater q wins":                                  {"fr;q=0.4, de;q=0.5", "de"},
		"what is refused is not taken":                        {"fr;q=0, de;q=0.1", "de"},
		"a region has the texts of its language":              {"de-CH", "de"},
		"Brazilians and Portuguese share a text":              {"pt-BR", "pt"},
		"Chinese is simplified":                               {"zh", "zh-Hans"},
		"unless the region or the script is another":          {"zh-HK", "zh-Hant"},
		"the old code of Hebrew is Hebrew":                    {"iw", "he"},
		"Ukrainian is not Russian":                            {"uk-UA,ru;q=0.5", "uk"},
		"case does not matter":                                {"AR-eg", "ar"},
		"what is after the longest header is not read":        {strings.Repeat("sw,", longestHeader/3) + "xx,fr", "en"},
		"what is before is":                                   {"fr," + strings.Repeat("sw,", 10_000), "fr"},
		"a tag that is cut off is not taken for a shorter":    {strings.Repeat("sw,", longestHeader/3-1) + "de-x-abcdefgh,fr", "en"},
		"one tag that is longer than all that is read is not": {"de-" + strings.Repeat("x", 10_000), "en"},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(For(c.header).Language).To(Equal(c.want))
		})
	}
}

// FuzzFor wants a translation for whatever is asked.
func FuzzFor(f *testing.F) {
	f.Add("de-CH,de;q=0.9,en;q=0.8")
	f.Add("zh-Hant-TW-x-priv;q=0.1,*;q=0")
	f.Add(strings.Repeat("a-", 2000))
	f.Add("i-klingon,,;q=,en-u-ca-buddhist-t-de-m0-true")
	f.Fuzz(func(t *testing.T, header string) {
		if !slices.Contains(all, For(header)) {
			t.Errorf("%q leads to none of the translations", header)
		}
	})
}

// BenchmarkFor is what a browser's header costs, and what a stranger's may.
func BenchmarkFor(b *testing.B) {
	for name, header := range map[string]string{
		"browser":  "de-CH,de;q=0.9,en;q=0.8,fr;q=0.7",
		"stranger": strings.Repeat("en-u-", 20_000),
		"many":     strings.Repeat("sw,", 20_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				For(header)
			}
		})
	}
}
