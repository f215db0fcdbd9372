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
	return "[schedule] dream is set, and extract is never: unless reverie extract is started otherwise, dreams rest on what evolve leaves alone; " +
		"set [schedule] extract, to */5 * * * * for instance"
}

// jobSchedule is when one job of [schedule] starts; the zero spec is never.
type jobSchedule struct {
	Job  reverie.Job
	Spec jobs.Spec
}

// Schedules reads [schedule], in its order. The error is a reverie.ErrConfiguration.
func (c *Config) Schedules() ([]jobSchedule, error) {
	var list []jobSchedule
	for _, set := range scheduleSettings() {
		spec, err := specOf(set.field(c).String())
		if err != nil {
			return nil, fmt.Errorf("[schedule] %s: %w: %w", set.key, reverie.ErrConfiguration, err)
		}
		list = append(list, jobSchedule{reverie.Job(set.key), spec})
	}
	return list, nil
}

// scheduleSettings are those of [schedule]: each is named after its job.
func scheduleSettings() []*setting {
	var list []*setting
	for _, s := range configSchema().settings {
		if s.section == "schedule" {
			list = append(list, s)
		}
	}
	return list
}
