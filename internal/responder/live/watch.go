package live

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle gathers the events of one swap: the kubelet makes about ten.
	settle = 50 * time.Millisecond
	// unheard is how often the files are looked at where they cannot be watched.
	unheard = time.Second
)

// Run follows the files until the context ends. It listens for changes, and
// looks once in a while all the same; where the node has no inotify instance to
// give (they are few, and shared by all Pods of a node) it looks often.
func (t *Table) Run(ctx context.Context) {
	recheck := t.options.Recheck
	var events <-chan fsnotify.Event
	var errs <-chan error
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		events, errs = watcher.Events, watcher.Errors
		t.watch(watcher)
		t.Load() // What changed before there was a watch.
	} else {
		t.options.Log.Info("the files cannot be watched, looking at them instead", "every", unheard.String(), "reason", err.Error())
		recheck = min(recheck, unheard)
	}
	ticker := time.NewTicker(recheck)
	defer ticker.Stop()
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			if settled == nil {
				settled = time.After(settle)
			}
			continue
		case err := <-errs: // Events were lost: the next look is due now.
			t.options.Log.Info("changes of files were missed, looking at all of them", "reason", err.Error())
		case <-settled:
			settled = nil
		case <-ticker.C:
		}
		t.Load()
		if watcher != nil {
			t.watch(watcher)
		}
	}
}

// watch watches every folder that there is. The kernel knows those that are
// watched already.
func (t *Table) watch(watcher *fsnotify.Watcher) {
	folders := []string{filepath.Dir(t.options.Table), t.options.Content}
	for name := range t.contents {
		if folder, err := t.folderOf(name); err == nil {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			continue
		}
		if err := watcher.Add(folder); err != nil {
			t.options.Log.V(1).Info("a folder cannot be watched, looking at it instead", "folder", folder,
				"every", t.options.Recheck.String(), "reason", err.Error())
		}
	}
}
