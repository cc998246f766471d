// Package database runs Databases: a Pod and a Service of the name of each.
//
// # Terms
//
// A Database (api/v1) names an engine. What there is to know of one is a row of a table
// (internal/engine). Its claim holds the data, and its Secret the administrator's password.
// A trial is a Pod in which the next Pod is tried out, without data, while another runs.
//
// # Who wakes whom
//
//	Database ─────────────────┐                         ServiceFallback ──▶ the core
//	Pods, Service, claim ─────┼──▶ database ──────────▶ Service, Secret, claim, Pods
//	ServiceFallback ──────────┤    controller           Database (status)
//	the clock (what is not ───┘    key: the Database    event on the Database
//	 watched: Secrets, quotas)
//
// The four verbs are those of every kind:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says
//	report    status, events, logs
//
// # What is never done
//
// Claims are not deleted: the operator has no permission to. Secrets are read by name, and
// never listed or changed. A Pod with a volume is not forced. A Pod whose engine has come up is
// not replaced by one that was not tried out. What has the name of an object of a Database, and
// is not the Database's, is left alone.
//
// # State
//
// There is none but the objects: annotations of the Pod say what it was made from and whether
// its engine has come up, and those of the claim which engine and image have its data. A
// password is generated only while there is neither a claim nor a Pod, which would have another one.
package database
