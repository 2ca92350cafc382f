package parse

var (
	bootOther = expression(`^([0-9a-f]{64}|Domain \S+ (started|destroyed|is being shutdown))?$`)
	bootEnd   = expression(`^sys\t\d+m\d+\.\d+s$`)
)

// splitBootTimes splits after each sys, the last of the three. The output of
// virsh about the domain's end precedes the next start, or is at the end.
func splitBootTimes(file []byte) ([][]byte, error) {
	last := 0
	for at, line := range eachLine(file) {
		if !bootOther.match(line) {
			last = at.end
		}
	}
	return splitAfter(file[:last], bootEnd.match)
}
