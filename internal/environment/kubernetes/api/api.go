// Package api is what requests to an API server of Kubernetes have in common, for pods
// and for VMs: requests that are retried while it is unavailable, and names of objects.
//
// It must not know the objects, images, or what is run in them.
package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// RetryTimeout is how long a request to an API server that does not answer is repeated.
const RetryTimeout = 90 * time.Second

// Limits of one attempt, and of the pauses between attempts.
const attempt, shortest, longest = 20 * time.Second, 100 * time.Millisecond, 2 * time.Second

// ErrUnavailable is in the error of a request to an API server that does not answer.
var ErrUnavailable = errors.New("the API server does not answer")

// Retry repeats a request, which may be made twice, while the API server is unavailable,
// until the context or RetryTimeout ends.
func Retry[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	var refused error
	var last time.Time // that it was unavailable
	for began, pause := time.Now(), shortest; ; pause = min(2*pause, longest) {
		within, cancel := context.WithTimeout(ctx, attempt)
		answer, err := request(within)
		cancel()
		retried := unavailable(err) || refused != nil && beginning(err) && time.Since(last) < synced
		if retried && !errors.Is(err, context.DeadlineExceeded) {
			refused = err
			if !beginning(err) {
				last = time.Now()
			}
		}
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil && refused != nil:
			return answer, fmt.Errorf("%w: %w (%w)", ErrUnavailable, refused, ctx.Err())
		case ctx.Err() != nil || !retried:
			return answer, err
		case time.Since(began) > RetryTimeout:
			return answer, fmt.Errorf("%w for %v: %w", ErrUnavailable, RetryTimeout, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// synced is how long after its start an API server may not know its users and their Roles.
const synced = 15 * time.Second

// beginning reports an error of a server that has just begun, or a refusal.
func beginning(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// unavailable reports an error of a server that may answer later.
func unavailable(err error) bool {
	var network *net.OpError
	var sent *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err):
		return true
	case utilnet.IsConnectionRefused(err), utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err), utilnet.IsTimeout(err):
		return true
	}
	return errors.As(err, &sent) && errors.As(err, &network)
}

// Name makes a name of an object from another name, which has no more bytes than longest.
// Names of objects have no upper case and no dash at the end; a sum keeps two apart that
// only differ there.
func Name(from string, longest int) string {
	name := strings.TrimRight(strings.ToLower(from), "-")
	if name == from && len(name) <= longest {
		return name
	}
	sum := Sum(from)
	return name[:min(len(name), longest-len(sum)-1)] + "-" + sum
}

// Sum of a text, short enough for a part of a name.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
