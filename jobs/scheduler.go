package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/robfig/cron/v3"

	"reverie/internal/reverie"
)

// Spec says when a task starts, in UTC. The zero Spec never starts one.
type Spec struct {
	text     string
	schedule cron.Schedule
}

// Limits of a spec. A task that starts more often than once a minute is a mistake: each start looks at all groups.
const (
	maxSpecLength = 200
	minEvery      = time.Minute
)

// values is how many values each of the five fields can have: the largest step.
var values = [...]uint64{60, 24, 31, 12, 7}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// ParseSpec parses five fields (minute, hour, day of the month, month, day of the week), @hourly, @daily, @weekly,
// @monthly, @yearly, or @every. @every takes a duration of whole seconds, at least a minute. A spec that never fires is
// an error. Errors are [reverie.ErrInvalid] and say what to write.
func ParseSpec(text string) (Spec, error) {
	parts := strings.Fields(text)
	s := Spec{text: strings.Join(parts, " ")}
	var err error
	switch {
	case len(text) > maxSpecLength:
		text = strings.ToValidUTF8(text[:40], "") + "..."
		err = fmt.Errorf("longer than %d bytes", maxSpecLength)
	case len(parts) == 0:
		err = errors.New("empty")
	case strings.Contains(strings.ToUpper(parts[0]), "TZ="):
		err = errors.New("times are in UTC, and a time zone cannot be given")
	case parts[0] == "@every":
		s.schedule, err = parseEvery(parts[1:])
	default:
		s.schedule, err = parseFields(parts)
	}
	if err == nil && s.Next(time.Unix(0, 0)).IsZero() {
		err = errors.New("never happens: no month of it has that day")
	}
	if err != nil {
		return Spec{}, fmt.Errorf("schedule %q: %w: %w: write five fields (minute, hour, day of the month, month, "+
			"day of the week), such as 17 3 * * *, or @hourly, @daily, @weekly, @monthly, @yearly or @every 90m", text, reverie.ErrInvalid, err)
	}
	return s, nil
}

// parseEvery parses the duration of @every. The library would turn a negative or shorter one into a second, and drop
// fractions of a second.
func parseEvery(parts []string) (cron.Schedule, error) {
	d, err := time.ParseDuration(strings.Join(parts, " "))
	if err != nil || d < minEvery || d%time.Second != 0 {
		return nil, errors.New("@every takes one duration of whole seconds, at least a minute")
	}
	return cron.Every(d), nil
}

// parseFields parses fields, or a word. It refuses what the library would parse as something else: an empty item of a
// list as never, and a step beyond the range as the first value.
func parseFields(parts []string) (cron.Schedule, error) {
	schedule, err := parse(strings.Join(parts, " "))
	if err != nil || len(parts) != len(values) {
		return schedule, err
	}
	for i, field := range parts {
		for item := range strings.SplitSeq(field, ",") {
			_, step, _ := strings.Cut(item, "/")
			if n, err := strconv.ParseUint(step, 10, 64); item == "" || err == nil && n >= values[i] {
				return nil, fmt.Errorf("field %q has an empty item, or a step beyond its range", field)
			}
		}
	}
	return schedule, nil
}

// parse calls the library's parser, which panics on some input.
func parse(text string) (s cron.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("cannot be read: %v", p)
		}
	}()
	return parser.Parse(text)
}

// String returns the spec as it was written, "" for the zero Spec.
func (s Spec) String() string { return s.text }

// Next returns the first time after t, in UTC; the zero time only for the zero Spec.
func (s Spec) Next(t time.Time) time.Time {
	if s.schedule == nil {
		return time.Time{}
	}
	t = t.UTC()
	// The library looks five years ahead; a leap day can be eight years away.
	for range 3 {
		if next := s.schedule.Next(t); !next.IsZero() {
			return next
		}
		t = time.Date(t.Year()+5, time.December, 31, 23, 59, 59, 0, time.UTC)
	}
	return time.Time{}
}

// Fires returns the next n times after from, in UTC; none for the zero Spec.
func (s Spec) Fires(from time.Time, n int) []time.Time {
	var list []time.Time
	for next := s.Next(from); len(list) < n && !next.IsZero(); next = s.Next(next) {
		list = append(list, next)
	}
	return list
}

// Task is work that the scheduler starts again and again.
type Task struct {
	Name string
	Spec Spec // with the zero Spec the task never starts
	// Run does what is due. When stop is closed, it begins nothing new. When ctx ends, it returns as soon as it can.
	Run func(ctx context.Context, stop <-chan struct{}) error
}

// Scheduler starts tasks at the times of their specs. A task that fails or panics is started again at its next time.
type Scheduler struct {
	Tasks []Task
	Clock clockwork.Clock // nil: the real one
	Grace time.Duration   // how long tasks may continue after the first signal
	Log   *slog.Logger    // nil: slog.Default
	// Done is called at the end of each run of a task. Calls for several tasks may overlap. It may be nil.
	Done func(task string, took time.Duration, err error)
}

// triggerTimeout bounds how long the trigger may take to stop. It only starts goroutines, so there is nothing to wait
// for.
const triggerTimeout = 5 * time.Second

// Run starts each task at once, to make up for missed times, and then at the times of its spec. It skips a time while
// the task still runs. When ctx ends, no task is started, and running tasks are asked to stop. After Grace, or when
// hurry is closed, their contexts are cancelled. Run returns when all tasks have ended. It fails only if the scheduler
// cannot be set up.
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
	if err := trigger.Shutdown(); err != nil { // despite the error, it starts nothing any more
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

// cutError is the cause of cancelled work. It matches [context.Canceled], so that the cancelled runs do not count as
// failed.
type cutError string

func (e cutError) Error() string        { return string(e) }
func (e cutError) Is(target error) bool { return target == context.Canceled }

// daemon is one call of Scheduler.Run.
type daemon struct {
	*Scheduler
	ctx   context.Context // of the tasks
	clock clockwork.Clock
	log   *slog.Logger
	tasks []*task

	running sync.WaitGroup
	mu      sync.Mutex // guards the fields below, and adding to running
	ended   bool
	stop    chan struct{} // of the tasks
}

type task struct {
	Task
	busy atomic.Bool
}

// trigger makes the gocron scheduler that starts the tasks. The daemon itself tracks which tasks run. The singleton
// mode of gocron 2.21 is not used: it sometimes fires twice for one time.
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

// times gives the trigger the times of our Spec.
type times struct{ spec Spec }

func (times) IsValid(string, *time.Location, time.Time) error { return nil }
func (c times) Next(last time.Time) time.Time                 { return c.spec.Next(last) }

// start runs a task in its own goroutine, unless the task is still running.
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

// end asks the tasks to stop and prevents further starts.
func (d *daemon) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	close(d.stop)
}
