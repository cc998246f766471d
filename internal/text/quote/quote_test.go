package quote_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/text/quote"
)

// The kubelet says it in two ways by turns.
func TestWhyAnImageCannotBePulledIsSaidAlikeWhileItIsPulledAndWhileThatWaits(t *testing.T) {
	g := NewWithT(t)
	const failed = `failed to pull and unpack image "registry.example.com/db:1": failed to resolve reference "registry.example.com/db:1": unexpected status: 401 Unauthorized`
	pulls := quote.ImagePull(failed, "ErrImagePull")
	g.Expect(pulls).To(Equal("unexpected status: 401 Unauthorized"))
	g.Expect(quote.ImagePull(`Back-off pulling image "registry.example.com/db:1": ErrImagePull: `+failed, "ImagePullBackOff")).To(Equal(pulls))
	g.Expect(quote.ImagePull(`Back-off pulling image "registry.example.com/db:1"`, "see the Pod")).To(Equal("see the Pod"), "earlier ones do not repeat it")
}

func TestWhatProgramsSayIsRepeatedWithoutSecrets(t *testing.T) {
	for said, want := range map[string]string{
		"two\n lines.": "two lines",
		"pull https://me:hidden@registry.example.com/v2 denied":  "pull https://…@registry.example.com/v2 denied",
		"get https://registry.example.com/blob?signature=hidden": "get https://registry.example.com/blob?…",
		"password=hidden is wrong":                               "password=… is wrong",
	} {
		NewWithT(t).Expect(quote.Program(said)).To(Equal(want))
	}
}
