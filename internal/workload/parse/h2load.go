package parse

import "strconv"

var h2loadThread = expression(`^spawning thread #\d+: (\d+) total client\(s\)\.`)

// h2loadSettings adds up the clients of the threads.
func h2loadSettings(stdout []byte, _ map[string]string) map[string]string {
	threads, clients := 0, 0
	for _, line := range lines(stdout) {
		if m := h2loadThread.find(line); m != nil {
			n, _ := strconv.Atoi(m[0])
			threads, clients = threads+1, clients+n
		}
	}
	if threads == 0 {
		return nil
	}
	return map[string]string{"threads": strconv.Itoa(threads), "clients": strconv.Itoa(clients)}
}

// h2loadRates counts the failed requests, among which are those that timed out or lost
// their connection. A client that lost it begins no more requests, which h2load calls failed
// too, unless none was begun. It takes rates from counted requests, if there are any. h2load's own
// rate is of all that were done.
//
// Where the server closes the connection after an answer, as HTTP/1.1 without keep-alive
// does, h2load's total has the bytes of the last connections alone, and its rate with it,
// while headers and data are those of all.
func h2loadRates(r *reading, p *report) {
	f := r.fields
	failed := f["_failed"]
	if f["_started"] > 0 {
		failed = min(failed, f["_started"]-f["requests"])
	}
	r.failed(failed, f["requests"]+failed)
	f["seconds"] /= 1e6
	if all := f["_headers"] + f["_data"]; f["bytes"] < f["_data"] {
		f["bytes"], f["bytes_per_second"] = all, all/f["seconds"]
	}
	if f["_done"] > 0 {
		f["requests_per_second"] *= f["requests"] / f["_done"]
	}
	if p.checkCounted(r); len(r.logged) > 0 && f["requests"] > 0 {
		f["seconds"] = f["_us"] / 1e6
		f["requests_per_second"], f["bytes_per_second"] = f["requests"]/f["seconds"], f["bytes"]/f["seconds"]
	}
}
