// Package setting reads the settings of an operator from flags and environment, and has
// those that every operator has.
//
// Every setting is both a flag and an environment variable, so that a ConfigMap
// (envFrom) or an OLM Subscription can give it. A flag wins over a variable, a
// variable over the default. A value that is not allowed is an error that names
// the variable, the value and what is allowed; nothing is replaced silently.
package setting

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Setting is one setting: a flag, a variable, and what is allowed.
type Setting struct {
	Flag, Variable, Usage string
	// Preset is the default, as text.
	Preset string
	// Bare is what the flag means without a value; empty is not allowed.
	Bare string
	// Allowed says in words what Parse accepts.
	Allowed string
	// Parse checks a text and takes it over.
	Parse func(text string) error
}

// Environment looks a variable up, as os.LookupEnv does.
type Environment func(name string) (value string, found bool)

// Bind adds a flag for every setting: those of a manager, and the operator's own. The
// returned function reads them, with the environment, once the flags are parsed. The
// namespace is that of an operator that runs outside of a cluster.
func Bind(flags *pflag.FlagSet, environment Environment, manager *Manager, namespace string, own []Setting) (read func() error) {
	all := slices.Concat(ofManager(manager), own)
	for _, entry := range all {
		flags.String(entry.Flag, "", fmt.Sprintf("%s: %s (env %s%s)", entry.Usage, entry.Allowed, entry.Variable, presetText(entry)))
		flags.Lookup(entry.Flag).NoOptDefVal = entry.Bare
	}
	return func() error {
		manager.OperatorNamespace = operatorNamespace(environment, namespace)
		manager.PodName, _ = environment("POD_NAME")
		var problems []error
		for _, entry := range all {
			source, text := textOf(entry, flags, environment)
			if text == "" {
				text = entry.Preset
			}
			if err := entry.Parse(text); err != nil {
				problems = append(problems, fmt.Errorf("%s=%q: %w; allowed: %s", source, text, err, entry.Allowed))
			}
		}
		if len(problems) > 0 {
			return fmt.Errorf("the settings are not valid:\n%w", errors.Join(problems...))
		}
		return nil
	}
}

// textOf is the text given for a setting, and where it was given.
func textOf(entry Setting, flags *pflag.FlagSet, environment Environment) (source, text string) {
	if flag := flags.Lookup(entry.Flag); flag.Changed {
		return "--" + entry.Flag, strings.TrimSpace(flag.Value.String())
	}
	text, _ = environment(entry.Variable)
	return entry.Variable, strings.TrimSpace(text)
}

func presetText(entry Setting) string {
	if entry.Preset == "" {
		return ""
	}
	return ", default " + entry.Preset
}

// operatorNamespace is where the operator runs: the downward API says it, or the
// token that every Pod has; outside a cluster it is the usual one.
func operatorNamespace(environment Environment, usual string) string {
	if namespace, found := environment("POD_NAMESPACE"); found && namespace != "" {
		return namespace
	}
	if data, err := os.ReadFile(serviceAccountNamespace); err == nil {
		return strings.TrimSpace(string(data))
	}
	return usual
}
