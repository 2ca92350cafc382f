package workload

// Printed says whether the metric comes from what the driver printed, and not
// from what tare measures itself.
func (m Metric) Printed() bool { return m.printed() }
