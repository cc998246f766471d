package view

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Column is one of the table that `kubectl get` prints.
type Column struct {
	Name string
	Cell func(client.Object) string
}

// ConvertToTable makes the table of an object, or of a list.
func (s *Storage) ConvertToTable(_ context.Context, object, _ runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}}
	for _, column := range s.Columns {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: column.Name, Type: "string"})
	}
	table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: "Age", Type: "string"})
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
		return table, meta.EachListItem(object, func(item runtime.Object) error { return s.row(table, item) })
	}
	return table, s.row(table, object)
}

func (s *Storage) row(table *metav1.Table, item runtime.Object) error {
	object, isObject := item.(client.Object)
	if !isObject {
		return fmt.Errorf("%T is no object", item)
	}
	cells := []any{object.GetName()}
	for _, column := range s.Columns {
		cells = append(cells, column.Cell(object))
	}
	cells = append(cells, duration.HumanDuration(time.Since(object.GetCreationTimestamp().Time)))
	table.Rows = append(table.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: object}})
	return nil
}
