package page_test

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http/httpguts"

	"github.com/critical-service/operator/internal/contract/page"
)

func TestParseTakesWhatIsValid(t *testing.T) {
	g := NewWithT(t)
	content, problems := page.Parse(map[string][]byte{
		"index.html":    []byte("<h1>Back soon</h1>"),
		"503.json":      []byte(`{"title": "Back soon", "status": 503}`),
		"503.txt":       []byte("Back soon\n"),
		"headers":       []byte("# ours\n\nx-team: storefront\r\nAccess-Control-Allow-Origin: *\nX-Team: web"),
		"eta":           []byte("2030-01-31T18:30:00+01:00\n"),
		"logo.svg":      []byte("<svg/>"),
		"css__site.css": []byte("body {}"),
		"data":          []byte("\x89PNG\x0D\x0A\x1A\x0A"),
	})
	g.Expect(problems).To(BeEmpty())
	g.Expect(string(content.HTML)).To(Equal("<h1>Back soon</h1>"))
	g.Expect(content.IsProblem).To(BeTrue())
	g.Expect(string(content.Text)).To(Equal("Back soon\n"))
	g.Expect(content.Headers).To(Equal([]page.Header{
		{Name: "X-Team", Value: "storefront"}, {Name: "Access-Control-Allow-Origin", Value: "*"}, {Name: "X-Team", Value: "web"},
	}))
	g.Expect(content.ETA).To(BeTemporally("==", time.Date(2030, 1, 31, 17, 30, 0, 0, time.UTC)))
	g.Expect(content.Files).To(HaveLen(3))
	g.Expect(content.Files["/logo.svg"].ContentType).To(Equal("image/svg+xml"))
	g.Expect(content.Files["/css/site.css"].ContentType).To(Equal("text/css; charset=utf-8"))
	g.Expect(content.Files["/data"].ContentType).To(Equal("image/png"), "sniffed, as the name says nothing")
}

func TestABadKeyIsSaidAndNeverSpoilsTheOthers(t *testing.T) {
	for sentence, c := range map[string]struct {
		key, value, says string
	}{
		"an empty page":                    {"index.html", " \n", "it is empty; the built-in page is shown"},
		"a page that is not UTF-8":         {"index.html", "caf\xe9", "it is not UTF-8"},
		"a text that is empty":             {"503.txt", "", "it is empty"},
		"JSON that is cut off":             {"503.json", `{"title": "Ba`, "it is not valid JSON"},
		"JSON that is not UTF-8":           {"503.json", "\"caf\xe9\"", "it is not UTF-8"},
		"a date without a zone":            {"eta", "2030-01-31 18:30", "is not a date with time and zone"},
		"a header without a colon":         {"headers", "X-Team storefront", `the line "X-Team storefront" is not "Name: value"`},
		"a header with a space in it":      {"headers", "X Team: storefront", `is not "Name: value"`},
		"a header with a control byte":     {"headers", "X-Team: a\x01b", `is not "Name: value"`},
		"a hop-by-hop header":              {"headers", "transfer-encoding: chunked", "Transfer-Encoding is set by the responder itself"},
		"a header that frames the answer":  {"headers", "Content-Length: 5", "Content-Length is set by the responder itself"},
		"a header that lets it be stored":  {"headers", "Cache-Control: max-age=60", "Cache-Control is set by the responder itself"},
		"a header of gRPC":                 {"headers", "grpc-status: 0", "Grpc-Status is set by the responder itself"},
		"too many headers":                 {"headers", strings.Repeat("A: b\n", 65), "more than 64 headers"},
		"headers that are too long":        {"headers", "A: " + strings.Repeat("b", 9000), "or 8192 bytes"},
		"a path that climbs":               {"..__secret", "x", "it is no path of a file"},
		"a path that climbs in the middle": {"a__..__secret", "x", "it is no path of a file"},
		"a path that is absolute":          {"__etc__passwd", "x", "it is no path of a file"},
		"a path that ends open":            {"docs__", "x", "it is no path of a file"},
		"a file that is too large":         {"film.mp4", strings.Repeat("x", page.MaxBytes), "larger than the 1048576 bytes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			content, problems := page.Parse(map[string][]byte{c.key: []byte(c.value), "fine.txt": []byte("fine")})
			g.Expect(problems).To(HaveLen(1))
			g.Expect(problems[0].String()).To(And(HavePrefix("key \""+c.key+"\": "), ContainSubstring(c.says)))
			g.Expect(content.HTML).To(BeNil())
			g.Expect(content.JSON).To(BeNil())
			g.Expect(content.Text).To(BeNil())
			g.Expect(content.ETA).To(BeZero())
			g.Expect(content.Files).To(HaveLen(1))
			g.Expect(content.Files).To(HaveKey("/fine.txt"))
		})
	}
}

