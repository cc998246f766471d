package setting

import (
	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Logger writes to standard error at the level and in the format of the
// settings. Times are ISO 8601; stack traces come with panics only, because an
// error of the API server has no use for one.
func (s *Manager) Logger() logr.Logger {
	level, err := zapcore.ParseLevel(s.LogLevel)
	if err != nil {
		level = zapcore.InfoLevel // The level was checked when it was read.
	}
	encoder := zap.JSONEncoder
	if s.LogFormat == "text" {
		encoder = zap.ConsoleEncoder
	}
	return zap.New(
		encoder(func(config *zapcore.EncoderConfig) { config.EncodeTime = zapcore.ISO8601TimeEncoder }),
		zap.Level(uberzap.NewAtomicLevelAt(level)),
		zap.StacktraceLevel(zapcore.DPanicLevel),
	)
}
