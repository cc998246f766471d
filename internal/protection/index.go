package protection

// IndexServiceOfSlice is the cache's index of EndpointSlices by their Service, so that one
// Service is looked up without a walk over its whole namespace.
const IndexServiceOfSlice = "service"

// IndexServicesOfMaintenance is the cache's index of Maintenances by their Services, so that
// those of other Services cost nothing. Two kinds read by it.
const IndexServicesOfMaintenance = "services"
