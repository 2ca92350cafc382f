package metrics

// Families are all families with the run label.
func Families() []*Family { return families }
