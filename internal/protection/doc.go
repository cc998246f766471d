// Package protection holds the rules of the domain, each in one home: whose an
// endpoint is, which CriticalService governs a Service, which PodTemplate is meant
// and allowed, and what a standby must answer. Controllers, webhook and plugin
// decide by the same functions, so that none of them says what another denies.
//
// It is pure: API objects in, facts out.
package protection
