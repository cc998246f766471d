// Package output prints what a command of the plugin found: as a table like those
// of kubectl, or as a document for programs.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Format is a value of --output.
type Format string

const (
	// Plain is text for users; it is the default, and has no name.
	Plain Format = ""
	// Wide is a table with more columns.
	Wide Format = "wide"
	// JSON is a document for programs.
	JSON Format = "json"
	// YAML is the same document as JSON.
	YAML Format = "yaml"
	// Name is one line per object: service/NAME.
	Name Format = "name"
)

// Flags is the flag --output of a command.
type Flags struct {
	format  Format
	allowed []Format
}

// AddTo gives a command the flag --output with some formats beside Plain, and its
// completion. A format that is not among them is refused when flags are parsed.
func AddTo(command *cobra.Command, allowed ...Format) *Flags {
	flags := &Flags{allowed: allowed}
	command.Flags().VarP(flags, "output", "o", "Output format: "+flags.choices())
	// It fails only for a flag that is not there.
	_ = command.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return strings.Split(flags.choices(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
	return flags
}

func (f *Flags) choices() string {
	var names []string
	for _, format := range f.allowed {
		names = append(names, string(format))
	}
	return strings.Join(names, ", ")
}

// String is the format that was chosen.
func (f *Flags) String() string { return string(f.format) }

// Set chooses a format.
func (f *Flags) Set(value string) error {
	if !slices.Contains(f.allowed, Format(value)) {
		return fmt.Errorf("it is one of %s", f.choices())
	}
	f.format = Format(value)
	return nil
}

// Type is what the help calls the value.
func (f *Flags) Type() string { return "format" }

// Format is what was chosen; Plain by default.
func (f *Flags) Format() Format { return f.format }

// Wide reports whether all columns are asked for.
func (f *Flags) Wide() bool { return f.format == Wide }

// Structured reports whether a document is asked for.
func (f *Flags) Structured() bool { return f.format == JSON || f.format == YAML }

// Document prints a value as JSON or YAML, by its json tags. Call it only where
// Structured says so.
func (f *Flags) Document(out io.Writer, value any) error {
	if f.format == YAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, err = out.Write(text)
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	return encoder.Encode(value)
}
