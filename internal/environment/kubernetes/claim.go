package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/base/crash"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/host/cleanup"
	"tare/internal/linux/private"
)

// A coordinator renews its lease in each namespace while it has pods there. When the
// lease has expired, any other tare removes the pods. It lasts longer than the patience.
const leaseDuration, renewEvery = 3 * time.Minute, 20 * time.Second

// claim is what an owner has in a namespace: a lease there, and in its home a file that
// says where, for the sweep after its death. It lasts from the first instance to the last.
type claim struct {
	cluster *cluster
	owner   string
	file    string
	users   int
	end     context.CancelFunc
	ended   chan struct{}
}

var claims = struct {
	sync.Mutex
	of map[string]*claim
}{of: map[string]*claim{}}

func leaseName(owner string) string { return "tare-" + owner }

func (c *cluster) key(owner string) string {
	return owner + " " + api.Sum(c.Server+" "+c.Namespace)
}

// claim takes part in the owner's claim, or makes it.
func (c *cluster) claim(ctx context.Context, o *cleanup.Owner) (*claim, error) {
	claims.Lock()
	defer claims.Unlock()
	key := c.key(o.ID())
	if k := claims.of[key]; k != nil {
		k.users++
		return k, nil
	}
	k := &claim{cluster: c, owner: o.ID(), users: 1, ended: make(chan struct{})}
	k.file = filepath.Join(placesOf(o.Home()), o.ID()+"-"+api.Sum(key)+".json")
	if err := k.note(); err != nil {
		return nil, fmt.Errorf("noting the cluster: %w", err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: c.meta(o, leaseName(o.ID())), Spec: k.spec()}
	_, err := persist(context.WithoutCancel(ctx), "making a lease in "+c.name(), func(ctx context.Context) (*coordinationv1.Lease, error) {
		made, err := c.leases.Create(ctx, lease, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // a request whose answer was lost
			err = nil
		}
		return made, err
	})
	if err != nil {
		return nil, errors.Join(err, os.Remove(k.file))
	}
	renewing, end := context.WithCancel(context.Background())
	k.end = end
	crash.Go(func() { k.renew(renewing) })
	claims.of[key] = k
	return k, nil
}

func placesOf(home string) string { return filepath.Join(home, kind) }

func (k *claim) note() error {
	if err := private.Directory(filepath.Dir(k.file)); err != nil {
		return err
	}
	text, err := json.Marshal(place{k.owner, k.cluster.address})
	if err != nil {
		return err
	}
	return os.WriteFile(k.file, text, 0o600)
}

func (k *claim) spec() coordinationv1.LeaseSpec {
	host, _ := os.Hostname()
	holder, seconds, now := fmt.Sprintf("tare on %s, process %d", host, os.Getpid()), int32(leaseDuration.Seconds()), metav1.NowMicro()
	return coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}
}

// renew renews the lease until the claim ends. An error is tried again at the next turn.
func (k *claim) renew(ctx context.Context) {
	defer close(k.ended)
	turn := time.NewTicker(renewEvery)
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
		within, cancel := context.WithTimeout(ctx, renewEvery)
		if lease, err := k.cluster.leases.Get(within, leaseName(k.owner), metav1.GetOptions{}); err == nil {
			lease.Spec = k.spec()
			_, _ = k.cluster.leases.Update(within, lease, metav1.UpdateOptions{})
		}
		cancel()
	}
}

// release ends the claim with its last user.
func (k *claim) release(ctx context.Context) error {
	claims.Lock()
	defer claims.Unlock()
	if k.users--; k.users > 0 {
		return nil
	}
	delete(claims.of, k.cluster.key(k.owner))
	k.end()
	<-k.ended
	if err := k.cluster.removeLease(ctx, k.owner); err != nil {
		return err
	}
	return os.Remove(k.file)
}

func (c *cluster) removeLease(ctx context.Context, owner string) error {
	_, err := persist(ctx, "removing the lease of "+owner, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, unlessGone(c.leases.Delete(ctx, leaseName(owner), metav1.DeleteOptions{}))
	})
	return err
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
