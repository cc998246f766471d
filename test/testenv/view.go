package testenv

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// View is what an operator sees of the cluster through its watches. What it reads without a cache is not touched.
type View struct {
	name string
	// lives is how long a watch lives at least, and half as long again at most; 0 is until the API server ends it. It lives for
	// few events of what changes, so that a story on a fast machine is cut as often.
	lives time.Duration
	// expires is how many of the watches of a resource end by an error that says that they are too far behind.
	expires int
	// late is how long events come late at most: those of a watch all by the same, and each watch by another time, so that
	// events of several resources come in another order.
	late time.Duration
	// held is how late the events of one resource come, while those of the others go on.
	held time.Duration
	// behind is how old a list is that may be of any age, where another operator has seen that; or it is the first that one saw.
	// Streams of what there is are refused, so that caches begin with lists.
	behind time.Duration
	// seed is what chance is a matter of.
	seed uint64

	// resource is that whose events are held, for example pods.
	resource string

	mu      sync.Mutex
	expired map[string]int
	watched map[string]uint64
	// changed are the resources of which there were events, after those of what there was.
	changed map[string]bool
	seen    []moment
	calm    chan struct{}
	calms   sync.Once
	// counts is how often something was done.
	counts disturbances
}

// disturbances count what was done to views.
type disturbances struct {
	mu                   sync.Mutex
	cuts, expiries, late int
	// held are the events of each resource that was held.
	held map[string]int
	// behind are the lists that were old.
	behind int
}

func (d *disturbances) add(v *View) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cuts, d.expiries, d.late = d.cuts+v.counts.cuts, d.expiries+v.counts.expiries, d.late+v.counts.late
	d.behind += v.counts.behind
	if v.held > 0 {
		d.hold(v.resource, v.counts.held[v.resource])
	}
}

// hold counts events of a resource that was held; none is a resource of which nothing was.
func (d *disturbances) hold(resource string, events int) {
	if d.held == nil {
		d.held = map[string]int{}
	}
	d.held[resource] += events
}

// heldInAll is how many events were held.
func (d *disturbances) heldInAll() (sum int) {
	for _, events := range d.held {
		sum += events
	}
	return sum
}

// isAll reports whether everything was done. That a list is old is what an operator has to prevent. In a few lives nothing may
// happen to the resource that is held; in many, nothing to less than half of them, which other stories alone had changed.
func (d *disturbances) isAll(lives int) bool {
	idle := 0
	for _, events := range d.held {
		if events == 0 {
			idle++
		}
	}
	return min(d.cuts, d.expiries, d.late) > 0 && (lives < 10 || 2*idle < len(d.held))
}

// String is for the log of a test.
func (d *disturbances) String() string {
	return fmt.Sprintf("%d watches were cut, %d of them by an error; %d events came late, %d of them of a resource that was held: %v", d.cuts, d.expiries, d.late, d.heldInAll(), d.held)
}

// moment is when an operator learned of a version.
type moment struct {
	at      time.Time
	version string
}

// views are all that a story is lived under.
func views() []*View {
	return []*View{
		{name: "its watches are cut", lives: time.Second, expires: 2},
		{name: "events come late and in another order", late: time.Second},
		{name: "one resource is held, and lists of any age are old", late: time.Second, held: 5 * time.Second, behind: 2 * time.Second},
	}
}

// again is the same View for another story, which holds a resource.
func (v *View) again(seed uint64, resource string) *View {
	return &View{
		name: v.name, lives: v.lives, expires: v.expires, late: v.late, held: v.held, behind: v.behind, seed: seed, resource: resource,
		expired: map[string]int{}, watched: map[string]uint64{}, changed: map[string]bool{}, calm: make(chan struct{}),
	}
}

// whatChanges are the resources of which there were events.
func (v *View) whatChanges() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.changed))
}

// chance is what happens to the next watch of a resource. It depends on nothing that another watch does, so that the same
// happens again with the same seed.
func (v *View) chance(resource string) *rand.Rand {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watched[resource]++
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(resource))
	return rand.New(rand.NewPCG(v.seed, hash.Sum64()+v.watched[resource])) //nolint:gosec // Chance is enough.
}

// Calm ends what is done to a View, so that its operator can come to rest.
func (v *View) Calm() {
	if v != nil {
		v.calms.Do(func() { close(v.calm) })
	}
}

func (v *View) isCalm() bool {
	select {
	case <-v.calm:
		return true
	default:
		return false
	}
}

func (v *View) count(what func(*disturbances)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	what(&v.counts)
}

// through sends the requests of caches in another form.
func (v *View) through(next http.RoundTripper) http.RoundTripper {
	if v == nil {
		return next
	}
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		query := request.URL.Query()
		switch isFirst := query.Get("resourceVersion") == "" || query.Get("resourceVersion") == "0"; {
		case request.Method != http.MethodGet || v.isCalm():
			return next.RoundTrip(request)
		case query.Has("sendInitialEvents") && isFirst && v.past() != "":
			// A cache that gets no stream of what there is lists it.
			return refuse(request, metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid})
		case query.Has("watch"):
			return v.watch(request, next)
		case query.Get("resourceVersion") == "0" && v.past() != "":
			query.Set("resourceVersion", v.past())
			query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
			request = request.Clone(request.Context())
			request.URL.RawQuery = query.Encode()
			v.count(func(d *disturbances) { d.behind++ })
			return next.RoundTrip(request)
		default:
			return next.RoundTrip(request)
		}
	})
}

