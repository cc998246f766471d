package apiserver

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/workloads/internal/apiserver/backup"
	"github.com/critical-service/operator/workloads/internal/apiserver/restore"
)

// By these names the operator keeps the caBundles, and `kubectl critsvc doctor` looks after them.
func TestEveryGroupHasItsAPIService(t *testing.T) {
	var names []string
	for _, group := range Groups(&backup.Storage{}, &restore.Storage{}, nil, nil) {
		version := group.info.PrioritizedVersions[0]
		names = append(names, version.Version+"."+version.Group)
	}
	NewWithT(t).Expect(etcd.APIServices).To(ConsistOf(names))
}
