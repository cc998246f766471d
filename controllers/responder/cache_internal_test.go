package responder

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// What is cut means what it meant: an error stays the same error.
func TestAMaintenanceInTheCacheSaysWhatItSaid(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for key, values := range map[string][]string{
		criticalv2.MaintenanceService:  {"web", long, ""},
		criticalv2.MaintenanceMessage:  {"We move house.", long, strings.Repeat(" ", 100_000) + "Soon.", strings.Repeat("é", criticalv2.MaxMaintenanceMessage)},
		criticalv2.MaintenanceUntil:    {"2030-01-31T18:30:00Z", strings.Repeat(" ", 1000) + "2030-01-31T18:30:00Z", long},
		criticalv2.MaintenanceAnnounce: {"false", long},
		criticalv2.MaintenanceWorkload: {"deployments.apps/web", "deployments.apps/" + strings.Repeat("w", 253), long},
		criticalv2.MaintenanceReplicas: {"3", long},
	} {
		for _, value := range values {
			g := NewWithT(t)
			config := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Name: "web-maintenance", ResourceVersion: "1",
					Labels:      map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance, "theirs": long},
					Annotations: map[string]string{"theirs": long},
				},
				Data:       map[string]string{"service": "web", "workload": "deployments.apps/web", "replicas": "1", "theirs": long},
				BinaryData: map[string][]byte{"theirs": []byte(long)},
			}
			config.Data[key] = value
			object, err := slimConfigMap(config)
			g.Expect(err).NotTo(HaveOccurred())
			slim, isConfigMap := object.(*corev1.ConfigMap)
			g.Expect(isConfigMap).To(BeTrue())
			g.Expect(slim.Size()).To(BeNumerically("<", 6000))

			want, wantErr := criticalv2.ParseMaintenance(config.Data)
			got, gotErr := criticalv2.ParseMaintenance(slim.Data)
			if wantErr != nil {
				g.Expect(gotErr).To(MatchError(wantErr.Error()), "%s: %.20q", key, value)
				continue
			}
			g.Expect(gotErr).NotTo(HaveOccurred(), "%s: %.20q", key, value)
			g.Expect(got).To(Equal(want))
		}
	}
}
