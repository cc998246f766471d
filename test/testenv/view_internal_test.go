package testenv

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// asked is what a view asks in the place of a request, and answered what the operator gets of it. The API server sends a text.
func asked(g Gomega, view *View, target, text string) (query, answered string) {
	query = "nothing"
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		query = r.URL.Query().Encode()
		reader, writer := io.Pipe() // A watch goes on.
		go func() { _, _ = io.WriteString(writer, text) }()
		return &http.Response{StatusCode: http.StatusOK, Body: reader}, nil
	})
	request, err := http.NewRequest(http.MethodGet, target, nil)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := view.through(next).RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return query, response.Status
	}
	if strings.Contains(target, "watch") {
		body, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		answered = string(body)
	}
	return query, answered
}

const modified = `{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"7"}}}` + "\n"

func TestAWatchEndsByAnErrorAndThenWithout(t *testing.T) {
	g := NewWithT(t)
	view := (&View{lives: time.Second, expires: 1}).again(1, "")
	_, first := asked(g, view, "/api/v1/pods?watch=true&resourceVersion=5", modified)
	g.Expect(first).To(Equal(modified + tooFarBehind))
	_, second := asked(g, view, "/api/v1/pods?watch=true&resourceVersion=7", modified)
	g.Expect(second).To(Equal(modified))
	_, other := asked(g, view, "/api/v1/services?watch=true&resourceVersion=7", "")
	g.Expect(other).To(Equal(tooFarBehind))
	g.Expect(view.counts.cuts).To(Equal(3))
}

func TestTheSameHappensToAWatchWithTheSameSeed(t *testing.T) {
	g := NewWithT(t)
	of := func(seed uint64) (chances []uint64) {
		view := (&View{}).again(seed, "")
		for _, resource := range []string{"pods", "services", "pods"} {
			chances = append(chances, view.chance(resource).Uint64())
		}
		return chances
	}
	first := of(1)
	g.Expect(of(1)).To(Equal(first))
	g.Expect(of(2)).NotTo(ContainElement(BeElementOf(first)))
	g.Expect(first[0]).NotTo(Equal(first[2]), "the next watch of a resource meets something else")
}

func TestAWatchDoesNotEndInTheMidstOfWhatThereIs(t *testing.T) {
	const bookmark = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	begins := strings.Repeat(modified, 100) + bookmark
	_, answered := asked(NewWithT(t), (&View{lives: 2 * time.Nanosecond}).again(1, ""), "/api/v1/pods?watch=true&sendInitialEvents=true", begins)
	NewWithT(t).Expect(answered).To(Equal(begins))
}

func TestOnlyCachesBeginWithWhatAnotherOperatorSaw(t *testing.T) {
	g := NewWithT(t)
	view := (&View{behind: time.Nanosecond}).again(1, "")
	query, _ := asked(g, view, "/api/v1/pods?resourceVersion=0", "")
	g.Expect(query).To(Equal("resourceVersion=0"), "no operator has seen anything")
	view.learn(event{text: []byte(modified)})
	query, _ = asked(g, view, "/api/v1/pods?resourceVersion=0", "")
	g.Expect(query).To(Equal("resourceVersion=7&resourceVersionMatch=Exact"))
	query, _ = asked(g, view, "/api/v1/pods", "")
	g.Expect(query).To(BeEmpty(), "a read without a cache")
	query, status := asked(g, view, "/api/v1/pods?watch=true&sendInitialEvents=true", "")
	g.Expect([]string{query, status}).To(Equal([]string{"nothing", "Unprocessable Entity"}), "it lists instead")
	view.Calm()
	query, _ = asked(g, view, "/api/v1/pods?resourceVersion=0", "")
	g.Expect(query).To(Equal("resourceVersion=0"))
}

func TestTheEventsOfOneResourceAreHeld(t *testing.T) {
	g := NewWithT(t)
	view := (&View{held: 5 * time.Second, late: time.Second}).again(1, "pods")
	late, isHeld := view.lateness("pods", view.chance("pods"))
	g.Expect(late).To(Equal(5 * time.Second))
	g.Expect(isHeld).To(BeTrue())
	late, isHeld = view.lateness("services", view.chance("services"))
	g.Expect(late).To(BeNumerically("<", time.Second))
	g.Expect(isHeld).To(BeFalse())
}

func TestWhatChangesIsNoted(t *testing.T) {
	g := NewWithT(t)
	view := (&View{lives: time.Second}).again(1, "")
	const bookmark = `{"type":"BOOKMARK","object":{"metadata":{}}}` + "\n"
	asked(g, view, "/api/v1/namespaces/a/services?watch=true&resourceVersion=5", bookmark)
	asked(g, view, "/api/v1/namespaces/a/pods?watch=true&resourceVersion=5", modified)
	g.Expect(view.whatChanges()).To(Equal([]string{"pods"}))
}
