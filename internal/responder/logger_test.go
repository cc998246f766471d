package responder

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
)

// The lines are those of the operator (internal/operator/settings), so that one
// pipeline reads both.
func TestTheLog(t *testing.T) {
	const when = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d{4})`
	for sentence, test := range map[string]struct {
		level  zapcore.Level
		format string
		want   string
	}{
		"in JSON": {zapcore.InfoLevel, logJSON, `^` +
			`{"level":"info","ts":"` + when + `","msg":"listening","listeners":"20000-20063","maxConnections":1024}\n` +
			`{"level":"error","ts":"` + when + `","msg":"lost","port":20000,"error":"no route"}\n$`},
		"as text": {zapcore.InfoLevel, logText, `^` +
			when + `\tINFO\tlistening\t{"listeners": "20000-20063", "maxConnections": 1024}\n` +
			when + `\tERROR\tlost\t{"port": 20000, "error": "no route"}\n$`},
		"of errors only":  {zapcore.ErrorLevel, logText, `^` + when + `\tERROR.*\n$`},
		"of details, too": {zapcore.DebugLevel, logText, `^` + when + `\tDEBUG\tdetail\n(.*\n){2}$`},
	} {
		t.Run(sentence, func(t *testing.T) {
			out := &strings.Builder{}
			log := newLogger(out, test.level, test.format)
			log.V(1).Info("detail")
			log.Info("listening", "listeners", "20000-20063", "maxConnections", 1024)
			log.Error(errors.New("no route"), "lost", "port", 20000)
			NewWithT(t).Expect(out.String()).To(MatchRegexp(test.want))
		})
	}
}
