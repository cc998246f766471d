package live

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/critical-service/operator/internal/contract/page"
)

// dataLink is the symbolic link by which the kubelet swaps all files of a
// mounted ConfigMap at once.
const dataLink = "..data"

// errNoKeys is about a mount without files, which no further attempt changes.
var errNoKeys = errors.New("the ConfigMap is missing or has no keys")

// content is what one ConfigMap gave.
type content struct {
	// version changes with every change of the files. It is empty if they were not
	// read, so that they are tried again.
	version string
	size    int64
	// failure is what was wrong with them.
	failure string
	page    *page.Content
}

// contentOf is the content of a ConfigMap, or nil if there is none. It reads the
// files only if look is set.
func (t *Table) contentOf(name string, look bool) *page.Content {
	known, found := t.contents[name]
	if found && !look {
		return known.page
	}
	version, err := t.versionOf(name)
	if found && err == nil && known.version == version {
		return known.page
	}
	fresh := &content{}
	if found {
		t.size -= known.size
	}
	if err == nil {
		err = t.read(name, fresh)
	}
	if fresh.page != nil || errors.Is(err, errNoKeys) {
		fresh.version = version
	}
	t.contents[name] = fresh
	t.size += fresh.size
	if err != nil {
		fresh.failure = err.Error()
	}
	if !found || known.version != "" || fresh.version != "" || known.failure != fresh.failure { // Otherwise it was reported before.
		t.reportContent(name, err)
	}
	return fresh.page
}

// reportContent reports that new content of a ConfigMap is used, or what is wrong
// with it.
func (t *Table) reportContent(name string, err error) {
	if err != nil {
		t.options.Log.Info("using the built-in page for invalid content", "configMap", name, "reason", err.Error())
	} else {
		t.options.Log.Info("using new content", "configMap", name)
	}
	t.reloaded(TheContent, err)
}

// forget drops the content of ConfigMaps that no listener names any more.
func (t *Table) forget(used map[string]bool) {
	for name, known := range t.contents {
		if !used[name] {
			t.size -= known.size
			delete(t.contents, name)
		}
	}
}

// folderOf is where a ConfigMap is mounted. A name that would lead elsewhere is
// an error: names of ConfigMaps have no slash and do not begin with a dot.
func (t *Table) folderOf(name string) (string, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("%q is not a name of a ConfigMap", name)
	}
	return filepath.Join(t.options.Content, name), nil
}

// versionOf changes when the files do: the kubelet's link has another target
// then; without such a link, names, sizes and times are compared.
func (t *Table) versionOf(name string) (string, error) {
	folder, err := t.folderOf(name)
	if err != nil {
		return "", err
	}
	if target, err := os.Readlink(filepath.Join(folder, dataLink)); err == nil {
		return target, nil
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("it is not mounted; the responder is about to be replaced by one that has it")
	}
	if err != nil {
		return "", err
	}
	version := &strings.Builder{}
	for _, entry := range entries {
		info, err := os.Stat(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(version, "%s %d %d\n", entry.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return version.String(), nil
}

// read reads the files of a ConfigMap. The error says what is not used of them.
func (t *Table) read(name string, into *content) error {
	files, err := t.files(name)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errNoKeys
	}
	for key, value := range files {
		into.size += int64(len(key) + len(value))
	}
	if t.size+into.size > t.options.MaxContentBytes {
		size := into.size
		into.size = 0
		return fmt.Errorf("with its %d bytes the content of all teams would be larger than --max-content-bytes=%d",
			size, t.options.MaxContentBytes)
	}
	var problems []page.Problem
	into.page, problems = page.Parse(files)
	errs := make([]error, 0, len(problems))
	for _, problem := range problems {
		errs = append(errs, errors.New(problem.String()))
	}
	return errors.Join(errs...)
}

// files reads the files of one state of a ConfigMap: the link is followed once,
// and nothing outside of its folder is read, whatever links there are.
func (t *Table) files(name string) (map[string][]byte, error) {
	folder, err := t.folderOf(name)
	if err != nil {
		return nil, err
	}
	if target, err := os.Readlink(filepath.Join(folder, dataLink)); err == nil && filepath.IsLocal(target) {
		folder = filepath.Join(folder, target)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	files, size := map[string][]byte{}, 0
	for _, entry := range entries {
		key := entry.Name()
		if strings.HasPrefix(key, "..") {
			continue // The kubelet's own.
		}
		value, err := readKey(root, key)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		if size += len(value); size > 2*page.MaxBytes {
			return nil, fmt.Errorf("the files are larger than any ConfigMap can be (%d bytes)", page.MaxBytes)
		}
		if value != nil {
			files[key] = value
		}
	}
	return files, nil
}

// readKey reads one file, or nothing if it is no file. It reads no further than
// it takes to see that a file is too large.
func readKey(root *os.Root, key string) ([]byte, error) {
	info, err := root.Stat(key)
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	file, err := root.Open(key)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, page.MaxBytes+1))
}
