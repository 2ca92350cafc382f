package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/sample"
)

// channel is an agent's, through the session: where the link is lost it says so.
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
	session *Session
	started started
	console *conversation
	client  *agent.Client

	stop sync.Once
	end  error
}

func (i *Instance) listen(to io.Writer) {
	for {
		var e event
		if err := i.console.hear(&e); err != nil {
			return
		}
		to.Write(e.Console)
	}
}

func (i *Instance) Agent() *agent.Client        { return i.client }
func (i *Instance) Address() string             { return i.started.Address }
func (i *Instance) Listen() string              { return i.started.Listen }
func (i *Instance) Phases() []environment.Phase { return i.started.Phases }
func (i *Instance) Paths() environment.Paths    { return i.started.Paths }
func (i *Instance) Notes() []string             { return i.started.Notes }
func (i *Instance) Facts() map[string]string    { return i.started.Facts }

// Footprint is empty: nothing of it can be read from here. See Meter.
func (i *Instance) Footprint() sample.Footprint { return sample.Footprint{} }

// Stop ends the instance there and removes all that its start made.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop.Do(func() {
		if i.session.Err() == nil {
			i.end = i.session.simple(ctx, request{Call: callStop, Instance: i.started.Instance}, nil)
		}
		// Where the link is lost the other side ends the instance by itself.
		if i.client != nil {
			i.client.Close()
		}
		i.console.stream.Close()
	})
	return i.end
}

// Meter watches the instance there.
func (i *Instance) Meter(o sample.Options) sample.Meter {
	m := &meter{instance: i, ended: make(chan struct{})}
	c, err := i.session.ask(request{Call: callMeter, Instance: i.started.Instance, Every: o.Every, Live: o.Each != nil})
	if err == nil {
		var e event
		if err = c.hear(&e); err == nil && !e.Begun {
			err = fmt.Errorf("on %s: %s", i.session.host.Name(), e.Error)
		}
	}
	if m.conversation, m.err = c, err; err != nil {
		close(m.ended)
		return m
	}
	go m.listen(o.Each)
	return m
}

type meter struct {
	instance     *Instance
	conversation *conversation
	once         sync.Once
	ended        chan struct{} // closed when nothing more is heard
	err          error
	watched      watched
}

// listen hears the readings, where they were asked for, and the end.
func (m *meter) listen(each func(sample.Reading)) {
	defer close(m.ended)
	var e event
	for m.err == nil && e.Result == nil {
		e = event{}
		if m.err = m.conversation.hear(&e); m.err == nil && e.Error != "" {
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

// Stop has the counting ended there and returns the usage.
func (m *meter) Stop() sample.Usage {
	m.once.Do(func() {
		if m.conversation != nil {
			// Where it cannot be said the link is lost, and that is heard.
			_, _ = m.conversation.stream.Write([]byte("\n"))
		}
		<-m.ended
		if m.conversation != nil {
			m.conversation.stream.Close()
		}
		if m.err != nil {
			m.watched = watched{unknown(m.instance.session.explain(context.Background(), m.err)), &sample.Series{}}
		}
	})
	return m.watched.Usage
}

// Series are the readings, as they were made there.
func (m *meter) Series() *sample.Series { return m.watched.Series }

// Sights are those of the limits there: from inside, and from outside of the
// instance.
func (i *Instance) Sights(ctx context.Context, l environment.Limits) (sights []environment.Sight, err error) {
	err = i.session.simple(ctx, request{Call: callLimits, Instance: i.started.Instance, Limits: l}, &sights)
	return sights, err
}

// Unlimited says what the instance there says.
func (i *Instance) Unlimited() bool { return i.started.Unlimited }

// UsageOfStart is what the instance has used since it was made.
func (i *Instance) UsageOfStart() sample.Usage {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var usage sample.Usage
	if err := i.session.simple(ctx, request{Call: callUsed, Instance: i.started.Instance}, &usage); err != nil {
		return unknown(err)
	}
	return usage
}

// unknown is a usage that nobody could tell.
func unknown(why error) sample.Usage {
	return sample.Unknown("%v", why)
}
