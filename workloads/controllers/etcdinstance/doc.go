// Package etcdinstance runs ETCDInstances: a cluster of etcd each, of one to nine members.
//
// # Terms
//
// A member is one etcd, in a Pod of the StatefulSet; its volume has its data, in a folder of its
// own. A learner gets the data, and does not vote yet. An entry is what is noted of a member: what
// it may start from. Entries are an annotation of the ConfigMap, and of the StatefulSet as well.
//
// # Who wakes whom
//
//	ETCDInstance ─────────────────┐                  ServiceFallback ──▶ the core
//	Pods, claims, Services, ──────┼──▶ etcdinstance ──▶ Services, Secrets, ConfigMap, budget, StatefulSet
//	 ConfigMap, StatefulSet,      │    controller       etcd: members, leadership
//	 budget, ServiceFallback      │    key: the         ETCDInstance (status)
//	the clock (etcd, Secrets) ────┘    ETCDInstance     event on the ETCDInstance
//
// The four verbs are those of every kind: observe, decide (pure, internal/decide), apply, report.
// To observe includes asking the members themselves (internal/live), for at most five seconds.
//
// # What is never done
//
// Claims are not deleted: the operator has no permission to. Without a quorum, and while etcd has
// an alarm, no member is added or removed, and no Pod taken away. A member that has come up once
// never starts without its data: its file then names a cluster that it is not in, which etcd reads
// only where there is no data. It would vote again on what it has forgotten.
//
// # State
//
// There is none but the objects and etcd's own list of members. One step is taken at a time, and
// each follows from what is there: the operator may end after any of them.
package etcdinstance
