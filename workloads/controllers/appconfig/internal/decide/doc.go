// Package decide decides which ConfigMaps an AppConfig has, and which workloads take the
// newest. It is pure: it reads only the Snapshot it is given, and changes nothing.
package decide
