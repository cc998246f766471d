// Package alerts holds the alerts of config/prometheus to when they fire and when
// they stay silent, by the unit tests of promtool in testdata: a file for each
// alert. Whether real metrics feed them is for test/observability to say.
package alerts
