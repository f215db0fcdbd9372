package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/store/audit"
)

func newAudit(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie audit", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		list, err := a.audit(ctx, groupID)
		reply := auditReply{Success: err == nil && violations(list) == nil, Invariants: append([]reverie.Invariant{}, list...)}
		if err != nil {
			reply.Error = reverie.ErrorText(withHint(err))
		}
		if err != nil && !a.JSON {
			return err
		}
		return errors.Join(a.Show(reply, func() error { return a.Page("audit", list) }), err, violations(list))
	})
	groupFlag(cmd, &groupID, "check only this group")
	return cmd
}

// audit checks the database. If the user may not even read the schema's version, the audit reports at once all
// tables without permission.
func (a *app) audit(ctx context.Context, groupID string) ([]reverie.Invariant, error) {
	if err := a.open(ctx); err != nil && (a.App == nil || a.Store == nil || !errors.Is(err, reverie.ErrConfiguration)) {
		return nil, err
	}
	return audit.Run(ctx, a.Store.DB(), groupID)
}

// auditReply is the result of an audit, or why it failed.
type auditReply struct {
	Success    bool                `json:"success"`
	Error      string              `json:"error,omitempty"`
	Invariants []reverie.Invariant `json:"invariants"`
}

// violations returns the number of violations as an error, nil if there are none.
func violations(list []reverie.Invariant) error {
	violations, of := 0, 0
	for _, i := range list {
		if violations += i.Violated; i.Violated > 0 {
			of++
		}
	}
	if violations == 0 {
		return nil
	}
	return fmt.Errorf("%s of %s: stop all writers, dump the database, and look at the places named above; "+
		"`reverie runs show` and `reverie memory why` show what happened", cli.Plural(violations, "violation"),
		cli.Plural(of, "invariant"))
}

func newDoctor(a *app) *cobra.Command {
	var ready string
	var model bool
	cmd := a.command("reverie doctor", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		if ready != "" {
			return application.CheckReady(ctx, ready)
		}
		findings := a.examine(ctx)
		if model && !slices.ContainsFunc(findings, func(f application.Finding) bool { return !f.OK }) {
			findings = append(findings, a.TryModel(ctx, a.tellPlaying))
		}
		var errs []error
		for _, f := range findings {
			if !f.OK {
				errs = append(errs, f.Err)
			}
		}
		reply := map[string]any{"success": len(errs) == 0, "checks": findings}
		return errors.Join(a.Show(reply, func() error { return a.Page("doctor", findings) }), joinFailures(errs))
	})
	cmd.Flags().StringVar(&ready, "ready", "", "only ask this URL, such as /readyz of a running Reverie")
	cmd.Flags().BoolVar(&model, "model", false, "also play three small chats, and say whether the model is fit")
	return cmd
}

// joinFailures joins the failures, with the exit code of the first.
func joinFailures(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return &codeError{ExitCode(errs[0], false), fmt.Errorf("%s failed", cli.Plural(len(errs), "check"))}
}

// examine checks the configuration and everything that a run needs.
func (a *app) examine(ctx context.Context) []application.Finding {
	if err := a.settings(); err != nil {
		return []application.Finding{{Check: "configuration", Detail: err.Error(), Err: err}}
	}
	file := cmp.Or(a.prov.File, "no file; environment and defaults")
	return append([]application.Finding{{Check: "configuration", OK: true, Detail: file}}, a.Examine(ctx)...)
}
