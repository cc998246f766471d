package v1

import (
	"fmt"
	"strings"
)

// DefaultMaxReplicas bounds the Pods of a WebApp that scales by its traffic and names no bound.
const DefaultMaxReplicas = 10

// DatabaseName is the name of the Database of a WebApp.
func (a *WebApp) DatabaseName() string { return a.Name + "-db" }

// InitialReplicas is how many Pods there are at first, and always unless autoscaling is on.
func (a *WebApp) InitialReplicas() int32 {
	if a.Spec.Replicas == nil {
		return 1
	}
	return *a.Spec.Replicas
}

// IsMetered reports whether each Pod has the metering proxy.
func (a *WebApp) IsMetered() bool { return a.Spec.AutoScaleEnabled && a.Spec.TrafficSource == nil }

// Engine is the type of the database: dbType or, without one, what the image's name says. It is
// empty where that says nothing.
func (a *WebApp) Engine() DatabaseType {
	if a.Spec.DBType != "" {
		return a.Spec.DBType
	}
	name := a.Spec.DBImage
	name, _, _ = strings.Cut(name, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	for _, engine := range []struct {
		part string
		is   DatabaseType
	}{{"mongo", DatabaseMongo}, {"mysql", DatabaseMySQL}, {"mariadb", DatabaseMySQL}, {"postgres", DatabasePostgres}} {
		if strings.Contains(name, engine.part) {
			return engine.is
		}
	}
	return ""
}

// Validate finds what the schema refuses, and an object may have all the same that was stored
// while the cluster had another schema.
func (a *WebApp) Validate() error {
	if a.Spec.DBSize != "" {
		if _, err := Quantity(a.Spec.DBSize).Parse(); err != nil {
			return fmt.Errorf("spec.dbSize: %w", err)
		}
	}
	resources := &a.Spec.Pod.Resources
	if _, err := resources.Limits.Parse(); err != nil {
		return fmt.Errorf("spec.pod.resources.limits.%w", err)
	}
	if _, err := resources.Requests.Parse(); err != nil {
		return fmt.Errorf("spec.pod.resources.requests.%w", err)
	}
	return nil
}
