package environment

import (
	"encoding/json"
	"testing"
)

func TestAFindingIsReadUnderTheEarlierKeyOfItsFix(t *testing.T) {
	for _, text := range []string{
		`{"state":"missing","what":"a daemon","reason":"none answers","mend":"start it"}`,
		`{"state":"missing","what":"a daemon","reason":"none answers","fix":"start it"}`,
	} {
		var f Finding
		if err := json.Unmarshal([]byte(text), &f); err != nil || f != (Finding{Missing, "a daemon", "none answers", "start it"}) {
			t.Fatalf("%s: %+v, %v", text, f, err)
		}
		again, _ := json.Marshal(f)
		if string(again) != `{"state":"missing","what":"a daemon","reason":"none answers","fix":"start it"}` {
			t.Fatalf("written as %s", again)
		}
	}
}
