package environment

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAFindingIsReadUnderTheEarlierKeyOfItsFix(t *testing.T) {
	for _, text := range []string{
		`{"state":"missing","what":"a daemon","reason":"none answers","mend":"start it"}`,
		`{"state":"missing","what":"a daemon","reason":"none answers","fix":"start it"}`,
	} {
		var f Finding
		if err := json.Unmarshal([]byte(text), &f); err != nil || !reflect.DeepEqual(f, Finding{Missing, "a daemon", "none answers", Advice("start it")}) {
			t.Fatalf("%s: %+v, %v", text, f, err)
		}
		again, _ := json.Marshal(f)
		if string(again) != `{"state":"missing","what":"a daemon","reason":"none answers","fix":"start it"}` {
			t.Fatalf("written as %s", again)
		}
	}
}

func TestAFixIsWrittenInItsWords(t *testing.T) {
	for want, fix := range map[string]Fix{
		"apt-get install -y a b":                       Install("a", "b"),
		"modprobe tun":                                 Run("modprobe tun"),
		"run tare as root (sudo)":                      AsRoot(""),
		"sudo start it (without systemd: sudo run it)": {Code: FixStart, Command: "start it", Alternative: "run it"},
		"start mine (without systemd: run mine)":       {Code: FixStart, Command: "start mine", Alternative: "run mine", Own: true},
		"look at it":                                   Advice("look at it"),
	} {
		text, err := json.Marshal(Lacks("", fix))
		if string(text) != `{"state":"missing","fix":"`+want+`"}` || err != nil {
			t.Errorf("%s is written as %s, %v", want, text, err)
		}
	}
	if text, _ := json.Marshal(Works("")); string(text) != `{"state":"usable"}` {
		t.Errorf("no fix is written as %s", text)
	}
}
