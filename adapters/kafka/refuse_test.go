package kafka_test

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/semel-dev/semel/adapters/kafka"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestRefused: what the broker refuses for the client's settings or rights ends Consume with an error that says what to change, at
// the start and later.
func TestRefused(t *testing.T) {
	t.Parallel()
	read := kfake.ACL{
		Resource: kmsg.ACLResourceTypeTopic, Name: topic, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationRead, Allow: true,
	}
	as := func(user, password string) kgo.Opt {
		return kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism())
	}
	for name, test := range map[string]struct {
		group  string
		topics []string
		as     kgo.Opt // nil for an administrator
		opts   []kgo.Opt
		says   string
	}{
		"missing topic":    {group, []string{topic, "orderz"}, nil, nil, "make the topic first"},
		"impossible topic": {group, []string{"a/b"}, nil, nil, "topic a/b"},
		"session too short": {
			group,
			[]string{topic},
			nil,
			[]kgo.Opt{kgo.SessionTimeout(200 * time.Millisecond), kgo.HeartbeatInterval(50 * time.Millisecond)},
			"INVALID_SESSION_TIMEOUT",
		},
		"wrong password":        {group, []string{topic}, as("admin", "guess"), nil, "SASL_AUTHENTICATION_FAILED"},
		"no right to the topic": {group, []string{topic}, as("nobody", "x"), nil, "TOPIC_AUTHORIZATION_FAILED"},
		"no right to the group": {group, []string{topic}, as("reader", "x"), nil, "GROUP_AUTHORIZATION_FAILED"},
		"only committed":        {group, []string{topic}, nil, []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtCommitted())}, "kgo.ConsumeResetOffset"},
		"other balancers":       {"taken", []string{topic}, nil, []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}, "INCONSISTENT_GROUP_PROTOCOL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := []kfake.Opt{
				kfake.NumBrokers(1), kfake.SeedTopics(1, topic), kfake.EnableSASL(), kfake.EnableACLs(),
				kfake.Superuser("PLAIN", "admin", "admin"), kfake.User("PLAIN", "nobody", "x"), kfake.User("PLAIN", "reader", "x", read),
			}
			cluster, err := kfake.NewCluster(opts...)
			claimtest.NoError(t, err)
			t.Cleanup(cluster.Close)
			cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(request kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				ask := request.(*kmsg.SASLAuthenticateRequest)
				if !strings.HasSuffix(string(ask.SASLAuthBytes), "guess") {
					return nil, nil, false
				}
				answer := ask.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				answer.ErrorCode = kerr.SaslAuthenticationFailed.Code // as Kafka does, where kfake hangs up
				return answer, nil, true
			})
			seeds, admin := kgo.SeedBrokers(cluster.ListenAddrs()...), as("admin", "admin")
			if test.group == "taken" {
				other, err := kgo.NewClient(seeds, admin, kgo.ConsumerGroup("taken"), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RoundRobinBalancer()))
				claimtest.NoError(t, err)
				t.Cleanup(other.Close)
				testserver.Eventually(t, "another consumer has joined", func() bool { _, generation := other.GroupMetadata(); return generation > 0 })
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = kafka.Consume(ctx, kafka.Source{Group: test.group, Topics: test.topics, Client: append(test.opts, seeds, cmp.Or(test.as, admin))},
				func(context.Context, inbox.Message) inbox.Verdict { return inbox.Verdict{Act: inbox.Ack} }, &kafka.ConsumeOptions{Logger: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), test.says) || ctx.Err() != nil {
				t.Errorf("got error %v, want one that says %q", err, test.says)
			}
		})
	}
}
