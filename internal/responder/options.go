package responder

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"

	"github.com/critical-service/operator/internal/contract/listener"
)

// Options are the responder's settings.
type Options struct {
	// Listeners is the range of ports to listen on.
	Listeners string
	// BindAddress is the IP address of the listeners; empty is all.
	BindAddress string
	// Table is the file with the table of listeners.
	Table string
	// Content is the folder with a folder for every ConfigMap of content.
	Content string
	// AdminBindAddress is host:port of /healthz, /readyz and /metrics.
	AdminBindAddress string
	// Drain is how long the listeners go on answering after the context has ended.
	Drain time.Duration
	// MaxConnections bounds the open connections of all listeners together.
	MaxConnections int
	// MaxConnectionsPerListener bounds those of one, so that a flood of clients of
	// one Service leaves room for the others.
	MaxConnectionsPerListener int
	// MaxHeaderBytes bounds the header of an HTTP request.
	MaxHeaderBytes int
	// MaxBodyBytes bounds what is read of a client that goes on sending after it
	// was answered.
	MaxBodyBytes int64
	// MaxContentBytes bounds the content of all teams in memory.
	MaxContentBytes int64
	// FirstByteTimeout is how long a client may send nothing. It is shorter when there is no
	// free place.
	FirstByteTimeout time.Duration
	// HeaderTimeout is how long the header of an HTTP request may take.
	HeaderTimeout time.Duration
	// IdleTimeout is how long an HTTP/2 connection may have no request.
	IdleTimeout time.Duration
	// ConnectionTimeout is how long a connection may take in all.
	ConnectionTimeout time.Duration
	// Recheck is how often the files are read without a notification of a change.
	Recheck time.Duration
	// MemoryLimit bounds the heap, as GOMEMLIMIT does; 0 leaves it to that variable.
	MemoryLimit int64
	// LogLevel and LogFormat are what the operator's settings of these names are.
	LogLevel, LogFormat string
}

// Formats of the log.
const (
	logJSON = "json"
	logText = "text"
)

// Bind adds a flag for every option. The options hold once the flags are parsed.
func Bind(flags *pflag.FlagSet) *Options {
	o := &Options{}
	flags.StringVar(&o.Listeners, "listeners", listener.Range{First: listener.First, Last: listener.First + 63}.String(),
		"ports to listen on, from the start and all of them")
	flags.StringVar(&o.BindAddress, "bind-address", "", "IP address of the listeners; empty is all")
	flags.StringVar(&o.Table, "table", "/etc/critical-service/listeners/"+listener.Key, "file that says which port answers for which Service")
	flags.StringVar(&o.Content, "content", "/etc/critical-service/content", "folder with a folder for every ConfigMap of content")
	flags.StringVar(&o.AdminBindAddress, "admin-bind-address", ":8081", "host:port of /healthz, /readyz and /metrics")
	flags.DurationVar(&o.Drain, "drain", 15*time.Second, "how long to go on answering after SIGTERM, while the proxies follow")
	flags.IntVar(&o.MaxConnections, "max-connections", 1024, "open connections of all listeners, shared by Services and clients")
	flags.IntVar(&o.MaxConnectionsPerListener, "max-connections-per-listener", 512, "open connections of one listener, shared by clients")
	flags.IntVar(&o.MaxHeaderBytes, "max-header-bytes", 8<<10, "size of the header of an HTTP request; more is answered with 431")
	flags.Int64Var(&o.MaxBodyBytes, "max-body-bytes", 256<<20, "what is read of a client that goes on sending after it was answered")
	flags.Int64Var(&o.MaxContentBytes, "max-content-bytes", 32<<20, "size of the content of all teams; where more is given, the built-in page stands in")
	flags.DurationVar(&o.FirstByteTimeout, "first-byte-timeout", 5*time.Second, "how long a client may send nothing; a quarter of it if there is no free place")
	flags.DurationVar(&o.HeaderTimeout, "header-timeout", 10*time.Second, "how long the header of an HTTP request may take")
	flags.DurationVar(&o.IdleTimeout, "idle-timeout", 5*time.Second, "how long an HTTP/2 connection may have no request")
	flags.DurationVar(&o.ConnectionTimeout, "connection-timeout", 30*time.Second, "how long a connection may take in all")
	flags.DurationVar(&o.Recheck, "recheck", 10*time.Second, "how often to read the files without a notification of a change")
	flags.Int64Var(&o.MemoryLimit, "memory-limit", 0, "bytes that the heap should stay below, as GOMEMLIMIT (0: leave it to that variable)")
	flags.StringVar(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.LogFormat, "log-format", logJSON, "json or text")
	return o
}

// validate checks the options, and parses those that are texts. The error names
// every flag that is wrong.
func (o *Options) validate() (listener.Range, zapcore.Level, error) {
	problems := []error{}
	ports, err := listener.ParseRange(o.Listeners)
	if err != nil {
		problems = append(problems, fmt.Errorf("--listeners: %w", err))
	}
	level, err := zapcore.ParseLevel(o.LogLevel)
	if err != nil {
		problems = append(problems, fmt.Errorf("--log-level: %w", err))
	}
	if o.LogFormat != logJSON && o.LogFormat != logText {
		problems = append(problems, fmt.Errorf("--log-format=%q: it must be %s or %s", o.LogFormat, logJSON, logText))
	}
	for _, flag := range []struct {
		name    string
		atLeast int64
		value   int64
	}{
		{"max-connections", 1, int64(o.MaxConnections)},
		{"max-connections-per-listener", 1, int64(o.MaxConnectionsPerListener)},
		{"max-header-bytes", 1 << 10, int64(o.MaxHeaderBytes)},
		{"max-body-bytes", 0, o.MaxBodyBytes},
		{"max-content-bytes", 0, o.MaxContentBytes},
		{"memory-limit", 0, o.MemoryLimit},
	} {
		if flag.value < flag.atLeast {
			problems = append(problems, fmt.Errorf("--%s=%d: it must be at least %d", flag.name, flag.value, flag.atLeast))
		}
	}
	for _, flag := range []struct {
		name  string
		value time.Duration
	}{
		{"first-byte-timeout", o.FirstByteTimeout}, {"header-timeout", o.HeaderTimeout}, {"idle-timeout", o.IdleTimeout},
		{"connection-timeout", o.ConnectionTimeout}, {"recheck", o.Recheck},
	} {
		if flag.value <= 0 {
			problems = append(problems, fmt.Errorf("--%s=%s: it must be longer than 0s", flag.name, flag.value))
		}
	}
	if o.Drain < 0 {
		problems = append(problems, fmt.Errorf("--drain=%s: it may not be negative", o.Drain))
	}
	if len(problems) > 0 {
		return ports, level, fmt.Errorf("invalid flags:\n%w", errors.Join(problems...))
	}
	return ports, level, nil
}