// past is the last version that an operator learned of before the time by which caches are behind, or else the first; empty
// if none has learned of any.
func (v *View) past() string {
	if v.behind == 0 {
		return ""
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, seen := range slices.Backward(v.seen) {
		if time.Since(seen.at) > v.behind {
			return seen.version
		}
	}
	if len(v.seen) == 0 {
		return ""
	}
	return v.seen[0].version
}

// watch lets a watch send its events as JSON, one after the other.
func (v *View) watch(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Accept", strings.ReplaceAll(request.Header.Get("Accept"), "application/vnd.kubernetes.protobuf", "application/json"))
	response, err := next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	reader, writer := io.Pipe()
	events := make(chan event, 1<<14)
	go v.receive(response.Body, events)
	go v.send(events, writer, request.URL.Path, request.URL.Query().Has("sendInitialEvents"))
	response.Body = &disturbed{PipeReader: reader, source: response.Body}
	return response, nil
}

// disturbed is the body of a watch.
type disturbed struct {
	*io.PipeReader
	source io.Closer
}

// Close implements io.Closer.
func (d *disturbed) Close() error {
	_ = d.PipeReader.Close()
	return d.source.Close()
}

// event is one of a watch, and when the API server has sent it.
type event struct {
	text json.RawMessage
	at   time.Time
}

// receive takes events as the API server sends them.
func (v *View) receive(from io.Reader, events chan<- event) {
	defer close(events)
	for decoder := json.NewDecoder(from); ; {
		var text json.RawMessage
		if decoder.Decode(&text) != nil {
			return
		}
		events <- event{text, time.Now()}
	}
}

// tooFarBehind is how the API server ends a watch that has to begin with a list.
const tooFarBehind = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"testenv: too old resource version"}}` + "\n"

// initialEnd is in the event that ends those of what there is.
const initialEnd = `"k8s.io/initial-events-end"`

// send passes events on, late, until the watch is to end: not in the midst of what there is, as the operator would begin
// with that again and again, and client-go would wait longer each time.
func (v *View) send(events <-chan event, to *io.PipeWriter, of string, isInitial bool) {
	defer to.Close()
	chance := v.chance(path.Base(of)) // The rest of the path names the story's own namespace.
	var changes, fewChanges int
	if v.lives > 0 {
		fewChanges = 1 + chance.IntN(3)
	}
	late, isHeld := v.lateness(path.Base(of), chance)
	var end <-chan time.Time
	for {
		if v.lives > 0 && end == nil && !isInitial {
			end = time.After(v.lives + upTo(v.lives/2, chance))
		}
		select {
		case e, isOne := <-events:
			if !isOne {
				return
			}
			v.await(e.at.Add(late), isHeld)
			if _, err := to.Write(append(e.text, '\n')); err != nil {
				return
			}
			v.learn(e)
			if isInitial {
				isInitial = !strings.Contains(string(e.text), initialEnd)
			} else {
				changes++
				v.note(path.Base(of), e)
			}
			if changes == fewChanges && v.cut(to, of) {
				return
			}
		case <-end:
			if v.cut(to, of) {
				return
			}
		}
	}
}

// cut ends a watch, unless all is calm.
func (v *View) cut(to io.Writer, path string) bool {
	if v.lives == 0 || v.isCalm() {
		return false
	}
	if v.mayExpire(path) {
		_, _ = io.WriteString(to, tooFarBehind) // The operator may have ended the watch itself.
	}
	return true
}

func upTo(most time.Duration, chance *rand.Rand) time.Duration {
	return time.Duration(chance.Int64N(int64(most)))
}

// lateness is how late the events of a watch of a resource come, and whether that is held.
func (v *View) lateness(resource string, chance *rand.Rand) (late time.Duration, isHeld bool) {
	switch {
	case v.held > 0 && resource == v.resource:
		return v.held, true
	case v.late > 0:
		return upTo(v.late, chance), false
	default:
		return 0, false
	}
}

// note notes that a resource has changed.
func (v *View) note(resource string, e event) {
	if strings.HasPrefix(string(e.text), `{"type":"BOOKMARK"`) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changed[resource] = true
}

// await waits for the time of an event, or until all is calm.
func (v *View) await(at time.Time, isHeld bool) {
	left := time.Until(at)
	if left <= 0 {
		return
	}
	select {
	case <-time.After(left):
		v.count(func(d *disturbances) {
			d.late++
			if isHeld {
				d.hold(v.resource, 1)
			}
		})
	case <-v.calm:
	}
}

// mayExpire decides how a watch of a path ends.
func (v *View) mayExpire(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts.cuts++
	if v.expired[path] >= v.expires {
		return false
	}
	v.expired[path]++
	v.counts.expiries++
	return true
}

// learn notes which version an operator has learned of.
func (v *View) learn(e event) {
	if v.behind == 0 {
		return
	}
	var about struct {
		Object struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		} `json:"object"`
	}
	if json.Unmarshal(e.text, &about) != nil || about.Object.Metadata.ResourceVersion == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, moment{time.Now(), about.Object.Metadata.ResourceVersion})
}
