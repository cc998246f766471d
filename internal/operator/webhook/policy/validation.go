package policy

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

const (
	// Service is the Service by which the API server reaches the webhook.
	Service = "critical-service-webhook"
	// ValidationPath is where validation is served.
	ValidationPath = "/validate-mycrd-com-v2-criticalservice"
)

// Options are those of a webhook that converts and validates CriticalServices.
var Options = webhook.Options{
	Service: Service, Kind: Kind, Validation: webhook.Validation{Name: "validate.criticalservices.mycrd.com", Path: ValidationPath},
}

// The API server asks in the version in which an object is written, so that it
// converts nothing for the question. It does not wait for an operator that is
// not there: what is not valid and gets past matches nothing, and the status
// says so; a fallback that it already has is kept until the application is back.
// +kubebuilder:webhookconfiguration:mutating=false,name=critical-service-webhook
// +kubebuilder:webhook:path=/validate-mycrd-com-v2-criticalservice,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=mycrd.com,resources=criticalservices,verbs=create;update,versions=v1;v2,name=validate.criticalservices.mycrd.com,admissionReviewVersions=v1,serviceName=critical-service-webhook,serviceNamespace=critical-service-system,servicePort=443

// ServeValidation adds the validation of CriticalServices to the webhook server
// of a manager.
func ServeValidation(mgr ctrl.Manager, settings Settings) error {
	schema, err := crdschema.Load()
	if err != nil {
		return err
	}
	advice := newAdviser(mgr.GetCache(), synced(mgr.GetCache(), settings.NoPods == ""), settings)
	mgr.GetWebhookServer().Register(ValidationPath, hookOf(&validator{schema: schema, advise: advice.advise}))
	return nil
}

// hookOf makes a panic end the connection, which blocks no write. By default the
// panic would be answered, and reject the write.
func hookOf(handler admission.Handler) *admission.Webhook {
	return &admission.Webhook{Handler: handler, RecoverPanic: new(false)}
}

// validator rejects what the schema cannot, and warns of what is valid and will
// not do what users expect.
type validator struct {
	schema *crdschema.Schema
	advise func(context.Context, *criticalv2.CriticalService) []string
}

// Handle answers one review of the API server. An object that it cannot decode
// passes: the schema is then of another release, and knows better.
func (v *validator) Handle(ctx context.Context, request admission.Request) admission.Response {
	written, err := v.read(request.Kind.Version, request.Object.Raw)
	if err != nil {
		log.FromContext(ctx).Error(err, "decode CriticalService; accepting it without validation")
		return admission.Allowed("")
	}
	if request.Operation == admissionv1.Update {
		stored, err := v.read(request.Kind.Version, request.OldObject.Raw)
		// What is stored can always be labelled, finalized and deleted.
		if err != nil || written.object.DeletionTimestamp != nil || written.same(stored) {
			return admission.Allowed("")
		}
	}
	//nolint:contextcheck // A validation that a timeout cuts short would read as a rejection.
	if errs := v.validate(written); len(errs) > 0 {
		refusal := apierrors.NewInvalid(criticalv2.CriticalServiceKind.GroupKind(), written.object.Name, errs)
		return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &refusal.ErrStatus}}
	}
	return admission.Allowed("").WithWarnings(v.advise(ctx, &written.object)...)
}

// submission is a CriticalService as a user wrote it.
type submission struct {
	// object is what it means in v2.
	object criticalv2.CriticalService
	// annotation is what rides in it for v2, if it was written in v1.
	annotation string
}

func (v *validator) read(version string, data []byte) (*submission, error) {
	var s submission
	switch version {
	case criticalv2.GroupVersion.Version:
		return &s, json.Unmarshal(data, &s.object)
	case criticalv1.GroupVersion.Version:
		var old criticalv1.CriticalService
		if err := json.Unmarshal(data, &old); err != nil {
			return nil, err
		}
		s.annotation = old.Annotations[criticalv1.AnnotationV2Spec]
		return &s, criticalv1.ConvertToV2(&old, &s.object, v.schema.Valid)
	default:
		return nil, fmt.Errorf("version %q of CriticalService is not known to this release", version)
	}
}

func (s *submission) same(stored *submission) bool {
	return s.annotation == stored.annotation && equality.Semantic.DeepEqual(s.object.Spec, stored.object.Spec)
}

// validate validates what the schema cannot express, and what rides in an annotation
// by the schema as well: the API server has not seen that, and the conversion, which
// must not fail, ignores an invalid one.
func (v *validator) validate(s *submission) field.ErrorList {
	if s.annotation == "" {
		return s.object.Spec.ValidateBeyondSchema()
	}
	path := field.NewPath("metadata", "annotations").Key(criticalv1.AnnotationV2Spec)
	var spec criticalv2.CriticalServiceSpec
	if err := json.Unmarshal([]byte(s.annotation), &spec); err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "is not a spec of v2: "+err.Error())}
	}
	var errs field.ErrorList
	for _, found := range append(v.schema.Validate(&spec), s.object.Spec.ValidateBeyondSchema()...) {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "is not a valid spec of v2: "+found.Error()))
	}
	return errs
}
