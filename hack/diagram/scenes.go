package main

// picture is a file, with its text for those who cannot see it. It shows a scene, or moments in their order.
type picture struct {
	file, title, description string
	scene                    *scene
	story                    []moment
}

const standbyAddress = "10.1.0.9:20000"

var pictures = []picture{{
	file:  "failover.svg",
	title: "A Service that loses all its Pods keeps answering",
	description: "Four moments. Armed: clients reach the Service, two Pods answer, and a standby waits. Covered: the Pods are gone, " +
		"and kube-proxy sends clients to the standby at once; ingress controllers and DNS, which use ready endpoints only, find none. " +
		"Promoted: the operator makes the standby ready, and they use it too. Armed again: a real Pod is ready and the standby waits again.",
	story: []moment{
		{state: armed, caption: "The Pods answer.\nA standby waits.", pods: podsAre(ready, ready), standby: "waits"},
		{state: covered, caption: "kube-proxy fails over\nby itself, at once.", pods: podsAre(gone, gone), standby: "answers"},
		{
			state: promotion, caption: "The operator makes it ready:\ningress and DNS use it, too.",
			pods: podsAre(gone, starting), standby: "ready", promoted: true,
		},
		{state: armed, caption: "A real Pod is ready.\nThe standby waits again.", pods: podsAre(ready, starting), standby: "waits"},
	},
}, {
	file:  "armed.svg",
	title: "Armed: the Pods answer and a standby waits",
	description: "Clients reach the two Pods through the EndpointSlice of Kubernetes. Those of the operator, one for each responder Pod, " +
		"list it as not ready, serving and terminating. They are not used.",
	scene: &scene{
		moment: moment{
			state: armed, caption: "The Pods answer. The standby is published, and is not used.",
			pods: shop(ready, ready), standby: "ready, and idle",
		},
		operator: "publishes, then watches",
		proxy:    step{number: "1"},
		write:    step{note: "written before the outage"},
	},
}, {
	file:  "outage.svg",
	title: "An outage: kube-proxy fails over by itself, then the operator promotes",
	description: "The EndpointSlice of Kubernetes has no ready endpoint. kube-proxy sends requests to the standby at once. The operator makes " +
		"the standby ready in one write per slice, and then ingress controllers and DNS use it too.",
	scene: &scene{
		moment: moment{
			state: covered, caption: "The last ready endpoint is gone. The standby answers.",
			pods: shop(notReady, gone), standby: "answer", promoted: true,
		},
		operator: "one write per slice: promote",
		proxy:    step{"1", "at once"},
		write:    step{number: "2"},
		ingress:  step{"3", "after promotion"},
	},
}, {
	file:  "recovery.svg",
	title: "Recovery: a real Pod is ready, and the standby is one again",
	description: "A new Pod is ready in the EndpointSlice of Kubernetes. While both are ready, both answer. The operator makes the standby " +
		"a standby again in one write per slice, and reads nothing first.",
	scene: &scene{
		moment: moment{
			state: armed, caption: "A real Pod is ready. The standby steps back.",
			pods: [2]pod{{"shop-3", "10.1.0.7:8080", ready}, {name: "shop-4", condition: starting}}, standby: "ready, and idle again",
		},
		wasPromoted: true,
		operator:    "one write per slice: demote",
		proxy:       step{number: "1"},
		write:       step{number: "2"},
	},
}, {
	file:  "operator-down.svg",
	title: "The operator is down, and an outage begins",
	description: "The operator is stopped. The EndpointSlice of Kubernetes has no ready endpoint. kube-proxy sends requests to the standby by " +
		"itself. Consumers that know ready endpoints only find nothing until the operator is back and promotes.",
	scene: &scene{
		moment: moment{
			state: outage, caption: "The operator is stopped. kube-proxy fails over all the same.",
			pods: shop(notReady, gone), standby: "answer",
		},
		operator: "stopped",
		stopped:  true,
		proxy:    step{"1", "at once"},
		ingress:  step{"2", "no one, until it is back"},
	},
}}

// podsAre are two Pods in their conditions.
func podsAre(first, second string) [2]pod {
	return [2]pod{{name: "Pod", condition: first}, {name: "Pod", condition: second}}
}

// shop are the two Pods of the Service `shop`.
func shop(first, second string) [2]pod {
	return [2]pod{{"shop-1", "10.1.0.5:8080", first}, {"shop-2", "10.1.0.6:8080", second}}
}
