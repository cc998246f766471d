// Package render makes what an AppConfig wants to exist. It is pure: what is wanted does not
// depend on what is there.
package render
