package measure

import (
	"fmt"
	"io"
	"strings"
)

// Verdict is a target, and what was found.
type Verdict struct {
	// What has a target, and Of which world.
	What, Of string
	// Limit is the target, and Found what was measured.
	Limit, Found string
	// Counted: it does not depend on the machine. A run that misses it fails.
	Counted bool
	Met     bool
}

// Verdicts are a table in Markdown. The column of worlds has a name.
func Verdicts(worlds string, verdicts []Verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| Target | %s | Limit | Measured | |\n|---|---|---|---|---|\n", worlds)
	for _, v := range verdicts {
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", v.What, v.Of, v.Limit, v.Found, word(v.Met))
	}
	return text.String()
}

func word(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// Missed prints what was missed. It is an error only if it does not depend on the machine.
func Missed(to io.Writer, verdicts []Verdict) error {
	counted := 0
	for _, v := range verdicts {
		if v.Met {
			continue
		}
		if v.Counted {
			counted++
		}
		fmt.Fprintf(to, "MISSED: %s: %s: %s, and should be %s\n", v.Of, v.What, v.Found, v.Limit)
	}
	if counted > 0 {
		return fmt.Errorf("%d of %d targets were missed that do not depend on the machine", counted, len(verdicts))
	}
	return nil
}
