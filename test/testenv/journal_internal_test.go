package testenv

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAJournalFindsWhatHoldsAllTexts(t *testing.T) {
	log := &journal{}
	for _, line := range []string{
		"starting",
		`"namespace"="test-aaaaaaaa" "name"="web"`,
		`"namespace"="test-aaaaaaaa" "name"="shop"`,
		`"namespace"="test-bbbbbbbb" "name"="web" "owner"="web-test-aaaaaaaa", again test-aaaaaaaa`,
	} {
		log.logger().Info(line)
	}
	for name, c := range map[string]struct {
		texts []string
		count int
	}{
		"nothing is in all":              {nil, 4},
		"one that names no world":        {[]string{"starting"}, 1},
		"those of a world":               {[]string{"test-bbbbbbbb"}, 1},
		"those of two worlds, each once": {[]string{"test-aaaaaaaa"}, 3},
		"a world in a text":              {[]string{`test-aaaaaaaa\" \"name`}, 2},
		"two texts":                      {[]string{"web", "test-aaaaaaaa"}, 2},
		"two worlds":                     {[]string{"test-aaaaaaaa", "test-bbbbbbbb"}, 1},
		"a world that there is not":      {[]string{"test-cccccccc"}, 0},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(log.holding(c.texts...)).To(HaveLen(c.count)) })
	}
}
