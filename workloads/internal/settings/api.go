package settings

import (
	"errors"
	"strconv"

	"github.com/critical-service/operator/internal/operator/setting"
)

// mostPort is the greatest port.
const mostPort = 65535

func ofAPI(s *Settings) []setting.Setting {
	return []setting.Setting{
		{
			Flag: "api-port", Variable: "API_PORT", Preset: "9444",
			Usage: "where the API server of backups listens, once there is an APIService for it", Allowed: "a port",
			Parse: func(text string) (err error) {
				if s.APIPort, err = strconv.Atoi(text); err != nil || s.APIPort < 1 || s.APIPort > mostPort {
					return errors.New("not a port")
				}
				return nil
			},
		},
		{
			Flag: "api-audit-policy", Variable: "API_AUDIT_POLICY",
			Usage: "what is noted of requests to that API server; empty is nothing", Allowed: "a file with a Policy of audit.k8s.io/v1",
			Parse: file(&s.APIAuditPolicy),
		},
		{
			Flag: "api-audit-log", Variable: "API_AUDIT_LOG", Preset: "-",
			Usage: "where that is noted; - is the output", Allowed: "a file, or -",
			Parse: file(&s.APIAuditLog),
		},
	}
}

// file reads the name of a file, which is opened when it is needed.
func file(into *string) func(string) error {
	return func(text string) error {
		*into = text
		return nil
	}
}
