package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// key identifies the content of a set's binaries: module files, own sources,
// linker flags, Go version, platform and build tags. The Go version is the one that built
// devcluster, so that the key needs no Go on the PATH (as under plain sudo).
func (s set) key() (string, error) {
	files := make(map[string][]byte, len(s.inputs))
	for _, name := range s.inputs {
		content, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return "", err
		}
		files[name] = content
	}
	settings := []string{s.ldflags, runtime.Version(), s.goos + "/" + runtime.GOARCH}
	if s.tags != "" {
		settings = append(settings, s.tags)
	}
	return keyOf(s.inputs, files, settings...), nil
}

func keyOf(names []string, files map[string][]byte, settings ...string) string {
	h := sha256.New()
	// Lengths keep two different inputs from running together into the same bytes.
	for _, name := range names {
		fmt.Fprintf(h, "file %q %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	for _, setting := range settings {
		fmt.Fprintf(h, "setting %q\n", setting)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
