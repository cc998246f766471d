package console

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/internal/text"
	"github.com/critical-service/operator/internal/text/terminal"
)

// Create makes an instance.
func (c Console) Create(ctx context.Context, client *remote.Client, instance types.NamespacedName, spec *remote.Spec) error {
	if err := client.Create(ctx, instance, spec); err != nil {
		return fmt.Errorf("create ETCDInstance %s: %w", instance, err)
	}
	_, err := fmt.Fprintf(c.Out, "etcdinstance/%s created\n", instance.Name)
	return err
}

// Delete deletes an instance.
func (c Console) Delete(ctx context.Context, client *remote.Client, instance types.NamespacedName) error {
	if err := client.Delete(ctx, instance); err != nil {
		return fmt.Errorf("delete ETCDInstance %s: %w", instance, err)
	}
	_, err := fmt.Fprintf(c.Out, "etcdinstance/%s deleted\n", instance.Name)
	return err
}

// List prints the instances of a namespace, or of all if it is empty.
func (c Console) List(ctx context.Context, client *remote.Client, namespace string) error {
	found, err := client.List(ctx, namespace)
	if err != nil {
		return fmt.Errorf("list ETCDInstances: %w", err)
	}
	if len(found) == 0 {
		fmt.Fprintln(c.ErrOut, "There is no ETCDInstance.")
		return nil
	}
	table := tabwriter.NewWriter(c.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tNAME\tSTATE\tREADY\tVERSION\tTLS\tMESSAGE")
	for i := range found {
		fmt.Fprintln(table, strings.Join(cells(&found[i]), "\t"))
	}
	return table.Flush()
}

// cells are what a line says of an instance.
func cells(instance *unstructured.Unstructured) []string {
	field := func(path ...string) string {
		value, _, _ := unstructured.NestedString(instance.Object, path...)
		return said(value)
	}
	number := func(path ...string) int64 {
		value, _, _ := unstructured.NestedInt64(instance.Object, path...)
		return value
	}
	tls, _, _ := unstructured.NestedBool(instance.Object, "spec", "with_tls_bundle")
	return []string{
		instance.GetNamespace(), instance.GetName(), field("status", "state"),
		fmt.Sprintf("%d/%d", number("status", "readyReplicas"), number("spec", "replicas")),
		field("status", "version"), fmt.Sprint(tls), field("status", "message"),
	}
}

// maxSaid is how many bytes of a text are printed that is in a status, as the API bounds messages.
const maxSaid = 1024

// said is a text of a status as it may be printed: others write it, and a terminal obeys some texts.
func said(by string) string { return text.Shorten(terminal.OneLine(by), maxSaid) }

// Describe prints what a snapshot holds.
func (c Console) Describe(name string, contents *snapshot.Contents) error {
	version := said(contents.StorageVersion)
	if version == "" {
		version = "3.5 or earlier"
	}
	_, err := fmt.Fprintf(c.Out, "%s is whole: %s, revision %d, %d records, of etcd %s\nsha256: %s\n",
		name, Size(contents.Bytes), contents.Revision, contents.Records, version, contents.SHA256)
	return err
}
