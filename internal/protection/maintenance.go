package protection

// IndexServicesOfMaintenance is the cache's index of Maintenances by their Services, so that
// those of other Services cost nothing. Two kinds read by it.
const IndexServicesOfMaintenance = "services"
