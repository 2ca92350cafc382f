package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
// lease has expired, any other tare removes the pods. It lasts longer than requests are retried.
const leaseDuration, renewEvery = 3 * time.Minute, 20 * time.Second

// claim is what an owner has in a namespace: a lease there, and in its home a file that
// says where, for the sweep after its death. It lasts from the first instance to the last.
type claim struct {
	cluster *cluster
	owner   string
	file    string
	end     context.CancelFunc
	ended   chan struct{}
}

func leaseName(owner string) string { return "tare-" + owner }

// key of a value that an owner shares among its instances in a namespace.
func (c *cluster) key(of string) string { return of + " " + api.Sum(c.Server+" "+c.Namespace) }

// claim takes part in the owner's claim, or makes it.
func (c *cluster) claim(ctx context.Context, o *cleanup.Owner) (release func(context.Context) error, err error) {
	key := c.key(o.ID())
	_, release, err = cleanup.Share(o, key, func() (*claim, func(context.Context) error, error) {
		k := &claim{cluster: c, owner: o.ID(), ended: make(chan struct{})}
		k.file = filepath.Join(placesOf(o.Home()), o.ID()+"-"+api.Sum(key)+".json")
		return k, k.close, k.open(ctx, o)
	})
	return release, err
}

func (k *claim) open(ctx context.Context, o *cleanup.Owner) error {
	if err := k.note(); err != nil {
		return fmt.Errorf("noting the cluster: %w", err)
	}
	c := k.cluster
	lease := &coordinationv1.Lease{ObjectMeta: c.meta(o, leaseName(o.ID())), Spec: k.spec()}
	_, err := retry(context.WithoutCancel(ctx), "making a lease in "+c.name(), func(ctx context.Context) (*coordinationv1.Lease, error) {
		made, err := c.leases.Create(ctx, lease, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // a request whose answer was lost
			err = nil
		}
		return made, err
	})
	if err != nil {
		return errors.Join(err, os.Remove(k.file))
	}
	renewing, end := context.WithCancel(context.Background())
	k.end = end
	crash.Go(func() { k.renew(renewing) })
	return nil
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

// close ends the claim.
func (k *claim) close(ctx context.Context) error {
	k.end()
	<-k.ended
	if err := k.cluster.removeLease(ctx, k.owner); err != nil {
		return err
	}
	return os.Remove(k.file)
}

func (c *cluster) removeLease(ctx context.Context, owner string) error {
	_, err := retry(ctx, "removing the lease of "+owner, func(ctx context.Context) (struct{}, error) {
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
