// Command fakevcenter is govmomi's vCenter simulator vcsim with guests, for tests. The
// simulator only records that a VM is on; this program also starts a fake guest with
// the CPUs and the memory of the VM, and reports its address as VMware Tools do. It
// exits at the end of its stdin.
//
//	fakevcenter DIRECTORY
//
// The directory contains the guests' keys, and the password in the file password. The
// program prints the simulator's URL, and writes its certificate to cert.pem.
package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"html"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"tare/internal/testing/sshguest"
)

func main() {
	sshguest.RunIfAsked()
	log.SetOutput(io.Discard) // the simulator logs each request
	runtime.LockOSThread()    // guests are killed when the thread that boots them exits
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(folder string) error {
	model := simulator.VPX()
	model.Autostart, model.Machine, model.Host, model.Cluster = false, 1, 1, 0
	defer model.Remove()
	if err := model.Create(); err != nil {
		return err
	}
	inner := model.Service.NewServer()
	defer inner.Close()
	if err := addTemplate(inner.URL); err != nil {
		return err
	}
	bridged, err := sshguest.NewBridged("vcsim", folder)
	if err != nil {
		return err
	}
	defer bridged.Close()
	guests := &guests{bridged, model.Service.Context}
	password, err := os.ReadFile(filepath.Join(folder, "password"))
	if err != nil {
		return err
	}
	jobs := make(chan func())
	front := httptest.NewTLSServer(&proxy{simulator: model.Service.ServeMux, guests: guests, password: strings.TrimSpace(string(password)), jobs: jobs})
	defer front.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(folder, "cert.pem"), certificate, 0o600); err != nil {
		return err
	}
	fmt.Println(front.URL)
	eof := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(eof)
	}()
	for {
		select {
		case do := <-jobs:
			do()
		case <-eof:
			return nil
		}
	}
}

// addTemplate replaces the simulator's VM by one named template, with a snapshot.
func addTemplate(at *url.URL) error {
	ctx := context.Background()
	c, err := govmomi.NewClient(ctx, at, true)
	if err != nil {
		return err
	}
	defer c.Logout(ctx)
	finder := find.NewFinder(c.Client, false)
	dc, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		return err
	}
	first, err := finder.SetDatacenter(dc).VirtualMachine(ctx, "*")
	if err != nil {
		return err
	}
	folder, err := finder.DefaultFolder(ctx)
	if err != nil {
		return err
	}
	var template *object.VirtualMachine
	for _, step := range []func() (*object.Task, error){
		func() (*object.Task, error) {
			return first.Clone(ctx, folder, "template", types.VirtualMachineCloneSpec{})
		},
		func() (*object.Task, error) { return first.Destroy(ctx) },
		func() (_ *object.Task, err error) {
			if template, err = finder.VirtualMachine(ctx, "template"); err != nil {
				return nil, err
			}
			return template.CreateSnapshot(ctx, "fresh", "", false, false)
		},
	} {
		task, err := step()
		if err == nil {
			err = task.Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// proxy handles each request before and after the simulator: it checks the password
// on login, and updates the guests after power operations.
type proxy struct {
	simulator http.Handler
	guests    *guests
	password  string
	jobs      chan<- func()
	sessions  sync.Mutex // the simulator's list of sessions has no lock of its own
}

var (
	asks = regexp.MustCompile(`<(PowerOnVM_Task|PowerOffVM_Task|Destroy_Task|Login)\b[^>]*>`)
	this = regexp.MustCompile(`<_this type="VirtualMachine">([^<]+)</_this>`)
	task = regexp.MustCompile(`<returnval type="Task">([^<]+)</returnval>`)
	pass = regexp.MustCompile(`<password>([^<]*)</password>`)
)

func (d *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ask := ""
	if match := asks.FindSubmatch(body); match != nil {
		ask = string(match[1])
	}
	if given := pass.FindSubmatch(body); ask == "Login" && (given == nil || html.UnescapeString(string(given[1])) != d.password) {
		body = pass.ReplaceAll(body, []byte("<password></password>")) // the simulator rejects it
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	if bytes.Contains(body, []byte(`type="SessionManager"`)) {
		d.sessions.Lock()
		d.simulator.ServeHTTP(answer, r)
		d.sessions.Unlock()
	} else {
		d.simulator.ServeHTTP(answer, r)
	}
	defer func() { // after the guest has followed
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}()
	target := this.FindSubmatch(body)
	if target == nil || ask == "" {
		return
	}
	// The simulator answers before the task has ended.
	if made := task.FindSubmatch(answer.Body.Bytes()); made != nil {
		d.guests.await(string(made[1]))
	}
	done := make(chan error)
	d.jobs <- func() { done <- d.guests.follow(ask, string(target[1])) }
	if err := <-done; err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
