package read

// Only are the given keys of labels, annotations or data, so far as there are such: what
// a cache keeps of an object that others write.
func Only(all map[string]string, keys ...string) map[string]string {
	kept := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, found := all[key]; found {
			kept[key] = value
		}
	}
	return kept
}
