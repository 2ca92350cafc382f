package term

import (
	"bytes"
	"testing"
)

func TestDataThatIsNoTextGoesPastTheWriter(t *testing.T) {
	var out bytes.Buffer
	data := "\x28\xb5\x2f\xfd\x00\x1b[31m\xff"
	if _, err := Binary(NewWriter(&out)).Write([]byte(data)); err != nil || out.String() != data {
		t.Errorf("%q, %v", out.String(), err)
	}
}
