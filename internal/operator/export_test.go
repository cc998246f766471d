package operator

// Names for tests.
const (
	MostAnswers   = mostAnswers
	ReviewsAtOnce = reviewsAtOnce
)

// Names for tests.
var (
	ResponderImage = responderImage
	Reviewed       = reviewed
)
