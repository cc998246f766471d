package decide

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/drift"
)

// maxTable is how many bytes a table may have. A ConfigMap takes 1 MiB.
const maxTable = 1_000_000

// key is what a listener stands in for: a port of a Service, by its name.
type key struct{ service, port string }

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.port, b.port))
}

// claim says that a number stands in for something.
type claim struct {
	key
	number int32
}

// tablePlan is the table as it must be.
type tablePlan struct {
	listeners  []listener.Listener
	next       int32
	ports      listener.Range
	unassigned []*corev1.Service
	// unconfirmed are Services that keep a listener until they are confirmed, sorted.
	unconfirmed []string
	// chosen says that the range is another than that of the Deployment, which is a
	// choice that depends on the neighbours.
	chosen bool
}

// table gives every TCP port of every Service a listener.
//
// What has a number keeps it as long as it is in use. The recorded table is the
// memory; if a user edited it, what the slices publish counts first, because clients
// are sent there. A number that any slice publishes is not given to
// anything else. A number that was given back is used again last: a proxy or a
// client may still have it.
func (s *Snapshot) table(pages map[string]*criticalv2.PageFallback, recorded *listener.Table, trusted bool) tablePlan {
	published := s.published()
	held, unconfirmed := s.held(pages, recorded, trusted, published)
	claims := [][]claim{claimsOf(recorded), published}
	if !trusted {
		slices.Reverse(claims)
	}
	numbers := assign(claims, held)
	free := s.pool(numbers, published, recorded)

	plan := tablePlan{unconfirmed: unconfirmed}
	size, written := 0, map[*criticalv2.PageFallback]bool{}
	refused := map[string]bool{}
	add := func(k key, number int32) bool {
		l := held[k]
		l.Port = number
		bytes := sizeOf(l)
		if !written[l.Page] {
			bytes += sizeOfPage(l.Page)
		}
		if size+bytes > maxTable {
			return false
		}
		size += bytes
		written[l.Page] = true
		plan.listeners = append(plan.listeners, l)
		return true
	}
	var unnumbered []key
	for _, k := range slices.SortedFunc(maps.Keys(held), compareKeys) {
		if number, found := numbers[k]; !found {
			unnumbered = append(unnumbered, k)
		} else if !add(k, number) {
			refused[k.service] = true
		}
	}
	for _, k := range unnumbered {
		number, found := free.first()
		if !found || !add(k, number) {
			refused[k.service] = true
			continue
		}
		free.take(number)
	}
	plan.next, plan.ports, plan.chosen = free.next, free.ports, free.chosen
	slices.SortFunc(plan.listeners, func(a, b listener.Listener) int { return cmp.Compare(a.Port, b.Port) })
	for i := range s.Services {
		if refused[s.Services[i].Name] {
			plan.unassigned = append(plan.unassigned, &s.Services[i])
		}
	}
	slices.SortFunc(plan.unassigned, func(a, b *corev1.Service) int { return cmp.Compare(a.Name, b.Name) })
	return plan
}

// recorded is the table as it is written, and whether the operator wrote it so.
func (s *Snapshot) recorded() (table *listener.Table, trusted bool) {
	if s.Table == nil {
		return &listener.Table{}, true
	}
	data := s.Table.Data[listener.Key]
	table, err := listener.Parse([]byte(data))
	if err != nil {
		return &listener.Table{}, false
	}
	return table, s.Table.Annotations[render.AnnotationTable] == drift.Hash(data)
}

func claimsOf(table *listener.Table) []claim {
	claims := make([]claim, 0, len(table.Listeners))
	for _, l := range table.Listeners {
		claims = append(claims, claim{key{l.Service, l.PortName}, l.Port})
	}
	return sortedClaims(claims)
}

