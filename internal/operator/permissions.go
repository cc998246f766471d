package operator

// What the manager does for the core needs these permissions. They name the core's own
// objects, and so stand here: the manager serves other operators as well.

// The Lease, and the events of who holds it.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-system,resources=leases,resourceNames=critical-service-operator,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=events,verbs=create;patch

// A client that scrapes metrics sends a token, and the API server says whose it is and
// whether that user may.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// The authority of self-made certificates. The name of what is to be created is not known
// to the authorization of a create. Who brings certificates leaves this role out, and the next.
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=secrets,verbs=create,roleName=critical-service-operator-certificates
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=secrets,resourceNames=critical-service-webhook-ca,verbs=get;list;watch;update,roleName=critical-service-operator-certificates

// Where the API server finds the webhook, and which authority it trusts.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=criticalservices.mycrd.com,verbs=patch,roleName=critical-service-operator-certificates
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=critical-service-webhook,verbs=get;list;watch;patch,roleName=critical-service-operator-certificates

// Objects that are stored in an earlier version are rewritten through their status, which
// rewrites all of them: so the operator needs no permission to change a spec. Their definition says which there are.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=criticalservices.mycrd.com,verbs=get;list;watch
// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices,verbs=list
// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=criticalservices.mycrd.com,verbs=patch

// The PodTemplate of the settings is here, unless they name another namespace.
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=podtemplates,verbs=get;list;watch
