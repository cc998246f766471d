package protocol

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestEveryClientOfMySQLReadsTheWholeMessage reads the packet as clients do, each in its
// own way, when they get an error in place of the greeting.
func TestEveryClientOfMySQLReadsTheWholeMessage(t *testing.T) {
	const state = "#08S01"
	for sentence, c := range map[string]struct {
		read func(afterNumber string) string
		// before is what is shown besides the message.
		before string
	}{
		// data[3] == 0x23: so do MariaDB's connectors, mysqlnd and Connector/J.
		"go-sql-driver, PyMySQL since 1.1.1": {read: func(text string) string {
			if strings.HasPrefix(text, "#") {
				return text[len(state):]
			}
			return text
		}},
		// data[9:], whatever is in between: so do aiomysql and asyncmy.
		"PyMySQL before 1.1.1": {read: func(text string) string { return text[len(state):] }},
		// It looks for a state only if the server has announced CLIENT_PROTOCOL_41, as a
		// greeting does.
		"libmysqlclient": {read: func(text string) string { return text }, before: state},
	} {
		for _, message := range []string{testMessage, "#42 is closed", "?", defaultMessage} {
			t.Run(sentence, func(t *testing.T) {
				g := NewWithT(t)
				afterNumber, found := strings.CutPrefix(string(mySQLError(message))[4:], "\xff\x1d\x04")
				g.Expect(found).To(BeTrue())
				g.Expect(c.read(afterNumber)).To(Equal(c.before + message))
			})
		}
	}
}
