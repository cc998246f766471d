package world

import (
	"github.com/critical-service/operator/test/scorecard/verdict"
)

// Warnings puts what the API server warns of into a journal. It would be printed otherwise, and scorecard
// takes everything that a test prints for its result.
type Warnings struct{ Journal *verdict.Journal }

// HandleWarningHeader implements rest.WarningHandler.
func (w *Warnings) HandleWarningHeader(code int, _, text string) {
	// As client-go's own handlers: the code of warnings is 299.
	if code == 299 && text != "" && w.Journal != nil {
		w.Journal.Say("The API server warns: %s", text)
	}
}
