package evidence

// CollectAt is Collect at another time than now.
var CollectAt = collect
