package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tare/internal/base/crash"
	"tare/internal/environment"
	"tare/internal/usage"
)

// channel is an agent's stream, whose errors name a lost link.
type channel struct {
	io.ReadWriteCloser
	session *Session
}

func (c *channel) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if err != nil {
		if lost := c.session.Err(); lost != nil {
			err = lost
		}
	}
	return n, err
}

// Instance is one that runs there.
type Instance struct {
	environment.Started
	session *Session
	started started
	console *conversation

	stop sync.Once
	end  error
}

func (i *Instance) listen(to io.Writer) {
	for {
		var e event
		if err := i.console.receive(&e); err != nil {
			return
		}
		_, _ = to.Write(e.Console)
	}
}

// learn takes what the other host says of the instance.
func (i *Instance) learn() {
	s := &i.started
	i.IP, i.Timeline, i.Route, i.Findings = s.Address, s.Phases, s.Paths, s.Notes
	i.More = environment.Details{Listen: s.Listen, Facts: s.Facts, Unknown: s.Unknown, Unlimited: s.Unlimited}
}

// Footprint is empty: nothing of it can be read on this machine. See Meter.
func (i *Instance) Footprint() usage.Footprint { return usage.Footprint{} }

// call is a request about this instance.
func (i *Instance) call(ctx context.Context, r request, result any) error {
	r.Instance = i.started.Instance
	return i.session.simple(ctx, r, result)
}

// Freeze freezes the instance there.
func (i *Instance) Freeze(ctx context.Context) error {
	var result frozen
	err := i.call(ctx, request{Call: callFreeze}, &result)
	if err == nil && result.Unsupported != "" {
		err = &unsupportedError{fmt.Sprintf("on %s: %s", i.session.host.Name(), result.Unsupported)}
	}
	return err
}

// unsupportedError is errors.ErrUnsupported of the other side, whose text has its words.
type unsupportedError struct{ text string }

func (e *unsupportedError) Error() string        { return e.text }
func (e *unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// Thaw thaws it.
func (i *Instance) Thaw(ctx context.Context) error {
	return i.call(ctx, request{Call: callThaw}, nil)
}

// Stop ends the instance and removes everything that its start made.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop.Do(func() {
		if i.session.Err() == nil {
			began := time.Now()
			var s stopped
			i.end = i.call(ctx, request{Call: callStop}, &s)
			if s.Exit > 0 {
				i.NoteExit(began.Add(s.Exit))
			}
		}
		if i.session.Err() != nil {
			i.end = nil // the other side ends the instance, also if the link was lost meanwhile
		}
		if i.Client != nil {
			i.Client.Close()
		}
		i.console.stream.Close()
	})
	return i.end
}

// Meter watches the instance there.
func (i *Instance) Meter(o usage.Options) usage.Meter {
	m := &meter{instance: i, ended: make(chan struct{})}
	c, err := i.session.ask(request{Call: callMeter, Instance: i.started.Instance, Every: o.Every, Live: o.Each != nil})
	if err == nil {
		var e event
		if err = c.receive(&e); err == nil && !e.Begun {
			err = fmt.Errorf("on %s: %s", i.session.host.Name(), e.Error)
		}
	}
	if m.conversation, m.err = c, err; err != nil {
		close(m.ended)
		return m
	}
	crash.Go(func() { m.listen(o.Each) })
	return m
}

type meter struct {
	instance     *Instance
	conversation *conversation
	once         sync.Once
	ended        chan struct{} // closed by listen
	err          error
	watched      watched
}

// listen receives readings, if requested, and the result.
func (m *meter) listen(each func(usage.Reading)) {
	defer close(m.ended)
	var e event
	for m.err == nil && e.Result == nil {
		e = event{}
		if m.err = m.conversation.receive(&e); m.err == nil && e.Error != "" {
			m.err = fmt.Errorf("on %s: %s", m.instance.session.host.Name(), e.Error)
		}
		if e.Reading != nil && each != nil {
			each(*e.Reading)
		}
	}
	if m.err == nil {
		m.err = json.Unmarshal(e.Result, &m.watched)
	}
}

// Stop ends the measurement and returns the usage.
func (m *meter) Stop() usage.Usage {
	m.once.Do(func() {
		if m.conversation != nil {
			// If it fails the link is lost, which listen reports.
			_, _ = m.conversation.stream.Write([]byte("\n"))
		}
		<-m.ended
		if m.conversation != nil {
			m.conversation.stream.Close()
		}
		if m.err != nil {
			m.watched = watched{usage.Unknown("%v", m.instance.session.explain(context.Background(), m.err)), &usage.Series{}}
		}
	})
	return m.watched.Usage
}

// Series returns the readings.
func (m *meter) Series() *usage.Series { return m.watched.Series }

// EffectiveLimits are those of the limits there: from inside, and from outside of the
// instance.
func (i *Instance) EffectiveLimits(ctx context.Context, l environment.Limits) (limits []environment.EffectiveLimit, err error) {
	err = i.call(ctx, request{Call: callLimits, Limits: l}, &limits)
	return limits, err
}

// UsageOfStart returns the usage since the instance was made.
func (i *Instance) UsageOfStart() usage.Usage {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var used usage.Usage
	if err := i.call(ctx, request{Call: callUsed}, &used); err != nil {
		return usage.Unknown("%v", err)
	}
	return used
}
