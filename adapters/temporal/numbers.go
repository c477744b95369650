package semeltemporal

import (
	"context"
	"strconv"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// numberHeader carries the number of a local activity to its attempts. The SDK gives an attempt that follows a timer an id of its own, which
// would be a key of its own.
const numberHeader = "semel-local-activity"

// InterceptWorkflow implements interceptor.WorkerInterceptor. It numbers the local activities of a run, in the order in which the workflow's
// code asks for them, which is the same in every replay. Nothing of it is in the history.
func (*Activities) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &numbering{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type numbering struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (n *numbering) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	return n.Next.Init(&numbers{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: outbound}})
}

// numbers is the interceptor of one run, whose coroutines take turns.
type numbers struct {
	interceptor.WorkflowOutboundInterceptorBase

	last int
}

// ExecuteLocalActivity implements interceptor.WorkflowOutboundInterceptor.
func (n *numbers) ExecuteLocalActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	n.last++
	number, err := converter.GetDefaultDataConverter().ToPayload(strconv.Itoa(n.last))
	if err == nil { // text always has a form
		interceptor.WorkflowHeader(ctx)[numberHeader] = number
	}
	return n.Next.ExecuteLocalActivity(ctx, activityType, args...)
}

// numberFrom returns the number of a local activity; empty for one that no workflow asked for.
func numberFrom(ctx context.Context) (number string) {
	payload := interceptor.Header(ctx)[numberHeader]
	if payload == nil || converter.GetDefaultDataConverter().FromPayload(payload, &number) != nil {
		return ""
	}
	return number
}
