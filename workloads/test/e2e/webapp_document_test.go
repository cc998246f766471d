//go:build e2e

package e2e

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// documentImage is the application's image in docs/webapp.md, for which the tests take theirs.
const documentImage = "registry.example.com/shop:1"

// TestTheDocumentOfWebApps types the exercise "Opérateur de Gestion d'Applications Web Scalables", in its order, as
// docs/webapp.md has it.
func TestTheDocumentOfWebApps(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	w.volumeFor("shop-db-data")
	types := func(words string) string { return w.follow(webAppPage, words, "") }

	// "Spécifications de la CRD, incluant les validations"
	said, err := w.tryToFollow(webAppPage, "name: refused", "")
	w.Expect(err).To(HaveOccurred())
	w.Expect(said).To(ContainSubstring("trafficThreshold is required while autoScaleEnabled is true"))

	// "Déployer l'application et la base de données en utilisant les images spécifiées"
	w.Expect(types("trafficThreshold: 100")).To(Equal("webapp.mycrd.com/shop created\n"))
	app := &webApp{w, &workloadsv1.WebApp{ObjectMeta: w.named("shop")}}
	w.refresh(app.object)
	w.Expect(types("kubectl get deployment,service,database,pvc")).To(And(
		MatchRegexp(`(?m)^deployment.apps/shop +\d/2 `),
		MatchRegexp(`(?m)^service/shop +ClusterIP +\S+ +<none> +80/TCP `),
		MatchRegexp(`(?m)^service/shop-db +`),
		MatchRegexp(`(?m)^database.mycrd.com/shop-db +mysql +True `),
		MatchRegexp(`(?m)^persistentvolumeclaim/shop-db-data +Bound `),
	))
	app.answers("/", 200, "It works.")
	app.answers("/db", 200, "The database is ")

	// "Activer la mise à l'échelle automatique"
	w.Expect(types("kubectl get webapps")).To(And(
		MatchRegexp(`(?m)^NAME +READY +REPLICAS +RPS +DATABASE +AGE *\n`),
		MatchRegexp(`(?m)^shop +True +2 +\S+ +True +`),
	))

	// "Vérifiez que l'opérateur réagit correctement aux changements de la CRD"
	w.Expect(types("kubectl rollout status deployment shop")).To(ContainSubstring("webapp.mycrd.com/shop patched"))
	app.becomes(3)
	app.runs()
	d, pods := app.database(), app.ready()
	d.write("first")
	old := d.pod()
	types("kubectl delete pod shop-db")
	d.replaced(old)
	d.holds("first")
	w.Expect(app.ready()).To(Equal(pods))

	w.Expect(types("kubectl get pvc")).To(MatchRegexp(`(?m)^shop-db-data +Bound `))
	w.gone(&appsv1.Deployment{ObjectMeta: w.named("shop")})
	w.Expect(strings.TrimSpace(w.kubectl("get", "webapps"))).To(HavePrefix("No resources found"))
}