// A million bytes can be wrong in hundreds of thousands of ways.
func TestProblemsAreBounded(t *testing.T) {
	for name, value := range map[string]string{
		"lines": strings.Repeat("x\n", page.MaxBytes/4), "names": "Grpc-" + strings.Repeat("x", page.MaxBytes/2) + ": y",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			files := map[string][]byte{page.KeyHeaders: []byte(value)}
			for i := range 100 {
				files["..__"+strings.Repeat("x", i)] = nil
			}
			_, problems := page.Parse(files)
			g.Expect(problems).To(HaveLen(16))
			for _, problem := range problems {
				g.Expect(len(problem.String())).To(BeNumerically("<", 1000))
			}
		})
	}
}

func TestJSONWithVeryManyMembersIsReadWithoutKeepingThem(t *testing.T) {
	g := NewWithT(t)
	members := &strings.Builder{}
	for i := range 90_000 {
		fmt.Fprintf(members, "%q:1,", fmt.Sprint(i))
	}
	files := map[string][]byte{page.KeyJSON: []byte("{" + members.String() + `"nested":{"title":1},"status":503}`)}
	var content *page.Content
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			content, _ = page.Parse(files)
		}
	})
	g.Expect(content.IsProblem).To(BeTrue())
	g.Expect(result.AllocedBytesPerOp()).To(BeNumerically("<", 1<<20))
}

func TestJSONThatIsNoProblem(t *testing.T) {
	for _, value := range []string{
		`[]`, `"down"`, `{"error": "down"}`, `null`, `{}`, `["type", "title"]`, `[{"type": 1}]`,
		`{"error": "type"}`, `{"a": {"type": 1}, "b": ["title"], "c\"": "\\", "d": "\"title"}`,
	} {
		content, problems := page.Parse(map[string][]byte{page.KeyJSON: []byte(value)})
		g := NewWithT(t)
		g.Expect(problems).To(BeEmpty())
		g.Expect(string(content.JSON)).To(Equal(value))
		g.Expect(content.IsProblem).To(BeFalse())
	}
}

func TestThePageComesBeforeFilesWhenThereIsNoRoomForBoth(t *testing.T) {
	g := NewWithT(t)
	content, problems := page.Parse(map[string][]byte{
		"a.bin": bytes.Repeat([]byte("a"), page.MaxBytes/2), "index.html": bytes.Repeat([]byte("b"), page.MaxBytes/2+1),
	})
	g.Expect(content.HTML).NotTo(BeNil())
	g.Expect(problems).To(ConsistOf(HaveField("Key", "a.bin")))
}

// FuzzParse wants that no content whatever breaks what the responder relies on.
func FuzzParse(f *testing.F) {
	f.Add("index.html", []byte("<p>"), "headers", []byte("A: b\nc"))
	f.Add("a__b.css", []byte("x"), "eta", []byte("2030-01-31T18:30:00Z"))
	f.Add("..__x", []byte("\xff"), "503.json", []byte(`{"status": 1e999}`))
	f.Add("a//b", []byte("x"), "a__b", []byte("x"))
	f.Fuzz(func(t *testing.T, key string, value []byte, other string, otherValue []byte) {
		files := map[string][]byte{key: value, other: otherValue}
		content, problems := page.Parse(files)
		if content == nil {
			t.Fatal("no content")
		}
		for _, problem := range problems {
			if _, known := files[problem.Key]; !known {
				t.Errorf("a problem of a key that is not there: %s", problem)
			}
		}
		for name := range content.Files {
			if path.Clean(name) != name || name[0] != '/' {
				t.Errorf("the path %q is not clean", name)
			}
		}
		for _, header := range content.Headers {
			if !httpguts.ValidHeaderFieldName(header.Name) || !httpguts.ValidHeaderFieldValue(header.Value) {
				t.Errorf("the header %q: %q is not valid", header.Name, header.Value)
			}
		}
	})
}
