package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
)

// Site is what one port answers over HTTP. It does not change.
type Site struct {
	status  int
	retry   time.Duration
	message string
	probes  criticalv2.Probes
	content *page.Content
}

// NewSite makes the site of a page and the team's content, which may be nil.
func NewSite(fallback criticalv2.PageFallback, content *page.Content) *Site {
	fallback = complete(fallback)
	s := &Site{
		status:  int(fallback.StatusCode),
		retry:   time.Duration(max(0, *fallback.RetryAfterSeconds)) * time.Second,
		message: strings.TrimSpace(fallback.Message),
		probes:  *fallback.Probes,
		content: content,
	}
	if s.content == nil {
		s.content = &page.Content{}
	}
	return s
}

// complete gives a page the default of each field that it leaves out, as the API
// server does: it never saw the page of a port that is not in the table, or of a
// table that a user edited. A status that is no error is replaced, too.
func complete(fallback criticalv2.PageFallback) criticalv2.PageFallback {
	defaults := criticalv2.DefaultPage()
	if fallback.StatusCode < 400 || fallback.StatusCode > 599 {
		fallback.StatusCode = defaults.StatusCode
	}
	if fallback.RetryAfterSeconds == nil {
		fallback.RetryAfterSeconds = defaults.RetryAfterSeconds
	}
	if given := fallback.Probes; given != nil {
		// An empty list is a choice; only one that is absent has a default.
		if given.Paths != nil {
			defaults.Probes.Paths = given.Paths
		}
		if given.UserAgents != nil {
			defaults.Probes.UserAgents = given.UserAgents
		}
	}
	fallback.Probes = defaults.Probes
	return fallback
}

// ServeHTTP answers one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	// It also lets the server answer before it has read the body.
	header.Set("Connection", "close")
	header.Set("X-Content-Type-Options", "nosniff")
	switch probe, dialect := s.isProbe(r), dialectOf(r); {
	case dialect != notGRPC:
		s.serveGRPC(w, r, dialect, probe)
	case probe:
		send(w, http.StatusOK, textType, []byte("ok\n"))
	case isPreflight(r):
		s.addHeaders(header)
		header.Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
	default:
		s.addHeaders(header)
		s.serveContent(w, r)
	}
}

// serveContent answers with a file of the team, or with the page.
func (s *Site) serveContent(w http.ResponseWriter, r *http.Request) {
	file, found := s.file(r)
	if found && !file.IsPage() {
		send(w, http.StatusOK, file.ContentType, file.Body)
		return
	}
	header := w.Header()
	if r.Method == http.MethodOptions {
		header.Set("Allow", "GET, HEAD, OPTIONS")
	}
	now := time.Now()
	if after := s.retryAfter(now); after != "" {
		header.Set("Retry-After", after)
	}
	if found {
		send(w, s.status, file.ContentType, file.Body)
		return
	}
	form := s.form(r, now)
	if form.policy != "" {
		header.Set("Content-Security-Policy", form.policy)
	}
	if form.language == "" {
		header.Add("Vary", "Accept")
	} else {
		header.Add("Vary", "Accept, Accept-Language")
		header.Set("Content-Language", form.language)
	}
	send(w, s.status, form.contentType, form.body)
}

// file is the file of the team that a request asks for. The path is compared as
// it came: no path leads out of the content.
func (s *Site) file(r *http.Request) (file page.File, found bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return page.File{}, false
	}
	if file, found = s.content.Files[r.URL.Path]; !found && strings.HasSuffix(r.URL.Path, "/") {
		file, found = s.content.Files[r.URL.Path+page.KeyHTML]
	}
	return file, found
}

func (s *Site) isProbe(r *http.Request) bool {
	agent := r.UserAgent()
	return slices.Contains(s.probes.Paths, r.URL.Path) ||
		slices.ContainsFunc(s.probes.UserAgents, func(prefix string) bool { return prefix != "" && strings.HasPrefix(agent, prefix) })
}

// isPreflight distinguishes the request of a browser from other OPTIONS requests, which
// get the status of the outage as any request does.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

func (s *Site) addHeaders(header http.Header) {
	given := map[string]bool{}
	for _, line := range s.content.Headers {
		if !given[line.Name] {
			header.Del(line.Name)
			given[line.Name] = true
		}
		header.Add(line.Name, line.Value)
	}
}

// eta is when the Service is expected back, and whether that is still ahead.
func (s *Site) eta(now time.Time) (eta time.Time, ahead bool) {
	return s.content.ETA, s.content.ETA.After(now)
}

// retryAfter is the value of Retry-After: a date if the team gave one.
func (s *Site) retryAfter(now time.Time) string {
	eta, ahead := s.eta(now)
	switch {
	case ahead && !s.content.WaitsLess:
		return eta.UTC().Format(http.TimeFormat)
	case s.retry > 0:
		return strconv.Itoa(int(s.retry / time.Second))
	}
	return ""
}

// send sends a body as a whole. What is not written to a HEAD request still says
// how long it is.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // The client may be gone.
}
