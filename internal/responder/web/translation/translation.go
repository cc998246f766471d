// Package translation has the texts of the built-in page in the languages of visitors.
//
// Each language is a file of the folder languages, named by its tag (BCP 47). A text may
// have one place to be filled: {when}, {amount} or {n}. The forms of an amount are the
// plural categories of CLDR that whole numbers of the language have.
package translation

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed languages/*.json
var files embed.FS

// Translation has the texts in one language. None has a character that HTML escapes.
type Translation struct {
	// Language is the tag of the language, for example zh-Hant.
	Language string `json:"-"`
	// Direction is that of the script: ltr or rtl.
	Direction string `json:"direction"`
	// Soon is the heading while the Service is temporarily unavailable (503), and
	// Unavailable that for any other status.
	Soon        string `json:"soon"`
	Unavailable string `json:"unavailable"`
	// Message is shown where the team gave none.
	Message string `json:"message"`
	// TryAgain is what the link to the same page says.
	TryAgain string `json:"tryAgain"`

	ExpectedWhen string  `json:"expected"`
	ReloadWhen   string  `json:"reload"`
	RetryWhen    string  `json:"retry"`
	InAmount     string  `json:"in"`
	AboutAmount  string  `json:"inAbout"`
	Seconds      amounts `json:"seconds"`
	Minutes      amounts `json:"minutes"`
	Hours        amounts `json:"hours"`
	Days         amounts `json:"days"`

	tag language.Tag
}

// amounts is a number of units of time, by the plural category of the number.
type amounts map[string]string

var categories = [...]string{
	plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
}

// original is the language of visitors who ask for none that there is.
const original = "en"

// all are the translations, the original first.
var all = read()

func read() []*Translation {
	entries, err := files.ReadDir("languages")
	must(err)
	translations := make([]*Translation, 0, len(entries))
	for _, entry := range entries {
		data, err := files.ReadFile("languages/" + entry.Name())
		must(err)
		t := &Translation{Language: strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), Direction: "ltr"}
		must(json.Unmarshal(data, t))
		t.tag = language.MustParse(t.Language)
		if t.Language == original {
			translations = slices.Insert(translations, 0, t)
		} else {
			translations = append(translations, t)
		}
	}
	return translations
}

// must is about files that are part of the program: a test reads them all.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("a translation cannot be read: %v", err))
	}
}

// Expected is the sentence that says when the Service is expected back.
func (t *Translation) Expected(when string) string {
	return strings.Replace(t.ExpectedWhen, "{when}", when, 1)
}

// Reload is the sentence that says when the page loads itself again.
func (t *Translation) Reload(when string) string {
	return strings.Replace(t.ReloadWhen, "{when}", when, 1)
}

// Retry is the sentence that says when to try again.
func (t *Translation) Retry(when string) string {
	return strings.Replace(t.RetryWhen, "{when}", when, 1)
}

// In says that something is a time away: in seconds below two minutes, in minutes below
// two hours, else in hours.
func (t *Translation) In(wait time.Duration) string {
	var amount string
	switch {
	case wait < 2*time.Minute:
		amount = t.amount(t.Seconds, wait, time.Second)
	case wait < 2*time.Hour:
		amount = t.amount(t.Minutes, wait.Round(time.Minute), time.Minute)
	default:
		amount = t.amount(t.Hours, wait.Round(time.Hour), time.Hour)
	}
	return strings.Replace(t.InAmount, "{amount}", amount, 1)
}

// InAbout says the same in round numbers, and no less than a minute: people plan by it.
// Minutes are rounded up, so that what is expected back is not missed.
func (t *Translation) InAbout(wait time.Duration) string {
	const step, day = 5 * time.Minute, 24 * time.Hour
	var amount string
	switch {
	case wait <= 2*step:
		amount = t.amount(t.Minutes, max(up(wait, time.Minute), time.Minute), time.Minute)
	case wait <= 90*time.Minute:
		amount = t.amount(t.Minutes, up(wait, step), time.Minute)
	case wait < 36*time.Hour:
		amount = t.amount(t.Hours, wait.Round(time.Hour), time.Hour)
	default:
		amount = t.amount(t.Days, wait.Round(day), day)
	}
	return strings.Replace(t.AboutAmount, "{amount}", amount, 1)
}

// up rounds a time up.
func up(wait, step time.Duration) time.Duration { return (wait + step - 1).Truncate(step) }

// amount is a time in whole units.
func (t *Translation) amount(of amounts, wait, unit time.Duration) string {
	count := int(wait / unit)
	return strings.Replace(of[t.category(count)], "{n}", strconv.Itoa(count), 1)
}

// category is the plural category of a whole number.
func (t *Translation) category(count int) string {
	return categories[plural.Cardinal.MatchPlural(t.tag, count, 0, 0, 0, 0)]
}
