package parse

var (
	bootOther = expression(`^([0-9a-f]{64}|Domain \S+ (started|destroyed|is being shutdown))?$`)
	bootEnd   = expression(`^sys\t\d+m\d+\.\d+s$`)
)

// splitBootTimes splits after each sys, the last of the three. The output of
// virsh about the domain's end precedes the next start, or is at the end.
func splitBootTimes(file []byte) ([][]byte, error) {
	last := 0
	for at := 0; at < len(file); {
		end, line := nextLine(file, at)
		if !bootOther.match(line) {
			last = end
		}
		at = end
	}
	return splitAfter(file[:last], bootEnd.match)
}
