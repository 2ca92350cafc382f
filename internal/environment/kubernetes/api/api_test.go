package api

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var refused = &url.Error{Op: "Get", URL: "https://simulated", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}

func TestAServerThatIsAwayIsAskedAgain(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota: few, requested: cpu=2"))
	for _, c := range []struct {
		answers []error
		times   int
		want    string
	}{
		{[]error{refused, apierrors.NewServiceUnavailable("starting"), apierrors.NewTooManyRequests("later", 1), nil}, 4, ""},
		{[]error{forbidden}, 1, "exceeded quota"},
		// A server that has just begun does not know its users' Roles yet.
		{[]error{refused, forbidden, apierrors.NewUnauthorized("who?"), nil}, 4, ""},
	} {
		times := 0
		_, err := Retry(t.Context(), func(context.Context) (int, error) {
			times++
			return 0, c.answers[times-1]
		})
		if times != c.times || c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d requests: %v", times, err)
		}
	}
}

func TestAnErrorSaysThatTheServerIsAwayAndNotOnlyThatTimeHasPassed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Retry(ctx, func(context.Context) (int, error) {
		cancel()
		return 0, refused
	})
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, refused) {
		t.Error(err)
	}
	again := false
	ctx, cancel = context.WithCancel(t.Context())
	_, err = Retry(ctx, func(ctx context.Context) (int, error) {
		if again {
			cancel()
			return 0, ctx.Err()
		}
		again = true
		return 0, refused
	})
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the API server does not answer: ") {
		t.Error(err)
	}
}

func TestNamesOfObjectsAreValidAndDiffer(t *testing.T) {
	long := "tare-abcdefghijkl-" + strings.Repeat("very-long-", 10)
	seen := map[string]string{}
	for _, name := range []string{"tare-abcdefghijkl-vm", "tare-abcdefghijkl-VM", "tare-abcdefghijkl-vm-", long, long + "x"} {
		n := Name(name, 63)
		if other, twice := seen[n]; twice {
			t.Errorf("%s and %s are both %s", name, other, n)
		}
		if seen[n] = name; len(n) > 63 || n != strings.ToLower(n) || strings.HasSuffix(n, "-") {
			t.Errorf("%s becomes %s", name, n)
		}
	}
}
