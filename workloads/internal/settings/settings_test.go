package settings_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/critical-service/operator/workloads/internal/settings"
)

func read(environment map[string]string, arguments ...string) (*settings.Settings, error) {
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	finish := settings.Bind(flags, func(name string) (string, bool) {
		value, found := environment[name]
		return value, found
	})
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	return finish()
}

func TestDefaults(t *testing.T) {
	g := NewWithT(t)
	s, err := read(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.OperatorNamespace).To(Equal("critical-service-workloads-system"))
	g.Expect(s.DatabaseImageMongo).To(Equal("mongo:4.0"))
	g.Expect(s.DatabaseImageMySQL).To(Equal("mysql:8.0"))
	g.Expect(s.DatabaseImagePostgres).To(Equal("postgres:16"))
	g.Expect(s.LeaderElect).To(BeTrue(), "the settings of every manager are there as well")
}

func TestImagesAreTakenFromFlagsAndVariables(t *testing.T) {
	g := NewWithT(t)
	s, err := read(map[string]string{"DATABASE_IMAGE_MONGO": "registry.example.com/mongo:7", "DATABASE_IMAGE_MYSQL": "mariadb:11"},
		"--database-image-mysql=mysql:9")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.DatabaseImageMongo).To(Equal("registry.example.com/mongo:7"))
	g.Expect(s.DatabaseImageMySQL).To(Equal("mysql:9"), "a flag wins over a variable")
}

func TestAnImageThatIsNotValidStopsTheStart(t *testing.T) {
	for name, variable := range map[string]string{"mongo": "DATABASE_IMAGE_MONGO", "mysql": "DATABASE_IMAGE_MYSQL", "postgres": "DATABASE_IMAGE_POSTGRES"} {
		t.Run(name, func(t *testing.T) {
			_, err := read(map[string]string{variable: "Not An Image"})
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(variable+`="Not An Image"`), ContainSubstring("the reference of an image"))))
		})
	}
}
