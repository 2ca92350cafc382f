package model_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/report/model"
)

func TestFiguresAreScaledToBeRead(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{12345, "1/s", "12.3k/s"}, {12345, "requests/s", "12.3k requests/s"}, {.0012, "s", "1.20 ms"},
		{1.2e-6, "s/op", "1.20 µs/op"}, {310, "us", "310 µs"}, {1500, "ms", "1.50 s"}, {0, "ms", "0 s"},
		{12 << 20, "B", "12.0 MiB"}, {9400, "MiB/s", "9.18 GiB/s"}, {0, "B", "0 B"}, {999.7, "1/s", "1.00k/s"},
		{7.3e6, "1/s", "7.30M/s"}, {42, "", "42.0"}, {12.5, "%", "12.5%"}, {math.NaN(), "s", "n/a"}, {math.Inf(1), "s", "n/a"},
		{2.67e-7, "EUR/kop", "0.267 EUR per billion"}, {9.99e-8, "EUR/kop", "99.9 EUR per trillion"}, {.0042, "EUR/kop", "4.20 EUR per million"}, {1.5, "€/kop", "1.50 € per thousand"},
		{12345, "USD/kop", "12345 USD per thousand"}, {0, "EUR/kop", "0 EUR per thousand"}, {3.2e-5, "s/kop", "32.0 µs/kop"},
		{90, "s", "90.0 s"}, {3e-12, "s", "0.00300 ns"}, {2e15, "1/s", "2000T/s"},
	} {
		if got := model.Figure(c.v, c.unit); got != c.want {
			t.Errorf("figure(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestARoundedFigureStaysCloseToItsValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Exp(rapid.Float64Range(-15, 25).Draw(t, "log"))
		unit := rapid.SampledFrom([]string{"s", "1/s", "B", "MiB/s", "requests/s", ""}).Draw(t, "unit")
		s := model.ScaleFor(v, unit)
		back, err := strconv.ParseFloat(strings.TrimSuffix(model.Figure(v, unit), s.Suffix), 64)
		if err != nil || math.Abs(back/s.Factor-v) > .006*v {
			t.Fatalf("%v %s is shown as %q", v, unit, model.Figure(v, unit))
		}
	})
}

func TestAFigureIsReadAsAPersonWritesIt(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64
	}{
		{"5ms", "ms", 5}, {"5 ms", "us", 5000}, {"1.5s", "ms", 1500}, {"250us", "ms", .25}, {"250 µs", "ms", .25},
		{"110k/s", "op/s", 110e3}, {"110k", "op/s", 110e3}, {"110000", "op/s", 110e3}, {"110 kop/s", "op/s", 110e3}, {"1e5", "1/s", 1e5},
		{"8MiB", "B", 8 << 20}, {"1 GB/s", "B/s", 1e9}, {"10Gbit/s", "bit/s", 1e10}, {"15ms", "s/kop", .015}, {"15 ms/kop", "s/kop", .015},
		{"12%", "%", 12}, {"0.2EUR/kop", "EUR/kop", .2}, {"3", "", 3},
	} {
		got, err := model.ParseFigure(c.text, c.unit)
		if err != nil || math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%q is %v %s, not %v (%v)", c.text, got, c.unit, c.want, err)
		}
	}
	for _, c := range [][2]string{{"5", "ms"}, {"5MiB", "ms"}, {"5 op/s", "ms"}, {"10M/s", "bit/s"}, {"", "s"}, {"-5ms", "ms"}, {"ms", "ms"}, {"nan", "op/s"}, {"12", "%"}} {
		if v, err := model.ParseFigure(c[0], c[1]); err == nil {
			t.Errorf("%q is read as %v %s", c[0], v, c[1])
		}
	}
}

func TestAFigureIsReadAsItIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Exp(rapid.Float64Range(-15, 25).Draw(t, "log"))
		unit := rapid.SampledFrom([]string{"s", "us", "1/s", "op/s", "B", "MiB/s", "bit/s", "requests/s", "s/kop", ""}).Draw(t, "unit")
		back, err := model.ParseFigure(model.Figure(v, unit), unit)
		if err != nil || math.Abs(back-v) > .006*v {
			t.Fatalf("%v %s is read from %q as %v, %v", v, unit, model.Figure(v, unit), back, err)
		}
	})
}
