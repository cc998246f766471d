package page

import (
	"net/http"
	"path"
	"slices"
	"strings"
)

// contentTypes by extension. The mime package knows fewer, and others on every
// machine, because it reads the machine's own tables.
var contentTypes = map[string]string{
	".avif": "image/avif", ".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".gif": "image/gif",
	".htm": htmlType, ".html": htmlType, ".ico": "image/x-icon", ".jpeg": "image/jpeg", ".jpg": "image/jpeg",
	".js": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".md": "text/markdown; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".mp4": "video/mp4", ".otf": "font/otf",
	".pdf": "application/pdf", ".png": "image/png", ".svg": "image/svg+xml", ".ttf": "font/ttf",
	".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".webm": "video/webm",
	".webmanifest": "application/manifest+json", ".webp": "image/webp", ".woff": "font/woff", ".woff2": "font/woff2",
	".xml": "text/xml; charset=utf-8",
}

const htmlType = "text/html; charset=utf-8"

// IsPage distinguishes a page for people from an asset: a page is answered with the
// status code of the outage.
func (f File) IsPage() bool { return f.ContentType == htmlType }

// file takes a key as a file. A path that a client would never send, because it
// normalises it first, is a mistake.
func (r *reader) file(key string, value []byte) {
	name := "/" + strings.ReplaceAll(key, "__", "/")
	if key == "" || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00") || slices.Contains(strings.Split(key, "__"), "..") {
		r.problem(key, "it is no path of a file: \"__\" stands for \"/\", and no part may be empty, \".\" or \"..\"")
		return
	}
	contentType, known := contentTypes[strings.ToLower(path.Ext(name))]
	if !known {
		contentType = http.DetectContentType(value)
	}
	if r.content.Files == nil {
		r.content.Files = map[string]File{}
	}
	if _, taken := r.content.Files[name]; taken {
		r.problem(key, "another key is already served as %q", name)
		return
	}
	r.content.Files[name] = File{ContentType: contentType, Body: value}
}
