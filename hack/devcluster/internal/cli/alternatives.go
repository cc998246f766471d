package cli

// alternatives is said where no node can run. Everything but the node works there.
const alternatives = "Without it, use any cluster that you can reach (kind, minikube, a remote one):\n" +
	"  make demo KUBECONFIG=~/.kube/config\n" +
	"The tests of `make test` need no cluster; `devcluster assets` builds what they need."
