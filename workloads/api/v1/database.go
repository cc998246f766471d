package v1

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
