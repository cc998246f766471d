package review

import "k8s.io/apimachinery/pkg/util/json"

// Decode reads an object without the fields of its spec and its status that cannot be
// read. The API server converts what is applied before it validates it, if another version
// of the object has a manager, and answers 500 where that fails. So what has no valid form
// is left out, and the validation finds it in the original.
func Decode[T any](data []byte, into *T) error {
	if json.Unmarshal(data, into) == nil {
		return nil
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	for _, part := range []string{"spec", "status"} {
		fields, _ := object[part].(map[string]any)
		for name, value := range fields {
			if !readable[T](map[string]any{part: map[string]any{name: value}}) {
				delete(fields, name)
			}
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var valid T
	*into = valid
	return json.Unmarshal(data, into)
}

func readable[T any](object map[string]any) bool {
	data, err := json.Marshal(object)
	return err == nil && json.Unmarshal(data, new(T)) == nil
}
