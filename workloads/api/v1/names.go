package v1

// Names that the operator reads or writes on objects of other kinds.
//
// They are not below mycrd.com/, which the core reserves for its fallbacks: it does not
// protect a Service whose selector has a label from there.
const (
	// Prefix begins the keys of this operator's labels and annotations.
	Prefix = "workloads.mycrd.com/"

	// LabelDatabase names, on all objects of a Database but a trial, the Database. Its
	// Service selects by it.
	LabelDatabase = Prefix + "database"
	// LabelWebApp names, on all objects of a WebApp but its Database, the WebApp. Its Service selects
	// by it.
	LabelWebApp = Prefix + "webapp"
	// LabelTrial names, on the trial of a Database's next Pod, the Database. It has not
	// LabelDatabase, since no client must reach it.
	LabelTrial = Prefix + "trial"
	// LabelApp is on the Pod and the Service of every Database, with the value AppDatabase.
	LabelApp = "app"
	// AppDatabase is the value of LabelApp.
	AppDatabase = "db"

	// LabelManagedBy is on every object that the operator makes, with the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the operator's name.
	ManagedBy = "critical-service-workloads"

	// AnnotationFallback names, on an Ingress, the Services that are on their fallback, while they are. It
	// says what the core does, so that it has the core's prefix.
	AnnotationFallback = "mycrd.com/fallback"

	// AnnotationApplied holds a hash of what was applied, by which a field that has to go is
	// noticed.
	AnnotationApplied = Prefix + "applied-hash"
	// AnnotationSpec holds, on a Pod, a hash of what the spec said when it was made. It is
	// of the spec alone, so that another version of the operator replaces no Pod.
	AnnotationSpec = Prefix + "spec-hash"
	// AnnotationEngine holds, on a claim, the engine whose data it has, and on a Secret the
	// one for which it was generated.
	AnnotationEngine = Prefix + "engine"
	// AnnotationImage holds, on a Pod, the image that the operator made it with: an admission
	// webhook may have put another in its place. On a claim it is that of the last Pod whose
	// engine came up with its data.
	AnnotationImage = Prefix + "image"
	// AnnotationDefaultImage is on a Pod whose Database named no image when it was made.
	AnnotationDefaultImage = Prefix + "default-image"
	// AnnotationCameUp is on a Pod whose engine has come up once.
	AnnotationCameUp = Prefix + "came-up"
)
