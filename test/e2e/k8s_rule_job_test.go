package e2e

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

var jobRules = []rule{
	{name: "never starts a container again in the same pod", of: isJob,
		keeps:  func(w workload) bool { return w.pod.RestartPolicy == corev1.RestartPolicyNever },
		breaks: []func(workload){func(w workload) { w.pod.RestartPolicy = corev1.RestartPolicyOnFailure }}},
	{name: "ends within an hour to three days", of: isJob,
		keeps: func(w workload) bool {
			return within(w.job.ActiveDeadlineSeconds, 3600, 3*86400) && w.pod.ActiveDeadlineSeconds == nil
		},
		breaks: []func(workload){func(w workload) { w.job.ActiveDeadlineSeconds = to[int64](60) }}},
	{name: "stays a day to two weeks to be read, and then goes", of: isJob,
		keeps:  func(w workload) bool { return within(w.job.TTLSecondsAfterFinished, 86400, 14*86400) },
		breaks: []func(workload){func(w workload) { w.job.TTLSecondsAfterFinished = to[int32](0) }}},
	{name: "has no two pods for the same work", of: isJob,
		keeps:  func(w workload) bool { return is(w.job.PodReplacementPolicy, batchv1.Failed) },
		breaks: []func(workload){func(w workload) { w.job.PodReplacementPolicy = to(batchv1.TerminatingOrFailed) }}},
	{name: "is tried again some times", of: isSingle,
		keeps:  func(w workload) bool { return within(w.job.BackoffLimit, 1, 6) && w.job.BackoffLimitPerIndex == nil },
		breaks: []func(workload){func(w workload) { w.job.BackoffLimit = to[int32](0) }}},
	{name: "tries each shard by itself, and lets none stop another", of: isIndexed,
		keeps: func(w workload) bool {
			j := w.job
			return *j.CompletionMode == batchv1.IndexedCompletion && within(j.BackoffLimitPerIndex, 1, 6) && j.BackoffLimit == nil &&
				within(j.Completions, 2, 1000) && within(j.Parallelism, 1, *j.Completions) && is(j.MaxFailedIndexes, *j.Completions)
		},
		breaks: []func(workload){
			func(w workload) { w.job.MaxFailedIndexes = to[int32](0) },
			func(w workload) { w.job.BackoffLimit = to[int32](6) },
			func(w workload) { w.job.Completions = to(*w.job.Completions + 1) }, // no longer that of the flag
		}},
	{name: "treats each exit code as it should", of: isJob,
		keeps: func(w workload) bool { return policyProblem(w) == "" },
		breaks: []func(workload){
			func(w workload) { slices.Reverse(w.job.PodFailurePolicy.Rules) },
			func(w workload) { w.job.PodFailurePolicy.Rules[1].OnExitCodes.Values[0] = 5 },
			func(w workload) { w.job.PodFailurePolicy.Rules[1].OnExitCodes.ContainerName = to("sidecar") },
			func(w workload) { w.job.PodFailurePolicy.Rules[1].Action = batchv1.PodFailurePolicyActionCount },
			func(w workload) { w.job.PodFailurePolicy.Rules[0].OnPodConditions[0].Status = corev1.ConditionFalse },
		}},
	{name: "starts nothing by itself", of: isTemplate,
		keeps:  func(w workload) bool { return w.cron != nil && is(w.cron.Suspend, true) && w.job.Suspend == nil },
		breaks: []func(workload){func(w workload) { w.cron.Suspend = to(false) }}},
	{name: "is suspended where the daemon does its work, and only there, unless it is off by default", of: isScheduled,
		keeps: func(w workload) bool {
			return is(w.cron.Suspend, true) == (w.overlay == "daemon") || w.overlay != "daemon" && w.schedule() == ""
		},
		breaks: []func(workload){func(w workload) { w.cron.Suspend = to(w.overlay != "daemon") }}},
	{name: "starts at an odd minute, in UTC, when the daemon would", of: isScheduled,
		keeps: func(w workload) bool {
			at, err := cron.ParseStandard(w.cron.Schedule)
			return err == nil && !strings.Contains(w.cron.Schedule, "TZ=") && is(w.cron.TimeZone, "Etc/UTC") &&
				at.Next(time.Unix(0, 0)).Minute()%5 != 0 && (w.schedule() == "" || w.cron.Schedule == w.schedule())
		},
		breaks: []func(workload){
			func(w workload) { w.cron.Schedule = "0 * * * *" },
			func(w workload) { w.cron.Schedule = "CRON_TZ=UTC 17 * * * *" },
			func(w workload) { w.cron.TimeZone = to("Europe/Berlin") },
		}},
	{name: "has a date that never comes, in UTC", of: isTemplate,
		keeps: func(w workload) bool {
			at, err := cron.ParseStandard(w.cron.Schedule)
			return err == nil && at.Next(time.Unix(0, 0)).IsZero() && is(w.cron.TimeZone, "Etc/UTC")
		},
		breaks: []func(workload){func(w workload) { w.cron.Schedule = "0 0 28 2 *" }}},
	{name: "does not overlap, and makes a late start up for hours", of: isCron,
		keeps: func(w workload) bool {
			return w.cron.ConcurrencyPolicy == batchv1.ForbidConcurrent && within(w.cron.StartingDeadlineSeconds, 3600, 86400) &&
				within(w.cron.SuccessfulJobsHistoryLimit, 1, 24) && within(w.cron.FailedJobsHistoryLimit, 1, 24)
		},
		breaks: []func(workload){
			func(w workload) { w.cron.ConcurrencyPolicy = batchv1.AllowConcurrent },
			func(w workload) { w.cron.StartingDeadlineSeconds = to[int64](60) },
		}},
}
