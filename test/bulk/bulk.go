// Package bulk makes objects that are as large as a stranger may write them: what a cache keeps
// of such an object is all that a stranger can make the operator keep.
package bulk

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// most is how many members a list or a map has.
	most = 50
	// deepest is how deep fields are filled: schemas nest without an end.
	deepest = 12
)

var text = strings.Repeat("x", 5000)

// Fill fills every field of an object: texts with 5,000 bytes, lists and maps with 50 members.
func Fill[T runtime.Object](object T) T {
	fill(reflect.ValueOf(object).Elem(), 0)
	return object
}

func fill(value reflect.Value, depth int) {
	if depth > deepest || !value.CanSet() {
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(1)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem(), depth+1)
	case reflect.Slice:
		// All members are the same one, which saves memory here.
		member := reflect.New(value.Type().Elem()).Elem()
		fill(member, depth+1)
		value.Set(reflect.MakeSlice(value.Type(), most, most))
		for i := range most {
			value.Index(i).Set(member)
		}
	case reflect.Map:
		member := reflect.New(value.Type().Elem()).Elem()
		fill(member, depth+1)
		value.Set(reflect.MakeMap(value.Type()))
		for i := range most {
			key := reflect.ValueOf(text[:len(text)-i])
			value.SetMapIndex(key.Convert(value.Type().Key()), member)
		}
	case reflect.Struct:
		for _, field := range value.Fields() {
			fill(field, depth+1)
		}
	default:
		// Numbers of other sizes and functions take no memory.
	}
}
