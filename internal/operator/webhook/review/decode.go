package review

import (
	"encoding/json"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Decode reads an object without the fields of its spec and its status that cannot be
// read. The API server converts what is applied before it validates it, if another version
// of the object has a manager, and answers 500 where that fails. So what has no valid form
// is left out, and the validation finds it in the original.
func Decode[T any](data []byte, into *T) error {
	if kjson.Unmarshal(data, into) == nil {
		return nil
	}
	// What is in a field stays as it is written: in a map each value takes hundreds of bytes.
	object := map[string]json.RawMessage{}
	if err := kjson.Unmarshal(data, &object); err != nil {
		return err
	}
	for _, part := range []string{"spec", "status"} {
		fields := map[string]json.RawMessage{}
		if kjson.Unmarshal(object[part], &fields) != nil {
			continue
		}
		for name, value := range fields {
			if !readable[T](part, name, value) {
				delete(fields, name)
			}
		}
		var err error
		if object[part], err = json.Marshal(fields); err != nil {
			return err
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var valid T
	*into = valid
	return kjson.Unmarshal(data, into)
}

func readable[T any](part, name string, value json.RawMessage) bool {
	data, err := json.Marshal(map[string]map[string]json.RawMessage{part: {name: value}})
	return err == nil && kjson.Unmarshal(data, new(T)) == nil
}
