package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/semel-dev/semel/internal/waiting"
)

// mostUnknown bounds how often the broker may say that it does not know a topic: one that was just made is not known everywhere at once.
const mostUnknown = 20

// final reports whether the broker refuses the client for its settings or its rights, which trying again does not change.
func final(err error) bool {
	if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
		return true
	}
	for _, refusal := range []error{
		kerr.InvalidSessionTimeout, kerr.InconsistentGroupProtocol, kerr.InvalidGroupID, kerr.UnsupportedAssignor, kerr.FencedInstanceID,
		kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.InvalidTopicException,
		kerr.InvalidRegularExpression, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.SaslAuthenticationFailed, kerr.UnsupportedVersion,
		kerr.OffsetOutOfRange, // only with kgo.NoResetOffset
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// refused says what to do about an error that is final.
func refused(what string, err error) error {
	return fmt.Errorf("kafka: %s: %w (change Source, or the rights of its client; trying again does not help)", what, err)
}

// find waits until the broker knows the topics of the source, or returns why it never will. It returns nil when ctx has ended.
func find(ctx context.Context, client *kgo.Client, source Source, log *slog.Logger) error {
	if client.OptValue(kgo.ConsumeRegex) == any(true) {
		return nil
	}
	ask := kmsg.NewPtrMetadataRequest()
	ask.AllowAutoTopicCreation = client.OptValue(kgo.AllowAutoTopicCreation) == any(true)
	for _, name := range source.Topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = new(name)
		ask.Topics = append(ask.Topics, topic)
	}
	for unknown := 0; ctx.Err() == nil; waiting.Sleep(ctx, errorPause) {
		answer, err := ask.RequestWith(ctx, client)
		for n := 0; err == nil && n < len(answer.Topics); n++ {
			topic := &answer.Topics[n]
			if err = kerr.ErrorForCode(topic.ErrorCode); err != nil && topic.Topic != nil {
				err = fmt.Errorf("topic %s: %w", *topic.Topic, err)
			}
		}
		switch {
		case err == nil || ctx.Err() != nil:
			return nil //nolint:nilerr // the consumer ends with its context.
		case final(err):
			return refused("find the topics", err)
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			if unknown++; unknown > mostUnknown {
				return fmt.Errorf("kafka: %w (make the topic first, or give Source.Client kgo.AllowAutoTopicCreation)", err)
			}
		default:
			log.LogAttrs(ctx, slog.LevelWarn, "kafka: the topics could not be looked up; trying again", slog.Any("error", err))
		}
	}
	return nil
}
