// Command definitions prints the CustomResourceDefinitions in a folder without
// their descriptions, which are nine tenths of them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "definitions:", err)
		os.Exit(1)
	}
}

func run(files []string) error {
	for _, file := range files {
		content, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return err
		}
		var definition any
		if err := yaml.Unmarshal(content, &definition); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		content, err = yaml.Marshal(undescribed(definition))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Printf("---\n%s", content)
	}
	return nil
}

// undescribed drops each description that is a text: a field may have that name too.
func undescribed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if _, isText := member.(string); isText && key == "description" {
				delete(value, key)
				continue
			}
			value[key] = undescribed(member)
		}
	case []any:
		for i := range value {
			value[i] = undescribed(value[i])
		}
	}
	return value
}
