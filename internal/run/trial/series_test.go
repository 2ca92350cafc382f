package trial

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
	"tare/internal/workload"
)

// users is a result file of JMeter with one more user each second.
func users(seconds int) string {
	var out strings.Builder
	out.WriteString("timeStamp,elapsed,label,responseCode,success,bytes,grpThreads,allThreads,Latency,IdleTime,Connect\n")
	for second := range seconds {
		fmt.Fprintf(&out, "%d,%d,page,200,true,100,%d,%d,1,0,1\n", 1700000000000+1000*second, 10*(second+1), second+1, second+1)
	}
	return out.String()
}

func TestEachSampleHasTheCourseThatItsDriverPrinted(t *testing.T) {
	pack := webPack()
	pack.Parser = workload.Parser{Name: "jmeter"}
	pack.Metrics = []workload.Metric{{Name: "requests", Unit: "op", Better: "higher", Primary: true}}
	r, _, a := newRunner(t, pack, study.Level{})
	lasts := 3
	a.Script = func(_, command string) fakeenv.Result {
		if command == "drive" {
			return fakeenv.Result{Stdout: users(lasts), After: time.Second}
		}
		return fakeenv.Result{}
	}
	trials, err := r.Run(t.Context(), alternating(2, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range trials {
		courses := one.Courses("users")
		if len(courses) != 2 || len(one.Series) != 0 || one.Status != rundir.OK {
			t.Fatalf("%s %s: courses %v, series %v", one.Status, one.Reason, courses, one.Series)
		}
		for _, course := range courses {
			if want := fmt.Sprint([]rundir.Point{{Second: 0, Value: 1}, {Second: 1, Value: 2}, {Second: 2, Value: 3}}); fmt.Sprint(course) != want {
				t.Errorf("users of a sample are %v, want %s", course, want)
			}
		}
	}
	lasts = 1
	if trials, err = r.Run(t.Context(), alternating(2, "a", "b")); err != nil || trials[0].Rounds[0].Series != nil {
		t.Errorf("one value is a course: %+v, %v", trials[0].Rounds, err)
	}
	if one, err := single(t.Context(), r, slot("a", "", "block")); err != nil || len(one.Courses("users")) != 1 || len(one.Series["users"]) != 1 {
		t.Errorf("a trial of one sample has %v, %v", one.Series, err)
	}
}
