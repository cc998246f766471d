package translation

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/text/unicode/bidi"
)

func TestThereAreTheLanguagesThatTheDocumentsName(t *testing.T) {
	names := make([]string, 0, len(all))
	for _, translation := range all {
		names = append(names, translation.Language)
	}
	NewWithT(t).Expect(names).To(Equal([]string{
		"en", "ar", "de", "es", "fr", "he", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "uk", "zh-Hans", "zh-Hant",
	}))
}

// each runs a test for every language.
func each(t *testing.T, test func(g Gomega, translation *Translation)) {
	for _, translation := range all {
		t.Run(translation.Language, func(t *testing.T) { test(NewWithT(t), translation) })
	}
}

func TestEachLanguageHasEachTextWithItsPlaces(t *testing.T) {
	place := regexp.MustCompile(`\{[^}]*\}?`)
	each(t, func(g Gomega, translation *Translation) {
		for name, text := range map[string]struct {
			text   string
			places []string
		}{
			"soon":        {translation.Soon, nil},
			"unavailable": {translation.Unavailable, nil},
			"message":     {translation.Message, nil},
			"tryAgain":    {translation.TryAgain, nil},
			"expected":    {translation.ExpectedWhen, []string{"{when}"}},
			"reload":      {translation.ReloadWhen, []string{"{when}"}},
			"retry":       {translation.RetryWhen, []string{"{when}"}},
			"in":          {translation.InAmount, []string{"{amount}"}},
			"inAbout":     {translation.AboutAmount, []string{"{amount}"}},
		} {
			g.Expect(text.text).NotTo(BeEmpty(), name)
			g.Expect(text.text).To(Equal(strings.TrimSpace(text.text)), name)
			g.Expect(text.text).To(Equal(html.EscapeString(text.text)), "%s needs no escaping", name)
			g.Expect(place.FindAllString(text.text, -1)).To(Equal(text.places), name)
		}
	})
}

func TestAFileHasNothingThatIsNotRead(t *testing.T) {
	each(t, func(g Gomega, translation *Translation) {
		data, err := files.ReadFile("languages/" + translation.Language + ".json")
		g.Expect(err).NotTo(HaveOccurred())
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		g.Expect(decoder.Decode(&Translation{})).To(Succeed())
	})
}

// A form may leave the number out only if it is that of a single number, as "two hours"
// is in Arabic; in Russian the form of 1 is that of 21, too.
func TestEachLanguageHasTheFormsOfItsNumbers(t *testing.T) {
	each(t, func(g Gomega, translation *Translation) {
		numbers := map[string]int{}
		for count := 1; count <= 1000; count++ {
			numbers[translation.category(count)]++
		}
		needed := slices.Sorted(maps.Keys(numbers))
		for name, of := range map[string]amounts{
			"seconds": translation.Seconds, "minutes": translation.Minutes, "hours": translation.Hours, "days": translation.Days,
		} {
			g.Expect(slices.Sorted(maps.Keys(of))).To(Equal(needed), name)
			for category, form := range of {
				g.Expect(form).To(Equal(html.EscapeString(form)))
				if numbers[category] > 1 || strings.Contains(form, "{") {
					g.Expect(strings.Count(form, "{n}")).To(Equal(1), "%s, %s: %s", name, category, form)
				}
				g.Expect(strings.Replace(form, "{n}", "", 1)).To(MatchRegexp(`^[\p{L}\p{M} ]+$`), "%s, %s", name, category)
			}
		}
	})
}

func TestTheDirectionIsThatOfTheLetters(t *testing.T) {
	each(t, func(g Gomega, translation *Translation) {
		properties, _ := bidi.LookupString(translation.Soon)
		want := "ltr"
		if class := properties.Class(); class == bidi.R || class == bidi.AL {
			want = "rtl"
		}
		g.Expect(translation.Direction).To(Equal(want))
	})
}

func TestTimesInWords(t *testing.T) {
	const day = 24 * time.Hour
	for sentence, c := range map[string]struct {
		language  string
		wait      time.Duration
		in, about string
	}{
		"seconds are for what is exact":            {"en", 30 * time.Second, "in 30 seconds", "in about 1 minute"},
		"one of them":                              {"en", time.Second, "in 1 second", "in about 1 minute"},
		"about no time is a minute":                {"en", time.Nanosecond, "in 0 seconds", "in about 1 minute"},
		"one minute and more is two":               {"en", 61 * time.Second, "in 61 seconds", "in about 2 minutes"},
		"few minutes are counted":                  {"en", 10 * time.Minute, "in 10 minutes", "in about 10 minutes"},
		"more are rounded up":                      {"en", 36 * time.Minute, "in 36 minutes", "in about 40 minutes"},
		"until an hour and a half":                 {"en", 90 * time.Minute, "in 90 minutes", "in about 90 minutes"},
		"then hours are rounded":                   {"en", 149 * time.Minute, "in 2 hours", "in about 2 hours"},
		"to the nearest":                           {"en", 150 * time.Minute, "in 3 hours", "in about 3 hours"},
		"a day is hours":                           {"en", day, "in 24 hours", "in about 24 hours"},
		"more than a day and a half is days":       {"en", 36 * time.Hour, "in 36 hours", "in about 2 days"},
		"and so is all that follows":               {"en", 365 * day, "in 8760 hours", "in about 365 days"},
		"German has the dative":                    {"de", 3 * day, "in 72 Stunden", "in etwa 3 Tagen"},
		"French has the singular for one":          {"fr", time.Minute, "dans 60 secondes", "dans environ 1 minute"},
		"Polish has few":                           {"pl", 22 * time.Second, "za 22 sekundy", "mniej więcej za 1 minutę"},
		"and many":                                 {"pl", 12 * time.Minute, "za 12 minut", "mniej więcej za 15 minut"},
		"Russian has the form of one for 21":       {"ru", 21 * time.Second, "через 21 секунду", "примерно через 1 минуту"},
		"Ukrainian has few":                        {"uk", 3 * time.Hour, "через 3 години", "приблизно через 3 години"},
		"Arabic has a word for two":                {"ar", 2 * time.Hour, "بعد ساعتين", "بعد حوالي ساعتين"},
		"and another form from 3 to 10":            {"ar", 5 * time.Minute, "بعد 5 دقائق", "بعد حوالي 5 دقائق"},
		"and another from 11 to 99":                {"ar", 40 * time.Minute, "بعد 40 دقيقة", "بعد حوالي 40 دقيقة"},
		"Hebrew has a word for two, too":           {"he", 2 * time.Hour, "בעוד שעתיים", "בעוד שעתיים בערך"},
		"Japanese has one form":                    {"ja", 40 * time.Minute, "40分後", "約40分後"},
		"Chinese has one form":                     {"zh-TW", 40 * time.Minute, "40 分鐘後", "約 40 分鐘後"},
		"Turkish has the time before the relation": {"tr", 40 * time.Minute, "40 dakika sonra", "yaklaşık 40 dakika sonra"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			translation := For(c.language)
			g.Expect(translation.In(c.wait)).To(Equal(c.in))
			g.Expect(translation.InAbout(c.wait)).To(Equal(c.about))
		})
	}
}

func TestTheSentences(t *testing.T) {
	g := NewWithT(t)
	g.Expect(For("de").Expected("in etwa 5 Minuten")).To(Equal("Voraussichtlich in etwa 5 Minuten wieder da"))
	g.Expect(For("ja").Reload("30秒後")).To(Equal("このページは30秒後に自動で再試行します。"))
	g.Expect(For("zh").Retry("30 秒后")).To(Equal("请在 30 秒后重试。"))
}
