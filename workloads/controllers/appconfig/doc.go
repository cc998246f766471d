// Package appconfig keeps the settings of AppConfigs in ConfigMaps, and lets the workloads
// that use them take the newest.
//
// # Terms
//
// An AppConfig (api/v2) holds the settings of an application. A revision is the immutable
// ConfigMap with its settings at one time; its name is that of the AppConfig with a hash of
// them, so that the same settings have the same name again. The page is a ConfigMap of the
// name of the AppConfig itself, whose data follows it: a ServiceFallback can name it. It is
// there while the AppConfig has the label mycrd.com/responder: content.
//
// A Deployment or a StatefulSet uses an AppConfig if its owner gave it the label
// mycrd.com/appconfig. Its default container then takes the variables of the newest revision.
//
// # Who wakes whom
//
//	AppConfig ────────────────┐                      ConfigMap (revision, page)
//	ConfigMaps that it owns ──┼──▶ appconfig ──────▶ workload (envFrom of one container)
//	workloads that use it ────┘    controller        AppConfig (status), events on it
//	                               key: the AppConfig
//
// The four verbs are those of every kind:
//
//	observe   read everything that matters into a Snapshot
//	decide    turn the Snapshot into a Plan (pure, internal/decide)
//	apply     write what the Plan says: ConfigMaps, then workloads, then deletions
//	report    events, logs
//
// # What is kept in memory
//
// Neither settings nor the data of ConfigMaps: anyone with a namespace can write as much of
// both as it holds. The caches keep their hashes. An AppConfig is read from the API server
// when a ConfigMap is to be written.
//
// # What is in use
//
// The three newest revisions stay. Whether something in the namespace still names one beyond
// them is read from the API server, page by page, when there is one and no workload rolls out:
// Pods, Deployments, StatefulSets and ServiceFallbacks. It is found by its name in their spec,
// which has a hash and so stands nowhere by accident.
//
// An AppConfig that is deleted has no operator to search for it. So a revision belongs to the
// workloads that take it, too, and Kubernetes deletes it after the last of its owners.
package appconfig
