package v1

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// QuantityPattern is what a Quantity must match. It admits less than Kubernetes does: of
// "1e-999999999" the library that reads quantities makes a number of a billion digits.
const QuantityPattern = `^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$`

// A Quantity can hold whatever is stored. One that cannot be read is a problem of its own object: a
// resource.Quantity would be one of every list that holds the object, and so of all objects.

// Quantity is an amount as its user wrote it: a number, or a text such as 500m or 1Gi.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Pattern=`^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$`
type Quantity string

// UnmarshalJSON implements json.Unmarshaler. What is no text is kept as it is written.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	*q = Quantity(text)
	return nil
}

var quantityPattern = regexp.MustCompile(QuantityPattern)

// Parse reads the amount.
func (q Quantity) Parse() (resource.Quantity, error) {
	if !quantityPattern.MatchString(string(q)) {
		return resource.Quantity{}, fmt.Errorf("%.64q is not a quantity: write for example '2', '500m' or '1Gi'", string(q))
	}
	return resource.ParseQuantity(string(q))
}

// Quantities are amounts of resources, by the names of these.
//
// +kubebuilder:validation:MaxProperties=16
// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317)",message="names of resources must have at most 317 characters"
type Quantities map[corev1.ResourceName]Quantity

// Parse reads all amounts. Those that can be read are there also with an error.
func (q Quantities) Parse() (corev1.ResourceList, error) {
	if len(q) == 0 {
		return nil, nil
	}
	var first error
	parsed := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		amount, err := q[name].Parse()
		switch {
		case err == nil:
			parsed[name] = amount
		case first == nil:
			first = fmt.Errorf("%.317s: %w", name, err)
		}
	}
	return parsed, first
}
