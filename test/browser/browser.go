// Package browser opens pages in a real Chromium, and says what is wrong with them.
//
// Its tests open the responder's built-in page, and the page of a team that the documents
// show, as visitors see them: light, dark, on a phone, in every language. hack/pictures
// takes the pictures of the documents with it.
package browser

import (
	"context"
	_ "embed"
	"errors"
	"os/exec"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Program is the browser, and Package the Debian package that has it.
const (
	Program = "chromium"
	Package = "chromium"
)

// timeout is when a tab counts as hanging. It is far more than any takes.
const timeout = 2 * time.Minute

// Start starts a browser, which ends with stop.
func Start(ctx context.Context) (browser context.Context, stop func(), err error) {
	path, err := exec.LookPath(Program)
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // There is none for root, and what is opened is ours.
		chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("hide-scrollbars", true),
	)
	allocator, end := chromedp.NewExecAllocator(ctx, options...)
	browser, closeBrowser := chromedp.NewContext(allocator)
	stop = func() {
		// A browser that is killed leaves its folders.
		_ = chromedp.Cancel(browser)
		closeBrowser()
		end()
	}
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, nil, err
	}
	return browser, stop, nil
}

// View is how a visitor looks at a page.
type View struct {
	// Width and Height are in CSS pixels; Scale is how many of the device are one of
	// them, 1 by default.
	Width, Height int64
	Scale         float64
	Phone, Dark   bool
	// Languages are those of Accept-Language; without them the header is the browser's.
	Languages string
}

// Page is an open tab.
type Page struct {
	// Context is for actions of chromedp, which names a tab by it.
	Context context.Context
	// Close closes the tab.
	Close func()

	lock     sync.Mutex
	requests []string
	errors   []string
}

// Open opens a page in a tab of its own and waits until it is loaded.
func Open(browser context.Context, url string, view View) (*Page, error) {
	limited, cancel := context.WithTimeout(browser, timeout)
	tab, closeTab := chromedp.NewContext(limited)
	page := &Page{Context: tab, Close: func() { closeTab(); cancel() }}
	err := chromedp.Listen(tab, page.listen)
	if err == nil {
		err = chromedp.Do(tab, view.show(), chromedp.Navigate(url))
	}
	if err != nil {
		page.Close()
		return nil, err
	}
	return page, nil
}

// show makes a tab show pages as the visitor sees them. A page whose parts turn stands
// still, so that pictures are the same.
func (v View) show() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		scheme, headers := "light", network.Headers{}
		if v.Dark {
			scheme = "dark"
		}
		if v.Languages != "" {
			headers["Accept-Language"] = v.Languages
		}
		_, events := cdp.Call(ctx, tab, network.Enable, network.EnableParams{})
		_, languages := cdp.Call(ctx, tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: headers})
		_, screen := cdp.Call(ctx, tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: v.Width, Height: v.Height, DeviceScaleFactor: max(1, v.Scale), Mobile: v.Phone,
		})
		_, media := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return errors.Join(events, languages, screen, media)
	})
}

// listen records what a page asks for, and what the browser reports of it.
func (p *Page) listen(event any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, event.Request.URL)
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, event.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.errors = append(p.errors, "console."+event.Type.String())
	case *log.EventEntryAdded:
		// The browser reports the status of an outage, 503, as an error of the network.
		if event.Entry.Source != log.EntrySourceNetwork {
			p.errors = append(p.errors, event.Entry.Text)
		}
	}
}

// Requests are the addresses that the page asked for so far, its own first.
func (p *Page) Requests() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return append([]string(nil), p.requests...)
}

// Errors are what the browser reports: errors of scripts, what the page's policy denied.
func (p *Page) Errors() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return append([]string(nil), p.errors...)
}

//go:embed findings.js
var findings string

// Findings are what is wrong with the page for people who read, hear or touch it: a
// sentence each.
func (p *Page) Findings() ([]string, error) {
	return chromedp.Run(p.Context, chromedp.Evaluate[[]string](findings))
}
