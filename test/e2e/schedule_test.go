package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"reverie/internal/cli"
)

// scheduled asks for the schedule at five past eight in the evening, UTC.
func scheduled(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	s := &stage{t: t, env: append([]string{"HOME=" + t.TempDir()}, env...)} // and without a database
	return s.runAt(time.Date(2026, 1, 15, 20, 5, 0, 0, time.UTC), append([]string{"schedule"}, args...)...)
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	o := scheduled(t, nil, "--count", "3").want(t, 0).silent(t)
	if want := `JOB       SPEC            UTC                   IN
evolve    17 * * * *      Thu 2026-01-15 20:17  12m
                          Thu 2026-01-15 21:17  1h12m
                          Thu 2026-01-15 22:17  2h12m
extract   2-59/5 * * * *  Thu 2026-01-15 20:07  2m
                          Thu 2026-01-15 20:12  7m
                          Thu 2026-01-15 20:17  12m
dream     29 * * * *      Thu 2026-01-15 20:29  24m
                          Thu 2026-01-15 21:29  1h24m
                          Thu 2026-01-15 22:29  2h24m
maintain  41 3 * * *      Fri 2026-01-16 03:41  7h36m
                          Sat 2026-01-17 03:41  1d07h
                          Sun 2026-01-18 03:41  2d07h
`; o.stdout != want {
		t.Errorf("the schedule is\n%s, want\n%s", o.stdout, want)
	}
	o = scheduled(t, []string{"REVERIE_SCHEDULE_EVOLVE=30 2 * * 1-5", "REVERIE_SCHEDULE_EXTRACT=*/5 * * * *", "REVERIE_SCHEDULE_DREAM=never",
		"REVERIE_SCHEDULE_MAINTAIN=never"},
		"--zone", "Asia/Kathmandu", "--count", "2").want(t, 0).silent(t)
	if want := `JOB       SPEC          UTC                   IN     Asia/Kathmandu
evolve    30 2 * * 1-5  Fri 2026-01-16 02:30  6h25m  Fri 2026-01-16 08:15
                        Mon 2026-01-19 02:30  3d06h  Mon 2026-01-19 08:15
extract   */5 * * * *   Thu 2026-01-15 20:10  5m     Fri 2026-01-16 01:55
                        Thu 2026-01-15 20:15  10m    Fri 2026-01-16 02:00
dream     never
maintain  never
`; o.stdout != want {
		t.Errorf("the schedule is\n%s, want\n%s", o.stdout, want)
	}
	scheduled(t, []string{"REVERIE_GROUP_TIME_ZONE=Asia/Shanghai"}, "--count", "1").want(t, 0).shows(t, "Asia/Shanghai", "Fri 2026-01-16 04:17")
}

func TestScheduleJSON(t *testing.T) {
	t.Parallel()
	doc := scheduled(t, nil, "--zone", "America/New_York", "--count", "2", "--json").want(t, 0).silent(t).document(t)
	job := doc["jobs"].(list)[0].(object)
	next, local := job["next"].(list), job["local"].(list)
	if doc["success"] != true || doc["now"] != "2026-01-15T20:05:00Z" || doc["zone"] != "America/New_York" || job["job"] != "evolve" || job["spec"] != "17 * * * *" ||
		len(next) != 2 || next[1] != "2026-01-15T21:17:00Z" || len(local) != 2 || local[1] != "2026-01-15T16:17:00-05:00" {
		t.Errorf("the schedule is %v", doc)
	}
}

// TestScheduleNever: a file can leave a job out, a variable says never, since an
// empty one counts as unset.
func TestScheduleNever(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "reverie.toml")
	if err := os.WriteFile(file, []byte("[schedule]\nevolve = \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	off := []string{"REVERIE_SCHEDULE_EXTRACT=never", "REVERIE_SCHEDULE_DREAM=never", "REVERIE_SCHEDULE_MAINTAIN=never"}
	o := scheduled(t, off, "--config", file).want(t, 0)
	if want := "JOB       SPEC   UTC  IN\nevolve    never\nextract   never\ndream     never\nmaintain  never\n"; o.stdout != want {
		t.Errorf("the schedule is %q, want %q", o.stdout, want)
	}
	job := scheduled(t, nil, "--config", file, "--json").want(t, 0).document(t)["jobs"].(list)[0].(object)
	if job["spec"] != "" || len(job["next"].(list)) != 0 {
		t.Errorf("the job is %v", job)
	}
}

func TestScheduleUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   string
		args  []string
		words []string
	}{
		{"A=b", []string{"--zone", "Mars/Olympus"}, []string{"--zone", "Mars/Olympus"}},
		{"A=b", []string{"--zone", "Local"}, []string{"--zone", "Local"}},
		{"A=b", []string{"--count", "0"}, []string{"--count"}},
		{"A=b", []string{"--count", "1000000"}, []string{"--count"}},
		{"A=b", []string{"extra"}, []string{"1 argument given"}},
		{"REVERIE_SCHEDULE_EXTRACT=Never", nil, []string{"schedule.extract", "five fields"}},
		{"REVERIE_SCHEDULE_EVOLVE=61 * * * *", nil, []string{"schedule.evolve", "61", "REVERIE_SCHEDULE_EVOLVE"}},
		{"REVERIE_SCHEDULE_EVOLVE=0 0 31 2 *", nil, []string{"schedule.evolve"}},
		{"REVERIE_SCHEDULE_EVOLVE=@every -1h", nil, []string{"schedule.evolve"}},
		{"REVERIE_SCHEDULE_EVOLVE=TZ=0 17 * * * *", nil, []string{"schedule.evolve"}},
		{"REVERIE_GROUP_DAY_BOUNDARY=4", nil, []string{"group.day_boundary", "04:00"}},
		{"REVERIE_GROUP_DAY_BOUNDARY=24:00", nil, []string{"group.day_boundary", "23:59"}},
	} {
		if o := scheduled(t, []string{c.env}, c.args...).want(t, 2, c.words...); o.stdout != "" {
			t.Errorf("%s %v: stdout is %q", c.env, c.args, o.stdout)
		}
	}
}

func TestAhead(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{29 * time.Second: "0m", 9 * time.Minute: "9m", 59*time.Minute + 40*time.Second: "1h00m",
		69 * time.Minute: "1h09m", 76 * time.Hour: "3d04h"} {
		if got := cli.Ahead(d); got != want {
			t.Errorf("ahead(%s) = %q, want %q", d, got, want)
		}
	}
}