// published are the numbers that the slices publish, of whatever kind.
func (s *Snapshot) published() []claim {
	seen := map[claim]bool{}
	for _, some := range [][]discoveryv1.EndpointSlice{s.Slices, s.PodSlices} {
		for i := range some {
			for _, port := range some[i].Ports {
				if port.Port != nil {
					k := key{some[i].Labels[discoveryv1.LabelServiceName], ptr.Deref(port.Name, "")}
					seen[claim{k, *port.Port}] = true
				}
			}
		}
	}
	return sortedClaims(slices.Collect(maps.Keys(seen)))
}

// sortedClaims are the claims to numbers that are listeners' at all, each once.
func sortedClaims(claims []claim) []claim {
	claims = slices.DeleteFunc(claims, func(c claim) bool { return c.number < listener.First || c.number > listener.Last })
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.number, b.number), compareKeys(a.key, b.key))
	})
	return slices.Compact(claims)
}

// held are the listeners that there must be, but for their numbers: one for each
// TCP port of the Services, and those to which clients are still sent though the
// Service, its port, or what asked for it, is gone. One that the operator has written goes
// only if its Service is confirmed; the others are unconfirmed.
func (s *Snapshot) held(pages map[string]*criticalv2.PageFallback, recorded *listener.Table, trusted bool, published []claim) (held map[key]listener.Listener, unconfirmed []string) {
	isPublished := map[claim]bool{}
	for _, c := range published {
		isPublished[c] = true
	}
	announced := s.announcements()
	wanted := s.wanted(pages, announced)
	held, losing := map[key]listener.Listener{}, sets.New[string]()
	for _, l := range recorded.Listeners {
		k := key{l.Service, l.PortName}
		if _, isWanted := wanted[k]; !isWanted && !isPublished[claim{k, l.Port}] {
			// A user can make a table look like the operator's, with a name that no Service has.
			if !trusted || s.Confirmed.Has(l.Service) || len(validation.IsDNS1123Label(l.Service)) > 0 {
				continue
			}
			losing.Insert(l.Service)
		}
		if page := pages[l.Service]; page != nil {
			l.Page, l.Maintenance = page, announced[l.Service]
		}
		held[k] = l
	}
	maps.Copy(held, wanted)
	return held, sets.List(losing)
}

// wanted are the TCP ports of the Services.
func (s *Snapshot) wanted(pages map[string]*criticalv2.PageFallback, announced map[string]*criticalv2.Announcement) map[key]listener.Listener {
	wanted := map[key]listener.Listener{}
	for i := range s.Services {
		service := &s.Services[i]
		page := pages[service.Name]
		if page == nil {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.Protocol == corev1.ProtocolTCP || port.Protocol == "" {
				wanted[key{service.Name, port.Name}] = listener.Listener{
					Service: service.Name, PortName: port.Name, ServicePort: port.Port,
					AppProtocol: ptr.Deref(port.AppProtocol, ""), Page: page, Maintenance: announced[service.Name],
				}
			}
		}
	}
	return wanted
}

// assign gives every key that is held at most one number, and no number twice.
// Earlier claims win.
func assign(claims [][]claim, held map[key]listener.Listener) map[key]int32 {
	numbers, owners := map[key]int32{}, map[int32]key{}
	for _, some := range claims {
		for _, c := range some {
			_, isHeld := held[c.key]
			_, numbered := numbers[c.key]
			_, owned := owners[c.number]
			if isHeld && !numbered && !owned {
				numbers[c.key], owners[c.number] = c.number, c.key
			}
		}
	}
	return numbers
}

// sizeOf is about how many bytes a listener takes in the table, without its page.
func sizeOf(l listener.Listener) int {
	l.Page = nil // Which takes as much as the number of a page.
	return lineSize(l)
}

// sizeOfPage is what a page takes in the table, where each is written once.
func sizeOfPage(page *criticalv2.PageFallback) int { return lineSize(page) }

func lineSize(element any) int {
	data, _ := json.Marshal(element) // Texts and numbers always marshal.
	return len(data) + len(",\n")
}
