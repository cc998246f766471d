// Package evidence stores what a scorecard test saw, where scorecard collects it.
package evidence

import (
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Folder is where evidence goes. The empty one keeps none: storage is optional in scorecard.
type Folder string

// Text stores a text under a name, which may have folders.
func (f Folder) Text(name, text string) error {
	if f == "" {
		return nil
	}
	path := filepath.Join(string(f), filepath.FromSlash(name))
	// Readable for all: scorecard's container, which collects the files, may run as another user.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Objects stores a list of objects as YAML, as kubectl prints it: without the record of who wrote which field.
func (f Folder) Objects(name string, list client.ObjectList) error {
	if f == "" {
		return nil
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			object.SetManagedFields(nil)
		}
		return err
	})
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		return err
	}
	return f.Text(name, string(text))
}
