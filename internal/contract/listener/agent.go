package listener

// SelfTestAgent identifies the operator's self-test to the responder: it begins the
// user agent of HTTP and gRPC, and is the user of PostgreSQL and the argument of
// Redis' PING. The responder answers the self-test as it answers any client, and
// counts it apart.
const SelfTestAgent = "critical-service-self-test"
