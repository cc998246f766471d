package web

import (
	"maps"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/page"
)

// Announced is a page, and a team's content, as they are while a maintenance is
// announced. Its message goes before the page's, and before the team's own page, of
// which the files and the headers stay; its end before the team's ETA.
func Announced(fallback criticalv2.PageFallback, content *page.Content, m *criticalv2.Announcement) (criticalv2.PageFallback, *page.Content) {
	if m == nil {
		return fallback, content
	}
	shown := page.Content{}
	if content != nil {
		shown = *content
	}
	if m.Message != "" {
		fallback.Message = m.Message
		shown.HTML, shown.JSON, shown.Text, shown.IsProblem = nil, nil, nil, false
		shown.Files = maps.Clone(shown.Files)
		maps.DeleteFunc(shown.Files, func(_ string, file page.File) bool { return file.IsPage() })
	}
	if m.RetryAfterSeconds != nil {
		fallback.RetryAfterSeconds, shown.WaitsLess = m.RetryAfterSeconds, true
	}
	if m.Until != nil {
		shown.ETA = m.Until.UTC()
	}
	return fallback, &shown
}
