package config

import (
	"fmt"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// Never is how a variable, which counts as unset when it is empty, says that a job
// is not started.
const Never = "never"

// specOf reads when a job is started; the zero spec is never.
func specOf(text string) (jobs.Spec, error) {
	if text == "" || text == Never {
		return jobs.Spec{}, nil
	}
	return jobs.ParseSpec(text)
}

// ScheduleWarning says what is odd about [schedule], "" where nothing is. Specs that
// cannot be read have been refused before.
func (c *Config) ScheduleWarning() string {
	starts := func(text string) bool { return text != "" && text != Never }
	if !starts(c.Schedule.Dream) || starts(c.Schedule.Extract) {
		return ""
	}
	return "[schedule] dream is set, and extract is never: unless reverie extract is started otherwise, " +
		"dreams rest on what evolve leaves alone; " +
		"set [schedule] extract, to */5 * * * * for instance"
}

// JobSchedule is when one job of [schedule] starts; the zero spec is never.
type JobSchedule struct {
	Job  reverie.Job
	Spec jobs.Spec
}

// Schedules reads [schedule], in its order. The error is a reverie.ErrConfiguration.
func (c *Config) Schedules() ([]JobSchedule, error) {
	var list []JobSchedule
	for _, j := range []struct{ job, text string }{
		{"evolve", c.Schedule.Evolve}, {"extract", c.Schedule.Extract},
		{"dream", c.Schedule.Dream}, {"maintain", c.Schedule.Maintain},
	} {
		spec, err := specOf(j.text)
		if err != nil {
			return nil, fmt.Errorf("[schedule] %s: %w: %w", j.job, reverie.ErrConfiguration, err)
		}
		list = append(list, JobSchedule{reverie.Job(j.job), spec})
	}
	return list, nil
}
