package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// manifestStore keeps the uploads of manifests on disk: the library keeps blobs
// there but manifests only in memory. At start the uploads are simply repeated.
type manifestStore struct {
	dir string

	mu   sync.Mutex
	next int
	// files are the uploads of each path. The earlier ones of a tag that moved
	// stay, because they may still be asked for by digest.
	files map[string][]string
}

// upload is one PUT of a manifest as it is kept on disk.
type upload struct {
	Path        string `json:"path"`
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
}

func openManifestStore(dir string) (*manifestStore, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &manifestStore{dir: dir, files: map[string][]string{}}, nil
}

// replay repeats the uploads in the order in which they came: an index is
// accepted only after the images that it lists.
func (s *manifestStore) replay(handler http.Handler) error {
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		return err
	}
	sort.Strings(files)
	for _, file := range files {
		if _, err := fmt.Sscanf(filepath.Base(file), "%d.json", &s.next); err != nil {
			return fmt.Errorf("registry: unexpected file %s", file)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var u upload
		if err := json.Unmarshal(content, &u); err != nil {
			return fmt.Errorf("registry: %s: %w", file, err)
		}
		request := httptest.NewRequest(http.MethodPut, u.Path, bytes.NewReader(u.Body))
		request.Header.Set("Content-Type", u.ContentType)
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != http.StatusCreated {
			return fmt.Errorf("registry: %s of %s was refused after the restart: %s", u.Path, file, response.Body)
		}
		s.files[u.Path] = append(s.files[u.Path], file)
	}
	return nil
}

// record passes requests on, and keeps the manifests that were accepted.
func (s *manifestStore) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isManifest := strings.Contains(r.URL.Path, "/manifests/")
		switch {
		case isManifest && r.Method == http.MethodPut:
			s.put(w, r, next)
		case isManifest && r.Method == http.MethodDelete:
			s.remove(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// put answers only once the manifest is on disk: what was pushed stays pushed.
func (s *manifestStore) put(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	response := httptest.NewRecorder()

	s.mu.Lock()
	defer s.mu.Unlock()
	next.ServeHTTP(response, r)
	if response.Code == http.StatusCreated {
		err := s.save(upload{Path: r.URL.Path, ContentType: r.Header.Get("Content-Type"), Body: body})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes())
}

func (s *manifestStore) remove(w http.ResponseWriter, r *http.Request, next http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range s.files[r.URL.Path] {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	delete(s.files, r.URL.Path)
	next.ServeHTTP(w, r)
}

func (s *manifestStore) save(u upload) error {
	content, err := json.Marshal(u)
	if err != nil {
		return err
	}
	s.next++
	file := filepath.Join(s.dir, fmt.Sprintf("%09d.json", s.next))
	partial := file + ".partial"
	if err := os.WriteFile(partial, content, 0o644); err != nil {
		return err
	}
	if err := os.Rename(partial, file); err != nil {
		return err
	}
	s.files[u.Path] = append(s.files[u.Path], file)
	return nil
}
