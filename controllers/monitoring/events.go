package monitoring

// eventLeftAlone: an object of monitoring is kept by others.
const eventLeftAlone = "MonitoringLeftAlone"
