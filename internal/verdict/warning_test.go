package verdict

import (
	"encoding/json"
	"testing"
)

func TestAWarningIsReadInTheWordsThatWereWritten(t *testing.T) {
	for _, c := range []struct {
		warning Warning
		want    string
	}{
		{Warning{Code: FewBlocks, Number: 1}, `{"code":"few-blocks","text":"1 block: too few for an interval, so only median and range are given"}`},
		{Warning{Code: OneInstance, Imported: true}, `{"code":"one-instance","text":"one instance produced all results: the variation between instances was not measured"}`},
		{Warning{Code: NotPositive}, `{"code":"not-positive","text":"only positive values have ratios"}`},
		{Warning{Code: Zero, Reason: Reason{Code: Zero}}, `{"code":"zero","text":"0 on both sides: there is no ratio"}`},
		{Warning{Code: Confound, Other: "native", Confounds: []string{"log path", "overlay"}}, `{"code":"confound","text":"something besides the layer differs from native: log path, overlay"}`},
	} {
		text, err := json.Marshal(c.warning)
		if err != nil || string(text) != c.want {
			t.Errorf("%s, %v", text, err)
		}
		var read Warning
		if err := json.Unmarshal(text, &read); err != nil || read.Code != c.warning.Code || read.String() != c.warning.String() {
			t.Errorf("%+v, %v", read, err)
		}
	}
}
