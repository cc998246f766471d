// Package settings are those of the workloads operator.
package settings

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/critical-service/operator/internal/operator/setting"
)

// DefaultNamespace is where config/ installs the operator.
const DefaultNamespace = "critical-service-workloads-system"

// Settings are the operator's settings.
type Settings struct {
	setting.Manager
	// DatabaseImageMongo, DatabaseImageMySQL and DatabaseImagePostgres are the images of
	// Databases that name none, by their type.
	DatabaseImageMongo, DatabaseImageMySQL, DatabaseImagePostgres string
	// WorkloadsImage is that of this operator, which has the meter of WebApps, and what moves snapshots.
	WorkloadsImage string
	// ETCDImage is that of ETCDInstances that name none.
	ETCDImage string
	// APIPort is where the aggregated API server listens, once an APIService wants it.
	APIPort int
	// APIAuditPolicy and APIAuditLog are files: what is noted of its requests, and where.
	APIAuditPolicy, APIAuditLog string
	// IngressAnnotations are kept on every Ingress; none by default.
	IngressAnnotations map[string]string
	// IngressStatus says on each Ingress which of its Services are on their fallback.
	IngressStatus bool
	// IngressClasses are those of the Ingresses that both are for; empty is all.
	IngressClasses []string
}

// Bind adds a flag for every setting. The returned function reads them, with the
// environment, once the flags are parsed.
func Bind(flags *pflag.FlagSet, environment setting.Environment) func() (*Settings, error) {
	s := &Settings{}
	read := setting.Bind(flags, environment, &s.Manager, DefaultNamespace, own(s))
	return func() (*Settings, error) {
		if err := read(); err != nil {
			return nil, err
		}
		return s, nil
	}
}

// own lists the settings that only this operator has.
func own(s *Settings) []setting.Setting {
	own := []setting.Setting{{
		Flag: "workloads-image", Variable: "WORKLOADS_IMAGE",
		Usage: "the image of this operator, whose program /meter runs in WebApps that scale by their traffic, and /snapshot stores and restores ETCDInstances", Allowed: "the reference of an image",
		Parse: setting.Image(&s.WorkloadsImage),
	}}
	return slices.Concat(own, ofDatabases(s), ofETCDInstances(s), ofIngresses(s), ofAPI(s))
}

func ofDatabases(s *Settings) []setting.Setting {
	return []setting.Setting{
		{
			Flag: "database-image-mongo", Variable: "DATABASE_IMAGE_MONGO", Preset: "mongo:4.0",
			Usage: "the image of Databases of type mongo that name none", Allowed: "the reference of an image",
			Parse: setting.Image(&s.DatabaseImageMongo),
		},
		{
			Flag: "database-image-mysql", Variable: "DATABASE_IMAGE_MYSQL", Preset: "mysql:8.0",
			Usage: "the image of Databases of type mysql that name none", Allowed: "the reference of an image",
			Parse: setting.Image(&s.DatabaseImageMySQL),
		},
		{
			Flag: "database-image-postgres", Variable: "DATABASE_IMAGE_POSTGRES", Preset: "postgres:16",
			Usage: "the image of Databases of type postgres that name none", Allowed: "the reference of an image",
			Parse: setting.Image(&s.DatabaseImagePostgres),
		},
	}
}

func ofETCDInstances(s *Settings) []setting.Setting {
	return []setting.Setting{{
		Flag: "etcd-image", Variable: "ETCD_IMAGE", Preset: "quay.io/coreos/etcd:v3.7.3",
		Usage: "the image of ETCDInstances that name none", Allowed: "the reference of an image",
		Parse: setting.Image(&s.ETCDImage),
	}}
}
