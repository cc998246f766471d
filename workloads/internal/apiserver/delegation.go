package apiserver

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// configuration is the ConfigMap of kube-system in which kube-apiserver says by which
	// certificates and headers it presents a user.
	configuration = "extension-apiserver-authentication"

	// remembered is how long the answer about a token or a right is kept: a right that is taken away
	// is gone after that.
	remembered = 10 * time.Second
	// answerTimeout is how long kube-apiserver may take to say whose a token is.
	answerTimeout = 10 * time.Second
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// runner is what follows a part of the configuration.
type runner interface {
	RunOnce(ctx context.Context) error
	Run(ctx context.Context, workers int)
}

// authenticate makes what knows users: by the headers of kube-apiserver, which shows a certificate
// of its front-proxy authority; by a certificate of the cluster; by a token. Where there is none of
// them the user is not known, which is refused: nothing here is for anonymous users.
//
// The library has this behind options that read a kubeconfig file, which a manager does not have.
func authenticate(ctx context.Context, clients kubernetes.Interface) (*genericapiserver.AuthenticationInfo, error) {
	users, err := authority("client-ca", "client-ca-file", clients)
	if err != nil {
		return nil, err
	}
	proxies, err := authority("front-proxy-ca", "requestheader-client-ca-file", clients)
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(configuration, metav1.NamespaceSystem, clients,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names")
	for _, part := range []runner{users, proxies, headers} {
		if err := part.RunOnce(ctx); err != nil {
			return nil, fmt.Errorf("read the ConfigMap %s of %s: %w", configuration, metav1.NamespaceSystem, err)
		}
		go part.Run(ctx, 1)
	}
	requestHeaders := &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   proxies,
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
	}
	known, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:            clients.AuthenticationV1(),
		TokenAccessReviewTimeout:           answerTimeout,
		WebhookRetryBackoff:                genericoptions.DefaultAuthWebhookRetryBackoff(),
		CacheTTL:                           remembered,
		ClientCertificateCAContentProvider: users,
		RequestHeaderConfig:                requestHeaders,
	}.New()
	return &genericapiserver.AuthenticationInfo{Authenticator: known, RequestHeaderConfig: requestHeaders}, err
}

func authority(name, key string, clients kubernetes.Interface) (*dynamiccertificates.ConfigMapCAController, error) {
	found, err := dynamiccertificates.NewDynamicCAFromConfigMapController(name, metav1.NamespaceSystem, configuration, key, clients)
	if err != nil {
		return nil, fmt.Errorf("follow %s of the ConfigMap %s: %w", key, configuration, err)
	}
	return found, nil
}

// Authorizer makes what asks kube-apiserver whether a user may: the rules are those of the cluster.
func Authorizer(config *rest.Config) (authorizer.Authorizer, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: clients.AuthorizationV1(),
		AllowCacheTTL:             remembered,
		DenyCacheTTL:              remembered,
		WebhookRetryBackoff:       genericoptions.DefaultAuthWebhookRetryBackoff(),
	}.New()
}
