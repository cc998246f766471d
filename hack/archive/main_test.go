package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// inputs are a program and a text, under a strange umask.
func inputs(t *testing.T, g *WithT) []string {
	folder := t.TempDir()
	program, text := filepath.Join(folder, "program"), filepath.Join(folder, "LICENSE")
	g.Expect(os.WriteFile(program, []byte("runs"), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(text, []byte("read me"), 0o600)).To(Succeed())
	return []string{program, text}
}

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var made [][]byte
			for range 2 {
				output := filepath.Join(t.TempDir(), name)
				g.Expect(run(append([]string{output}, inputs(t, g)...))).To(Succeed())
				content, err := os.ReadFile(output)
				g.Expect(err).NotTo(HaveOccurred())
				made = append(made, content)
			}
			g.Expect(made[0]).To(Equal(made[1]))
		})
	}
}

func TestATarHasTheFiles(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	output := filepath.Join(t.TempDir(), "a.tar.gz")
	g.Expect(run(append([]string{output}, inputs(t, g)...))).To(Succeed())

	file, err := os.Open(output)
	g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	plain, err := gzip.NewReader(file)
	g.Expect(err).NotTo(HaveOccurred())
	archive := tar.NewReader(plain)
	for _, want := range []struct {
		name, content string
		mode          int64
	}{{"program", "runs", 0o755}, {"LICENSE", "read me", 0o644}} {
		header, err := archive.Next()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(header.Name).To(Equal(want.name))
		g.Expect(header.Mode).To(Equal(want.mode))
		g.Expect(header.ModTime.UTC()).To(Equal(time.Unix(1767225600, 0).UTC()))
		g.Expect(io.ReadAll(archive)).To(Equal([]byte(want.content)))
	}
	_, err = archive.Next()
	g.Expect(errors.Is(err, io.EOF)).To(BeTrue())
}

func TestAZipHasTheFiles(t *testing.T) {
	g := NewWithT(t)
	output := filepath.Join(t.TempDir(), "a.zip")
	g.Expect(run(append([]string{output}, inputs(t, g)...))).To(Succeed())
	archive, err := zip.OpenReader(output)
	g.Expect(err).NotTo(HaveOccurred())
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name+" "+file.Mode().String())
	}
	g.Expect(names).To(Equal([]string{"program -rwxr-xr-x", "LICENSE -rw-r--r--"}))
}

func TestWhatCannotBePackedIsSaid(t *testing.T) {
	g := NewWithT(t)
	for words, arguments := range map[string][]string{
		"give the archive":             {"a.zip"},
		"neither a .tar.gz nor a .zip": {filepath.Join(t.TempDir(), "a.rar"), "x"},
		"no such file":                 {filepath.Join(t.TempDir(), "a.zip"), "missing"},
	} {
		g.Expect(run(arguments)).To(MatchError(ContainSubstring(words)))
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	g.Expect(run([]string{filepath.Join(t.TempDir(), "a.zip"), "x"})).To(MatchError(ContainSubstring("SOURCE_DATE_EPOCH")))
}
