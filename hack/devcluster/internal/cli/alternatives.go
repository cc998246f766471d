package cli

// alternatives is said where no node can run. Everything but the node works there.
const alternatives = "Or use any cluster that you can reach (kind, minikube, a remote one):\n" +
	"  KUBECONFIG=~/.kube/config make demo\n" +
	"`make test` needs neither: `devcluster assets` builds all that the tests need."
