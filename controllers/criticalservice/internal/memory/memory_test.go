package memory_test

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
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
		if set.Type().In(0) != reflect.TypeFor[types.NamespacedName]() {
			continue // It is of a namespace.
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
