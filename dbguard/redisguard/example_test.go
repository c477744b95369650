package redisguard_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/redisguard"
)

func ExampleNewLocks() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis.internal:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	locker := dbguard.NewLocker(redisguard.NewLocks(client, ""))
	defer locker.Close()

	var rows dbguard.Database // PostgreSQL, say, with dbguard.FenceTable
	err = locker.Do(ctx, "stock", nil, func(ctx context.Context, fence semel.Fence) error {
		return (dbguard.FenceTable{}).Fenced(ctx, rows, "stock", fence, func(ctx context.Context, tx dbguard.Session) error {
			_, err := tx.Exec(ctx, "UPDATE stock SET level = level - 1 WHERE sku = 'bolt'")
			return err
		})
	})
	fmt.Println(err)
}

func ExampleTokens_Consume() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	var client rueidis.Client // as above
	tokens, err := redisguard.NewTokens(client, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := tokens.Mint(ctx, "user-4711 redeem", time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tokens.Consume(ctx, "user-4711 redeem", token)) // <nil>
	fmt.Println(tokens.Consume(ctx, "user-4711 redeem", token)) // dbguard: the token was consumed before
}

func ExampleConsumeDo() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	var tokens *redisguard.Tokens // as above
	id, first, err := redisguard.ConsumeDo(ctx, tokens, "user-4711 order", "sot1.…", func(context.Context) (string, error) {
		return "order-1", nil
	})
	fmt.Println(id, first, err)
}
