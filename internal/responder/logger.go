package responder

import (
	"io"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Of lines that are the same but for their values, the log takes logFirst in a
// second, and then every logThereafter-th.
const (
	logFirst      = 100
	logThereafter = 100
)

// newLogger makes a log in the formats of the operator's. That one is made by
// controller-runtime, which is not part of this program.
func newLogger(to io.Writer, level zapcore.Level, format string) logr.Logger {
	config, newEncoder := zap.NewProductionEncoderConfig(), zapcore.NewJSONEncoder
	if format == logText {
		config, newEncoder = zap.NewDevelopmentEncoderConfig(), zapcore.NewConsoleEncoder
	}
	config.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(newEncoder(config), zapcore.Lock(zapcore.AddSync(to)), level)
	return zapr.NewLogger(zap.New(zapcore.NewSamplerWithOptions(core, time.Second, logFirst, logThereafter)))
}
