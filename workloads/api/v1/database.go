package v1

import "fmt"

// OwnsSecret reports whether the operator generates the credentials.
func (d *Database) OwnsSecret() bool { return d.Spec.Credentials.SecretName == "" }

// SecretName is the name of the Secret with the credentials.
func (d *Database) SecretName() string {
	if d.OwnsSecret() {
		return d.Name + "-credentials"
	}
	return d.Spec.Credentials.SecretName
}

// ClaimName is the name of the claim of a Database with storage.
func (d *Database) ClaimName() string { return d.Name + "-data" }

// TrialName is the name of the Pod in which the next Pod is tried out.
func (d *Database) TrialName() string { return d.Name + "-trial" }

// Validate finds what the schema refuses, and an object may have all the same that was stored
// while the cluster had another schema.
func (d *Database) Validate() error {
	if d.Spec.Storage != nil {
		if _, err := Quantity(d.Spec.Storage.Size).Parse(); err != nil {
			return fmt.Errorf("spec.storage.size: %w", err)
		}
	}
	resources := &d.Spec.Pod.Resources
	if _, err := resources.Limits.Parse(); err != nil {
		return fmt.Errorf("spec.pod.resources.limits.%w", err)
	}
	if _, err := resources.Requests.Parse(); err != nil {
		return fmt.Errorf("spec.pod.resources.requests.%w", err)
	}
	return nil
}
