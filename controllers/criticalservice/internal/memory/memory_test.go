package memory_test

import (
	"reflect"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/internal/contract/listener"
)

// Whatever else comes to be remembered of a Service, it goes with it.
func TestAllThatIsRememberedOfAServiceGoesWithIt(t *testing.T) {
	g := NewWithT(t)
	gone, other := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "cart"}
	known := &memory.Memory{}
	fields := map[string]reflect.Value{}
	for i := range reflect.TypeFor[memory.Memory]().NumField() {
		name := reflect.TypeFor[memory.Memory]().Field(i).Name
		field := reflect.ValueOf(known).Elem().Field(i).Addr()
		set := field.MethodByName("Set")
		if set.Type().In(0) != reflect.TypeFor[types.NamespacedName]() || name == "Statuses" {
			continue // It is of a namespace, or of a policy.
		}
		fields[name] = field
		for _, key := range []types.NamespacedName{gone, other} {
			set.Call([]reflect.Value{reflect.ValueOf(key), reflect.Zero(set.Type().In(1))})
		}
	}
	g.Expect(len(fields)).To(BeNumerically(">=", 8))
	known.Forget(gone)
	for name, field := range fields {
		g.Expect(field.MethodByName("Keys").Call(nil)[0].Interface()).To(ConsistOf(other), name)
	}
}

// A tenant's table may be large. Workers that decide about other namespaces must not wait
// until it is parsed.
func TestATableIsParsedOnceAndDelaysNoOtherNamespace(t *testing.T) {
	g := NewWithT(t)
	tables := &memory.Tables{}
	begun, slow := make(chan struct{}, 2), make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			tables.Parsed("large", "1", func() map[string][]listener.Listener {
				begun <- struct{}{}
				<-slow
				return map[string][]listener.Listener{"web": nil}
			})
		})
	}
	<-begun
	small := map[string][]listener.Listener{"api": {{Port: 20000}}}
	parse := func() map[string][]listener.Listener { return small }
	g.Expect(tables.Parsed("small", "1", parse)).To(Equal(small))
	close(slow)
	group.Wait()
	g.Expect(begun).To(BeEmpty(), "it was parsed once")
	g.Expect(tables.Parsed("small", "1", nil)).To(Equal(small), "what is known is not parsed again")
	g.Expect(tables.Parsed("small", "2", func() map[string][]listener.Listener { return nil })).To(BeEmpty(), "it has changed")
}
