package live

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime gathers the events of one swap: the kubelet makes about ten.
	settleTime = 50 * time.Millisecond
	// pollInterval is how often the files are read where they cannot be watched.
	pollInterval = time.Second
)

// Run follows the files until the context ends. It is notified of changes, and
// reads them once in a while all the same; where the node has no inotify instance
// left (they are few, and shared by all Pods of a node) it reads them often.
func (t *Table) Run(ctx context.Context) {
	recheck := t.options.Recheck
	var events <-chan fsnotify.Event
	var errs <-chan error
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		events, errs = watcher.Events, watcher.Errors
		for t.watch(watcher) {
			t.Load() // What changed before there was a watch.
		}
	} else {
		t.options.Log.Info("files cannot be watched, polling them", "every", pollInterval.String(), "reason", err.Error())
		recheck = min(recheck, pollInterval)
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
				settled = time.After(settleTime)
			}
			continue
		case err := <-errs: // Events were lost: the files are read now.
			t.options.Log.Info("notifications of file changes were lost, reading all files", "reason", err.Error())
		case <-settled:
			settled = nil
		case <-ticker.C:
		}
		t.Load()
		for watcher != nil && t.watch(watcher) {
			t.Load()
		}
	}
}

// watch watches every folder that there is, and reports whether one is new.
func (t *Table) watch(watcher *fsnotify.Watcher) bool {
	before := len(watcher.WatchList())
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
			t.options.Log.V(1).Info("folder cannot be watched, polling it", "folder", folder,
				"every", t.options.Recheck.String(), "reason", err.Error())
		}
	}
	return len(watcher.WatchList()) > before
}
