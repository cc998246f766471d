package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/elnormous/contenttype"

	"github.com/critical-service/operator/internal/responder/web/translation"
)

const (
	htmlType    = "text/html; charset=utf-8"
	textType    = "text/plain; charset=utf-8"
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// form is the page in one media type.
type form struct {
	contentType, policy string
	// language is that of a form that is there in several, else empty.
	language string
	body     []byte
}

// The offers, the first of which is taken where the client does not mind. They
// differ in what JSON is called.
var (
	offers          = []contenttype.MediaType{mediaType("text/html"), mediaType(problemType), mediaType(jsonType), mediaType("text/plain")}
	offersNoProblem = []contenttype.MediaType{mediaType("text/html"), mediaType(jsonType), mediaType(problemType), mediaType("text/plain")}
)

func mediaType(name string) contenttype.MediaType { return contenttype.NewMediaType(name) }

// accepted is the type of the form for an Accept header. A client that accepts none of
// them gets text, which any can show; one whose header cannot be read is treated as
// if it had none.
func accepted(accept []string, isProblem bool) string {
	if len(accept) == 0 {
		return htmlType
	}
	offered := offers
	if !isProblem {
		offered = offersNoProblem
	}
	chosen, _, err := contenttype.GetAcceptableMediaTypeFromHeader(strings.Join(accept, ","), offered)
	switch {
	case errors.Is(err, contenttype.ErrNoAcceptableTypeFound):
		return textType
	case err != nil:
		return htmlType
	case chosen.Subtype == "plain":
		return textType
	case chosen.Subtype == "html":
		return htmlType
	case chosen.MIME() == jsonType || !isProblem:
		return jsonType
	default:
		return problemType
	}
}

// form is the page for a request: the team's own where there is one, else the built-in
// one, in the language of the visitor if it is for people.
func (s *Site) form(r *http.Request, now time.Time) form {
	own := s.content
	chosen := form{contentType: accepted(r.Header.Values("Accept"), own.JSON == nil || own.IsProblem)}
	given := own.JSON
	switch chosen.contentType {
	case htmlType:
		given = own.HTML
	case textType:
		given = own.Text
	}
	if given != nil {
		chosen.body = given
		return chosen
	}
	if chosen.contentType != htmlType && chosen.contentType != textType {
		chosen.body = s.builtInProblem(now)
		return chosen
	}
	words := translation.For(r.Header.Get("Accept-Language"))
	chosen.language = words.Language
	if chosen.contentType == textType {
		chosen.body = s.builtInText(words, now)
	} else {
		chosen.policy, chosen.body = builtInPolicy, s.builtInHTML(words, now)
	}
	return chosen
}
