package live

import (
	"testing"

	"github.com/critical-service/operator/internal/contract/listener"
)

// FuzzParse wants that a table either is refused or gives each port once.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"pages": [{"statusCode": 503, "probes": {"paths": ["/"]}}], "listeners": [{"port": 20000, "service": "shop"}]}`))
	f.Add([]byte(`{"pages": [{}], "listeners": [{"port": 20001}, {"port": 20001}]}`))
	f.Add([]byte(`{"listeners": null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := listener.Parse(data)
		if (table == nil) == (err == nil) {
			t.Fatalf("table %v and error %v", table, err)
		}
		if err != nil {
			return
		}
		taken := map[int32]bool{}
		for _, l := range table.Listeners {
			if taken[l.Port] {
				t.Errorf("port %d is given twice", l.Port)
			}
			taken[l.Port] = true
			newEntry(l, nil)
		}
	})
}
