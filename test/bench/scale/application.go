package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newSlice(service types.NamespacedName, suffix, manager string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name + "-" + suffix,
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: manager},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{},
		Endpoints:   []discoveryv1.Endpoint{},
	}
}

// newApplication is the slice of an application that is ready, at an address of its own.
func newApplication(service types.NamespacedName, number int) *discoveryv1.EndpointSlice {
	slice := newSlice(service, "app", managedByBench)
	slice.Ports = []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}}
	slice.Endpoints = []discoveryv1.Endpoint{{
		Addresses:  []string{fakeAddress(number).String()},
		Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
	}}
	return slice
}

func fakeAddress(number int) netip.Addr {
	bytes := fakeApplications.As4()
	bytes[2], bytes[3] = byte((number+1)>>8&0xff), byte((number+1)&0xff)
	return netip.AddrFrom4(bytes)
}

// setAllReady lets the applications of the first Services fail, or recover, all at once.
func (b *bench) setAllReady(ctx context.Context, count int, ready bool) error {
	return b.each(ctx, count, func(ctx context.Context, number int) error { return b.setReady(ctx, number, ready) })
}

func (b *bench) setReady(ctx context.Context, number int, ready bool) error {
	return b.patchApplication(ctx, number, fmt.Sprintf(
		`{"endpoints":[{"addresses":[%q],"conditions":{"ready":%t,"serving":%t,"terminating":false}}]}`,
		fakeAddress(number), ready, ready))
}

// setReadyPaced is setAllReady at the pace of kube-controller-manager.
func (b *bench) setReadyPaced(ctx context.Context, count int, ready bool) error {
	every := time.NewTicker(time.Second / kubernetesRate)
	defer every.Stop()
	return b.each(ctx, count, func(ctx context.Context, number int) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
			return b.setReady(ctx, number, ready)
		}
	})
}

// touch writes the slice of an application so that it says the same as before.
func (b *bench) touch(ctx context.Context, number int, at time.Time) error {
	return b.patchApplication(ctx, number, fmt.Sprintf(`{"metadata":{"annotations":{"bench-scale/touched":%q}}}`, at.Format(time.RFC3339Nano)))
}

func (b *bench) patchApplication(ctx context.Context, number int, patch string) error {
	slice := newSlice(b.service(number), "app", managedByBench)
	return b.client.Patch(ctx, slice, client.RawPatch(types.MergePatchType, []byte(patch)))
}
