package v1_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

func TestTheNameOfAnImageSaysWhichEngineItIs(t *testing.T) {
	for image, engine := range map[string]workloadsv1.DatabaseType{
		"mysql:8.0":   workloadsv1.DatabaseMySQL,
		"mariadb":     workloadsv1.DatabaseMySQL,
		"mongo:4.0":   workloadsv1.DatabaseMongo,
		"postgres:16": workloadsv1.DatabasePostgres,
		"registry.example.com:5000/team/postgresql@sha256:00": workloadsv1.DatabasePostgres,
		"bitnami/mongodb:7":                  workloadsv1.DatabaseMongo,
		"mysql.example.com:5000/team/data:1": "",
		"mysql/data":                         "",
		"oracle:23":                          "",
		"data:mysql":                         "",
		"data@sha256:mysql":                  "",
		"":                                   "",
	} {
		t.Run(image, func(t *testing.T) {
			a := &workloadsv1.WebApp{Spec: workloadsv1.WebAppSpec{DBImage: image}}
			NewWithT(t).Expect(a.Engine()).To(Equal(engine))
			a.Spec.DBType = workloadsv1.DatabaseMongo
			NewWithT(t).Expect(a.Engine()).To(Equal(workloadsv1.DatabaseMongo), "dbType wins")
		})
	}
}

func TestWhichWebAppsHaveTheMeter(t *testing.T) {
	own := &workloadsv1.TrafficSource{Port: 9090, Metric: "requests_total"}
	for sentence, c := range map[string]struct {
		spec workloadsv1.WebAppSpec
		is   bool
	}{
		"one that scales by its traffic":  {workloadsv1.WebAppSpec{AutoScaleEnabled: true}, true},
		"not one that counts by itself":   {workloadsv1.WebAppSpec{AutoScaleEnabled: true, TrafficSource: own}, false},
		"not one that does not scale":     {workloadsv1.WebAppSpec{}, false},
		"nor one that counts for nothing": {workloadsv1.WebAppSpec{TrafficSource: own}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect((&workloadsv1.WebApp{Spec: c.spec}).IsMetered()).To(Equal(c.is))
		})
	}
}

// An object may have been stored while the cluster had another schema.
func TestWhatAStoredWebAppMayBe(t *testing.T) {
	bad := workloadsv1.Quantities{corev1.ResourceMemory: "1e.5"}
	for sentence, c := range map[string]struct {
		change func(*workloadsv1.WebAppSpec)
		says   string
	}{
		"valid":                       {func(*workloadsv1.WebAppSpec) {}, ""},
		"a size":                      {func(s *workloadsv1.WebAppSpec) { s.DBSize = "1Gi" }, ""},
		"a size that cannot be read":  {func(s *workloadsv1.WebAppSpec) { s.DBSize = "big" }, "spec.dbSize: "},
		"a limit that cannot be read": {func(s *workloadsv1.WebAppSpec) { s.Pod.Resources.Limits = bad }, "spec.pod.resources.limits."},
		"a request that cannot":       {func(s *workloadsv1.WebAppSpec) { s.Pod.Resources.Requests = bad }, "spec.pod.resources.requests."},
	} {
		t.Run(sentence, func(t *testing.T) {
			var a workloadsv1.WebApp
			c.change(&a.Spec)
			if c.says == "" {
				NewWithT(t).Expect(a.Validate()).To(Succeed())
				return
			}
			NewWithT(t).Expect(a.Validate()).To(MatchError(HavePrefix(c.says)))
		})
	}
}
