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
	"tare/internal/environment"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/environment/kubernetes/vmi"
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
		made, err := c.leases.create(ctx, lease, metav1.CreateOptions{})
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
		if lease, err := k.cluster.leases.get(within, leaseName(k.owner)); err == nil {
			lease.Spec = k.spec()
			_, _ = k.cluster.leases.update(within, lease)
		}
		cancel()
	}
}

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
		return struct{}{}, unlessGone(c.leases.delete(ctx, leaseName(owner), metav1.DeleteOptions{}))
	})
	return err
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// place is a file of a claim.
type place struct {
	Owner string  `json:"owner"`
	At    address `json:"at"`
}

// sweepTimeout bounds the sweep of one cluster.
const sweepTimeout = time.Minute

// sweep removes the pods, services and leases of dead owners from the clusters that
// they noted down.
func sweep(ctx context.Context, home string, dead func(string) bool) ([]string, error) {
	files, err := os.ReadDir(placesOf(home))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var removed []string
	var problems []error
	for _, entry := range files {
		file := filepath.Join(placesOf(home), entry.Name())
		text, err := os.ReadFile(file)
		var noted place
		if err != nil || json.Unmarshal(text, &noted) != nil || !dead(noted.Owner) {
			continue
		}
		lines, err := sweepPlace(ctx, noted)
		removed = append(removed, lines...)
		if err != nil {
			problems = append(problems, fmt.Errorf("%w; if the cluster no longer exists, remove %s", err, file))
			continue
		}
		problems = append(problems, os.Remove(file))
	}
	return removed, errors.Join(problems...)
}

func sweepPlace(ctx context.Context, noted place) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	c, err := open(noted.At)
	if err != nil {
		return nil, err
	}
	if _, err := c.version(ctx); err != nil {
		return nil, err
	}
	return c.removeAll(ctx, noted.Owner)
}

// clear removes what is left of expired leases, and says what it was.
func (c *cluster) clear(ctx context.Context, progress func(string)) error {
	removed, err := c.sweepExpired(ctx)
	for _, line := range removed {
		progress("removed " + line)
	}
	return err
}

// sweepExpired removes what coordinators of other homes left whose leases have expired.
func (c *cluster) sweepExpired(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	leases, err := c.leases.list(ctx, metav1.ListOptions{LabelSelector: cleanup.Label})
	if err != nil {
		return nil, fmt.Errorf("listing the leases in %s: %w", c.name(), err)
	}
	var removed []string
	var problems []error
	if len(leases) == 0 {
		return nil, nil
	}
	now, err := c.serverTime(ctx)
	if err != nil {
		return nil, err
	}
	for _, lease := range leases {
		owner, spec := lease.Labels[cleanup.Label], lease.Spec
		if spec.LeaseDurationSeconds == nil || now.Sub(written(lease.ObjectMeta)) <= time.Duration(*spec.LeaseDurationSeconds)*time.Second {
			continue
		}
		lines, err := c.removeAll(ctx, owner)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	return removed, errors.Join(problems...)
}

// serverTime is what the clock of the API server shows: the creation time of an object that
// it only pretends to make. Clocks of coordinators may differ by more than a lease lasts.
func (c *cluster) serverTime(ctx context.Context) (time.Time, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "tare-time-"}}
	made, err := c.leases.create(ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return time.Time{}, fmt.Errorf("asking the cluster at %s for its time: %w", c.Server, err)
	}
	return made.CreationTimestamp.Time, nil
}

// written is when an object was changed last, by the clock of the API server.
func written(o metav1.ObjectMeta) time.Time {
	last := o.CreationTimestamp.Time
	for _, f := range o.ManagedFields {
		if f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

func (c *cluster) removeAll(ctx context.Context, owner string) (removed []string, err error) {
	ours := metav1.ListOptions{LabelSelector: cleanup.Label + "=" + owner}
	pods, err := c.pods.list(ctx, ours)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s in %s: %w", owner, c.name(), err)
	}
	var problems []error
	for _, pod := range pods {
		problems = append(problems, thaw(pod.UID), c.removePod(ctx, pod.Name))
		removed = append(removed, fmt.Sprintf("pod %s in %s", pod.Name, c.name()))
	}
	machines, err := vmi.Remove(ctx, c.access(), owner)
	removed, problems = append(removed, machines...), append(problems, err)
	services, err := c.services.list(ctx, ours)
	if err == nil {
		for _, s := range services {
			problems = append(problems, c.removeService(ctx, s.Name))
			removed = append(removed, fmt.Sprintf("service %s in %s", s.Name, c.name()))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return removed, err
	}
	return removed, c.removeLease(ctx, owner)
}

// removePod returns when a pod and its processes are gone. Where its node does not
// answer, the API server forgets the pod, and the node ends it when it is back.
func (c *cluster) removePod(ctx context.Context, name string) error {
	remove := func(grace int64) error {
		_, err := retry(ctx, "removing pod "+name, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, unlessGone(c.pods.delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
		})
		return err
	}
	if err := remove(aSecond); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, environment.ContainerStop.Kill)
	err := c.gone(within, name)
	cancel()
	if err == nil || ctx.Err() != nil {
		return err
	}
	return remove(0)
}

func (c *cluster) removeService(ctx context.Context, name string) error {
	_, err := retry(ctx, "removing service "+name, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, unlessGone(c.services.delete(ctx, name, metav1.DeleteOptions{}))
	})
	return err
}
