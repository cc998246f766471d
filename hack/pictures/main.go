// Command pictures takes the pictures of the built-in page that the documents show, as
// `make pictures` does, with a real Chromium:
//
//	go run ./hack/pictures -out docs/images
//
// Each picture says in itself of which page it was taken. With -verify, which needs no
// browser, none is taken, and one that is not of today's page, or was edited, is an error.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/responder/web"
	"github.com/critical-service/operator/test/browser"
)

// picture is the page as a visitor sees it.
type picture struct {
	name string
	view browser.View
}

var pictures = []picture{
	{"page-light.png", browser.View{Width: 960, Height: 640, Languages: "en"}},
	{"page-dark.png", browser.View{Width: 960, Height: 640, Dark: true, Languages: "en"}},
	{"page-phone.png", browser.View{Width: 390, Height: 720, Phone: true, Languages: "ar"}},
}

func main() {
	out := flag.String("out", "docs/images", "folder of the pictures")
	verify := flag.Bool("verify", false, "take none, and check those that are there")
	flag.Parse()
	act := take
	if *verify {
		act = check
	}
	if err := act(*out); err != nil {
		fmt.Fprintf(os.Stderr, "pictures: %v\n", err)
		os.Exit(1)
	}
}

// site is the page of a maintenance that ends in 40 minutes.
func site() *web.Site {
	return web.NewSite(criticalv2.PageFallback{}, &page.Content{ETA: time.Now().Add(40 * time.Minute)})
}

// source names the page that a visitor sees and the picture that was taken of it: a hash of
// the HTML, the screen and the picture. The only moment in the HTML, which is another each
// time, is left out.
func (p picture) source(taken []byte) string {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody)
	request.Header.Set("Accept-Language", p.view.Languages)
	recorder := httptest.NewRecorder()
	site().ServeHTTP(recorder, request)
	html := regexp.MustCompile(`datetime="[^"]*"`).ReplaceAllString(recorder.Body.String(), "")
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v\n%s\n%s", p.view, html, taken))
	return hex.EncodeToString(sum[:])
}

// take takes the pictures.
func take(folder string) error {
	chromium, stop, err := browser.Start(context.Background())
	if err != nil {
		return fmt.Errorf("%w: install the Debian package %s", err, browser.Package)
	}
	defer stop()
	server := httptest.NewServer(site())
	defer server.Close()
	for _, p := range pictures {
		opened, err := browser.Open(chromium, server.URL, p.view)
		if err != nil {
			return err
		}
		taken, err := chromedp.Run(opened.Context, chromedp.CaptureScreenshot())
		opened.Close()
		if err != nil {
			return err
		}
		if taken, err = pack(taken); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, p.name), sign(taken, p.source(taken)), 0o644); err != nil { //nolint:gosec // It is for all to see.
			return err
		}
	}
	return nil
}

// check wants each picture to be of today's page, and no other picture than these and drawn ones.
func check(folder string) error {
	files, err := os.ReadDir(folder)
	errs := []error{err}
	for _, file := range files {
		isTaken := slices.ContainsFunc(pictures, func(p picture) bool { return p.name == file.Name() })
		if !isTaken && filepath.Ext(file.Name()) != ".svg" {
			errs = append(errs, fmt.Errorf("%s comes from no generator: hack/pictures takes PNGs, and drawn pictures are SVGs", filepath.Join(folder, file.Name())))
		}
	}
	for _, p := range pictures {
		name := filepath.Join(folder, p.name)
		signed, err := os.ReadFile(name) //nolint:gosec // The folder is a flag of a developer.
		taken := unsigned(signed)
		if err == nil && (taken == nil || !bytes.Equal(signed, sign(taken, p.source(taken)))) {
			err = fmt.Errorf("%s is not of the page as it is now, or was edited: run 'make pictures' and commit the result", name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
