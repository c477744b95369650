package semeltemporal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/semel-dev/semel"
)

// memoKey is the entry of a workflow's memo with the fingerprint of what was asked for.
const memoKey = "semel.fingerprint"

// Starter starts workflows once. It is safe for concurrent use if its fields are not changed.
type Starter struct {
	// Client is that of Temporal. Required.
	Client client.Client
	// DataConverter is that of the client, if it has one of its own.
	DataConverter converter.DataConverter
}

// StartOnce starts a workflow once for the key, and returns its run. A later call with the key, the same workflow and the same arguments returns
// that run, whether it still runs or has ended; with others the error wraps [semel.ErrMismatch]. So does a call for a workflow of that id which
// was not started by StartOnce.
//
// workflow is the registered name or the function. The workflow's id is [WorkflowID]; o.ID and the policies about ids in o must not be set. o is not
// compared. Temporal forgets the id after the retention of its namespace, counted from the end of the workflow: put semel.Do, or a handler of
// semelhttp, around the call to remember the key for longer.
//
// After another error the workflow may run: call again. Nothing has to be settled.
func (s Starter) StartOnce(ctx context.Context, key semel.Key, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	if o.ID != "" || o.WorkflowIDReusePolicy != 0 || o.WorkflowIDConflictPolicy != 0 {
		return nil, errors.New("semeltemporal: leave the workflow's id and the policies about ids empty: the key gives the id")
	}
	if err := key.Validate(); err != nil {
		return nil, fmt.Errorf("semeltemporal: %w", err)
	}
	name, err := nameOfWorkflow(workflow)
	if err != nil {
		return nil, err
	}
	fp, err := fingerprint(converter.GetDefaultDataConverter(), name, args)
	if err != nil {
		return nil, err
	}
	o.ID = WorkflowID(key)
	o.Memo = maps.Clone(o.Memo)
	if o.Memo == nil {
		o.Memo = map[string]any{}
	}
	o.Memo[memoKey] = fp.String()
	o.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	// USE_EXISTING would return a run without saying whether it is this call's.
	o.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	run, err := s.Client.ExecuteWorkflow(ctx, o, workflow, args...)
	if started, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return s.existing(ctx, o.ID, started.RunId, fp)
	}
	if err != nil {
		return nil, fmt.Errorf("semeltemporal: start workflow %s: %w", o.ID, err)
	}
	return run, nil
}

// existing returns a run that was there before, if it is of the same request.
func (s Starter) existing(ctx context.Context, id, run string, want semel.Fingerprint) (client.WorkflowRun, error) {
	d, err := s.Client.DescribeWorkflowExecution(ctx, id, run)
	if err != nil {
		return nil, fmt.Errorf("semeltemporal: look at workflow %s: %w", id, err)
	}
	c := s.DataConverter
	if c == nil {
		c = converter.GetDefaultDataConverter()
	}
	var got string
	if payload := d.GetWorkflowExecutionInfo().GetMemo().GetFields()[memoKey]; payload != nil {
		if err := c.FromPayload(payload, &got); err != nil {
			return nil, fmt.Errorf("semeltemporal: read the memo of workflow %s: %w (Starter.DataConverter has to be that of the client)", id, err)
		}
	}
	if got != want.String() {
		return nil, fmt.Errorf("semeltemporal: workflow %s was started with something else: %w", id, semel.ErrMismatch)
	}
	return s.Client.GetWorkflow(ctx, id, run), nil
}

// WorkflowID returns the id of the workflow that [Starter.StartOnce] starts for a key, for queries and signals: a digest of the key.
func WorkflowID(key semel.Key) string {
	return "semel-" + semel.FingerprintOf([]byte(key.Scope), []byte(key.Name)).String()
}

// nameOfWorkflow names a workflow by its registered name or its function, as the SDK does with a function that was registered without a name.
func nameOfWorkflow(workflow any) (string, error) {
	v := reflect.ValueOf(workflow)
	switch {
	case v.Kind() == reflect.String && v.Len() > 0:
		return v.String(), nil
	case v.Kind() == reflect.Func && !v.IsNil():
		name := runtime.FuncForPC(v.Pointer()).Name()
		return strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "-fm"), nil
	}
	return "", fmt.Errorf("semeltemporal: a workflow is a name or a function, not %T", workflow)
}
