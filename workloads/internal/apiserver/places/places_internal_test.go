package places

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestHowManySnapshotsAreUnderWayAtOnce(t *testing.T) {
	for sentence, test := range map[string]struct {
		taken []types.NamespacedName
		says  string
	}{
		"one is free":               {nil, ""},
		"two of an instance":        {[]types.NamespacedName{named("shop", "a"), named("shop", "a")}, "2 snapshots of this ETCDInstance shop/a"},
		"four of a namespace":       {[]types.NamespacedName{named("shop", "b"), named("shop", "b"), named("shop", "c"), named("shop", "c")}, "4 snapshots of this namespace shop"},
		"not those of another team": {[]types.NamespacedName{named("x", "b"), named("x", "b"), named("x", "c"), named("x", "c")}, ""},
		"eight of the server": {[]types.NamespacedName{
			named("x", "b"), named("x", "b"), named("x", "c"), named("x", "c"), named("y", "b"), named("y", "b"), named("y", "c"), named("y", "c"),
		}, "8 snapshots of this server"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			free := New(Snapshots)
			var leave []func()
			for _, name := range test.taken {
				one, err := free.Take(name)
				g.Expect(err).NotTo(HaveOccurred())
				leave = append(leave, one)
			}
			_, err := free.Take(named("shop", "a"))
			if test.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			seconds, retry := apierrors.SuggestsClientDelay(err)
			g.Expect(retry).To(BeTrue())
			g.Expect(seconds).To(Equal(RetryAfter))

			for _, one := range leave {
				one()
			}
			g.Expect(free.taken).To(BeZero())
			g.Expect(free.namespace).To(BeEmpty(), "nothing is remembered of those that are over")
			g.Expect(free.instance).To(BeEmpty())
		})
	}
}
