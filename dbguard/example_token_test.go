package dbguard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/dbguard"
)

func ExampleTokens_Consume() {
	ctx := context.Background()
	db, end := openLocks(ctx, "consume")
	defer end()
	tokens := dbguard.Tokens{}
	const scope = "user-4711 redeem"
	token, err := tokens.Mint(ctx, db, scope, time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	redeem := func(scope string) error {
		return db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			if err := tokens.Consume(ctx, tx, scope, token); err != nil {
				return err
			}
			return nil // what the token permits, in the same transaction
		})
	}
	fmt.Println(redeem("user-4712 redeem"))
	fmt.Println(redeem(scope))
	fmt.Println(redeem(scope))
	// Output:
	// dbguard: token was not issued for this scope
	// <nil>
	// dbguard: the token was consumed before
}

func ExampleConsumeDo() {
	ctx := context.Background()
	db, end := openLocks(ctx, "consumedo")
	defer end()
	tokens := dbguard.Tokens{}
	const scope = "user-4711 order"
	token, err := tokens.Mint(ctx, db, scope, time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	orders := 0
	for range 3 { // one request and two repetitions
		err := db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error {
			order, first, err := dbguard.ConsumeDo(ctx, tokens, tx, scope, token, func(context.Context) (int, error) {
				orders++ // insert it with tx
				return 1000 + orders, nil
			})
			fmt.Println(order, first)
			return err
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 1001 true
	// 1001 false
	// 1001 false
}

func ExampleTokens_Mint() {
	ctx := context.Background()
	db, end := openLocks(ctx, "mint")
	defer end()
	token, err := dbguard.Tokens{}.Mint(ctx, db, "user-4711 redeem", time.Hour)
	fmt.Println(len(token), token[:5], err)
	// Output: 37 sot1. <nil>
}

func ExampleTokens_Sweep() {
	ctx := context.Background()
	db, end := openLocks(ctx, "sweeptokens")
	defer end()
	fmt.Println(dbguard.Tokens{}.Sweep(ctx, db, 24*time.Hour, 1000))
	// Output: 0 <nil>
}

// A signed token costs nothing to mint, and one row when it is consumed.
func ExampleTokenSigner() {
	ctx := context.Background()
	db, end := openLocks(ctx, "signed")
	defer end()
	signer, err := dbguard.NewTokenSigner("unsubscribe", dbguard.SigningKey{ID: 1, Secret: bytes.Repeat([]byte("k"), 32)})
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := signer.Mint("user-4711", 24*time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = signer.Parse("user-4712", token)
	fmt.Println(errors.Is(err, dbguard.ErrTokenUnknown))
	tokens := dbguard.Tokens{Signer: signer}
	fmt.Println(tokens.Consume(ctx, db, "user-4711", token))
	fmt.Println(tokens.Consume(ctx, db, "user-4711", token))
	// Output:
	// true
	// <nil>
	// dbguard: the token was consumed before
}

func ExampleTokens_Schema() {
	text, err := dbguard.Tokens{}.Schema(dbguard.MySQL)
	fmt.Println(text, err)
	// Output:
	// -- One row for each token that was minted here or consumed here, by digest: a
	// -- copy of the table opens nothing.
	// CREATE TABLE IF NOT EXISTS `semel_token` (
	//   digest BINARY(32) NOT NULL PRIMARY KEY,
	//   expires_us BIGINT NOT NULL,
	//   consumed_us BIGINT NOT NULL,
	//   result MEDIUMBLOB,
	//   KEY `semel_token_sweep` (expires_us)
	// ) ENGINE = InnoDB;
	//  <nil>
}
