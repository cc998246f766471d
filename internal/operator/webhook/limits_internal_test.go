package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/operator/serving"
)

// stored is how much of one object the API server stores, in bytes.
const stored = 3 << 19

// One object that is not converted fails every list of its kind in that version.
func TestWhateverIsStoredIsConverted(t *testing.T) {
	labels := &strings.Builder{}
	for i := 0; labels.Len() < stored; i++ {
		fmt.Fprintf(labels, `"%x":"",`, i)
	}
	// Managed fields are what any writer says: the shortest names, each with an empty object.
	managed := &strings.Builder{}
	for managed.Len() < stored {
		managed.WriteString(`"f:a":{},`)
	}
	convert := serving.Bounded(conversionLimits, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for sentence, test := range map[string]struct {
		object string
		want   int
	}{
		"a setting of commas":                 {`{"spec":{"config":{"a":"` + strings.Repeat(",", 262_000) + `"}}}`, http.StatusOK},
		"a setting of braces":                 {`{"spec":{"config":{"a":"` + strings.Repeat("{", 262_000) + `"}}}`, http.StatusOK},
		"as many finalizers as fit":           {`{"metadata":{"finalizers":[` + strings.Repeat(`"a",`, stored/4) + `"a"]}}`, http.StatusOK},
		"as many labels as fit":               {`{"metadata":{"labels":{` + labels.String() + `"a":""}}}`, http.StatusOK},
		"as many managed fields as fit":       {`{"metadata":{"managedFields":[{"fieldsV1":{` + managed.String() + `"f:b":{}}}]}}`, http.StatusOK},
		"nothing that the API server has not": {`{"status":{"conditions":[` + strings.Repeat(`{},`, stored/3) + `{}]}}`, http.StatusRequestEntityTooLarge},
	} {
		t.Run(sentence, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			convert.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, Path, io.NopCloser(strings.NewReader(test.object))))
			NewWithT(t).Expect(recorder.Code).To(Equal(test.want), recorder.Body.String())
		})
	}
}
