// Package crash turns a panic, which nobody foresaw, into one sentence for the user and
// a file with the trace.
//
// It must not know what the program does.
package crash

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"tare/internal/base/visible"
)

// Version of the program, for the file.
var Version = "development"

// Mask hides what must not be in the sentence or the file.
var Mask = func(text string) string { return text }

// Sentence is what the user is told about a panic. The trace is written to a file that
// only the user can read; the command line is not in it, since it may hold secrets.
func Sentence(panicked any) string {
	what := Mask(fmt.Sprint(panicked))
	trace := fmt.Sprintf("tare %s, %s, %s/%s\n\npanic: %v\n\n%s", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, what, debug.Stack())
	where := "the trace that follows:\n" + trace
	if file, err := os.CreateTemp("", "tare-crash-*.txt"); err == nil {
		_, err = file.WriteString(trace)
		if file.Close() == nil && err == nil {
			where = "the file " + file.Name() + ", which has the trace"
		}
	}
	what, _, _ = strings.Cut(what, "\n")
	return fmt.Sprintf("this is an error in tare itself: %s; please report it as an issue of the repository that this tare comes from, with %s", what, where)
}

// Go starts a goroutine that ends the program with the sentence if it panics.
func Go(f func()) {
	go func() {
		defer Exit()
		f()
	}()
}

// Each does something with each of the numbers below n, at most so many at the same time
// and in their order, and returns when all is done.
func Each(n, most int, do func(i int)) {
	slots := make(chan struct{}, max(1, most))
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer Exit()
			do(i)
			<-slots
		})
	}
	all.Wait()
}

// Exit is deferred by goroutines that Go does not start: a panic there
// ends the program with the sentence, and what was started is removed at the next start.
func Exit() {
	if panicked := recover(); panicked != nil {
		fmt.Fprintln(os.Stderr, visible.Text("tare: "+Sentence(panicked)))
		os.Exit(1)
	}
}
