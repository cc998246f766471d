package translation

import (
	"slices"
	"strings"

	"golang.org/x/text/language"
	"k8s.io/utils/lru"
)

// longestHeader is how much of an Accept-Language header is read, in bytes. Browsers send
// less than a hundred. Strangers may send all that a header may hold, and what it takes
// to read a tag grows with its length.
const longestHeader = 128

// negotiated are the translations for the headers that came last: visitors send few
// different ones, and to read one takes longer than to send the page.
var negotiated = lru.New(256)

var matcher = language.NewMatcher(tags())

// isUnknown reports whether there is no translation into the language of a tag.
func isUnknown(wanted language.Tag) bool {
	base, _ := wanted.Base()
	return !slices.ContainsFunc(all, func(t *Translation) bool {
		known, _ := t.tag.Base()
		return known == base
	})
}

func tags() []language.Tag {
	tags := make([]language.Tag, len(all))
	for i, t := range all {
		tags[i] = t.tag
	}
	return tags
}

// For is the translation for an Accept-Language header: English if it asks for no
// language that there is, or cannot be read.
func For(acceptLanguage string) *Translation {
	if len(acceptLanguage) > longestHeader {
		acceptLanguage = acceptLanguage[:longestHeader]
		acceptLanguage = acceptLanguage[:max(0, strings.LastIndexByte(acceptLanguage, ','))]
	}
	if acceptLanguage == "" {
		return all[0]
	}
	if known, found := negotiated.Get(acceptLanguage); found {
		return known.(*Translation)
	}
	wanted, _, _ := language.ParseAcceptLanguage(acceptLanguage) // What cannot be read asks for nothing.
	// The matcher would give a related language to visitors who did not ask for it, for example Russian for Armenian.
	_, index, _ := matcher.Match(slices.DeleteFunc(wanted, isUnknown)...)
	negotiated.Add(strings.Clone(acceptLanguage), all[index]) // Of a header that may be longer.
	return all[index]
}
