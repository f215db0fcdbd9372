package jobs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
)

// Task is something that is started again and again.
type Task struct {
	Name string
	Spec Spec // the zero one is never: the task is not started at all
	// Run does what is due. When stop is closed it begins nothing new; when ctx
	// ends it returns as soon as it can.
	Run func(ctx context.Context, stop <-chan struct{}) error
}

// Scheduler starts tasks when their time has come. A task that fails, or panics,
// is started again the next time.
type Scheduler struct {
	Tasks []Task
	Clock clockwork.Clock // nil: the real one
	Grace time.Duration   // how long tasks may go on after the first signal
	Log   *slog.Logger    // nil: slog.Default
	// Done hears how each run of a task ended; runs of several tasks may end at
	// once. nil is nobody.
	Done func(task string, took time.Duration, err error)
}

// triggerTimeout bounds how long the trigger may take to stop. It only ever starts
// goroutines, so there is nothing to wait for.
const triggerTimeout = 5 * time.Second

// Run starts each task at once, to make up for what was missed, and then at the
// times of its spec; a time at which the task still runs is skipped. When ctx ends
// no task is started any more, and those that run are asked to stop; after Grace,
// or when hurry is closed, they are cut. Run returns when all of them have ended.
// Its error is nil but for a scheduler that cannot be set up.
func (s *Scheduler) Run(ctx context.Context, hurry <-chan struct{}) error {
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	d := &daemon{Scheduler: s, ctx: work, stop: make(chan struct{}), clock: s.Clock, log: cmp.Or(s.Log, slog.Default())}
	if d.clock == nil {
		d.clock = clockwork.NewRealClock()
	}
	trigger, err := d.trigger()
	if err != nil {
		return err
	}
	trigger.Start()
	for _, t := range d.tasks {
		d.start(t)
	}

	select {
	case <-ctx.Done():
	case <-hurry:
	}
	d.end()
	d.log.Info("told to stop; what is under way may finish", "grace", s.Grace)
	if err := trigger.Shutdown(); err != nil { // whatever it says, it starts nothing any more
		d.log.Warn("the schedule's trigger did not stop cleanly", "error", err)
	}
	gone := make(chan struct{})
	go func() {
		d.running.Wait()
		close(gone)
	}()
	grace := d.clock.NewTimer(s.Grace)
	defer grace.Stop()
	var why error
	select {
	case <-gone:
		return nil
	case <-grace.Chan():
		why = cutError(fmt.Sprintf("work under way had not ended %s after the signal", s.Grace))
	case <-hurry:
		why = cutError("a second signal")
	}
	d.log.Warn("work under way is cut; what it has not committed stays pending", "reason", why)
	cut(why)
	<-gone
	return nil
}

// cutError is why work was cut. It is a [context.Canceled] to whoever asks, or the
// cut runs would count as failed.
type cutError string

func (e cutError) Error() string        { return string(e) }
func (e cutError) Is(target error) bool { return target == context.Canceled }

// daemon is one run of a scheduler.
type daemon struct {
	*Scheduler
	ctx   context.Context // of the tasks
	clock clockwork.Clock
	log   *slog.Logger
	tasks []*task

	running sync.WaitGroup
	mu      sync.Mutex // guards what follows, and adding to running
	ended   bool
	stop    chan struct{} // of the tasks
}

type task struct {
	Task
	busy atomic.Bool
}

// trigger makes the clockwork that starts the tasks. It is that and no more:
// whether a task runs, and its end, are ours to know. Its singleton mode is not
// used: with it, gocron 2.21 now and then fires twice for one time.
func (d *daemon) trigger() (gocron.Scheduler, error) {
	trigger, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), gocron.WithClock(d.clock), gocron.WithStopTimeout(triggerTimeout))
	if err != nil {
		return nil, fmt.Errorf("set up the schedule: %w", err)
	}
	for _, t := range d.Tasks {
		if t.Spec.schedule == nil {
			continue
		}
		t := &task{Task: t}
		d.tasks = append(d.tasks, t)
		_, err := trigger.NewJob(gocron.CronJob(t.Spec.String(), false), gocron.NewTask(func() { d.start(t) }),
			gocron.WithName(t.Name), gocron.WithCronImplementation(times{t.Spec}))
		if err != nil {
			_ = trigger.Shutdown()
			return nil, fmt.Errorf("schedule %s: %w", t.Name, err)
		}
	}
	return trigger, nil
}

// times makes our reading of a spec the trigger's.
type times struct{ spec Spec }

func (times) IsValid(string, *time.Location, time.Time) error { return nil }
func (c times) Next(last time.Time) time.Time                 { return c.spec.Next(last) }

// start lets a task run in a goroutine of its own, unless it does already.
func (d *daemon) start(t *task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	if !t.busy.CompareAndSwap(false, true) {
		d.log.Warn("still running; this start is skipped", "task", t.Name, "next", t.Spec.Next(d.clock.Now()))
		return
	}
	d.running.Go(func() {
		defer t.busy.Store(false)
		d.run(t)
	})
}

// run is one run of a task.
func (d *daemon) run(t *task) {
	begun := d.clock.Now()
	d.log.Info("task started", "task", t.Name)
	err := Recovered(d.log, func() error { return t.Run(d.ctx, d.stop) }, "task", t.Name)
	took := d.clock.Since(begun)
	if err != nil {
		d.log.Warn("task ended with an error; it is started again at its next time", "task", t.Name, "took", took, "error", err)
	} else {
		d.log.Info("task done", "task", t.Name, "took", took)
	}
	if d.Done != nil {
		d.Done(t.Name, took, err)
	}
}

// end asks the tasks to stop and lets none start any more.
func (d *daemon) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	close(d.stop)
}
